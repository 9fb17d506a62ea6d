# SPDX-License-Identifier: GPL-2.0-only
from __future__ import annotations

import os
import signal
import subprocess
import sys
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
    assert not alive(int((tmp_path / "pid").read_text()))


# Starts a program that writes the number of its group, and of its child, which lives on.
STARTS = """
import subprocess, sys, time
from mglru.core import process

class Slow(subprocess.Popen):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        time.sleep(float(sys.argv[2]))

subprocess.Popen = Slow
script = "sleep 1000 & echo $$ $! >$0/new; mv $0/new $0/pids; wait"
process.run(["sh", "-c", script, sys.argv[1]], purpose="wait")
"""


@pytest.mark.parametrize("seconds", ["0", "1"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_no_process(
    tmp_path: Path, number: signal.Signals, seconds: str
) -> None:
    """Nor does one that comes while the program starts, which takes `seconds`."""
    program = "import signal\nsignal.signal(signal.SIGTERM, signal.default_int_handler)\n" + STARTS
    environment = {**os.environ, "PYTHONPATH": str(REPO / "src")}
    # What a shell starts in the background ignores SIGINT, and so would this, started from it.
    command = ["env", "--default-signal=INT", sys.executable, "-c", program]
    lab = subprocess.Popen([*command, tmp_path, seconds], env=environment, stderr=subprocess.PIPE)
    while not (tmp_path / "pids").exists():
        assert lab.poll() is None
        time.sleep(0.05)
    pids = [int(word) for word in (tmp_path / "pids").read_text().split()]
    assert all(alive(pid) for pid in pids)
    lab.send_signal(number)
    _out, err = lab.communicate(timeout=30)
    assert not any(alive(pid) for pid in pids)
    assert b"KeyboardInterrupt" in err


def test_a_program_that_does_not_exist_keeps_no_interrupt() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(LabError):
        process.run(["/no/such/program"], purpose="start it")
    assert signal.getsignal(signal.SIGINT) is before


def test_the_end_of_a_log_can_be_read(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("first\n" + "x" * 5000 + "\nlast\n")
    assert process.tail(log, 2) == ["x" * 400 + " ...", "last"]
    assert process.tail(tmp_path / "none") == []
