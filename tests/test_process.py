# SPDX-License-Identifier: GPL-2.0-only
from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from mglru.core import process
from mglru.core.errors import ExitCode, LabError
from mglru.core.paths import REPO


def alive(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def ends(pid: int) -> bool:
    """Whether the process ends soon: a busy machine takes its time after SIGKILL."""
    for _ in range(500):
        if not alive(pid):
            return True
        time.sleep(0.02)
    return False


def test_output_is_returned_and_kept() -> None:
    assert process.run(["sh", "-c", "echo out; echo err >&2"], purpose="try") == "out\nerr\n"


def test_programs_of_the_administrator_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    path = process.run(["sh", "-c", "echo $PATH"], purpose="see the PATH").strip()
    assert "/usr/sbin" in path.split(":")


def test_a_failure_shows_the_command_and_the_end_of_its_log() -> None:
    with pytest.raises(LabError) as caught:
        process.run(["sh", "-c", "seq 100; exit 3"], purpose="count", next_step="count less")
    message = caught.value.render()
    assert caught.value.exit_code == ExitCode.INFRASTRUCTURE
    assert "cannot count: exit status 3" in message
    assert "sh -c 'seq 100; exit 3'" in message
    assert "| 100" in message
    assert "| 1\n" not in message
    assert "next: count less" in message


def test_a_missing_program_says_so() -> None:
    with pytest.raises(LabError, match="No such file") as caught:
        process.run(["/no/such/program"], purpose="start it")
    assert "install" in caught.value.next_step


def test_a_program_over_its_limit_is_killed_with_its_children(tmp_path: Path) -> None:
    script = f"sleep 1000 & echo $! > {tmp_path}/pid; wait"
    with pytest.raises(LabError, match=r"over 0\.5 s"):
        process.run(["sh", "-c", script], purpose="wait", limit_seconds=0.5)
    assert ends(int((tmp_path / "pid").read_text()))


def test_an_interrupt_leaves_no_process(tmp_path: Path) -> None:
    program = textwrap.dedent(f"""
        from mglru import process
        process.run(["sh", "-c", "echo $$ > {tmp_path}/pid; sleep 1000"], purpose="wait")
    """)
    environment = {**os.environ, "PYTHONPATH": str(REPO / "src")}
    # What a shell starts in the background ignores SIGINT, and so would this, started from it.
    command = ["env", "--default-signal=INT", sys.executable, "-c", program]
    lab = subprocess.Popen(command, env=environment)
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
        time.sleep(0.05)
    child = int((tmp_path / "pid").read_text())
    assert alive(child)
    lab.send_signal(signal.SIGINT)
    lab.wait(timeout=30)
    assert ends(child)


def test_the_end_of_a_log_can_be_read(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("first\n" + "x" * 5000 + "\nlast\n")
    assert process.tail(log, 2) == ["x" * 400 + " ...", "last"]
    assert process.tail(tmp_path / "none") == []
