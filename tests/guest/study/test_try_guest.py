# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru try` with real programs of this machine, in real guests."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from mglru import cli
from mglru.core.errors import ExitCode
from mglru.core.sizes import MB
from mglru.core.ui import Ui
from mglru.disk import user_files
from mglru.disk.images import dataset_image
from mglru.experiment.dataset import DirectoryDataset
from mglru.guest.places import guest_path
from mglru.guest.programs import guest_program
from mglru.results.model import BootRecord
from mglru.results.result_file import load
from mglru.run.boots import output_file, run_jobs
from mglru.run.jobs import make_jobs
from mglru.source.kernel_id import KernelId
from mglru.study.try_ import ending as verdict
from mglru.study.try_ import experiment as trial
from mglru.study.try_.command import resolve
from mglru.study.try_.experiment import TryOptions, make_experiment
from mglru.study.try_.guest_files import Places, visible
from support.guests import memcg, program_step, run_plan
from support.runs import builds

pytestmark = pytest.mark.guest

PYTHON = sys.executable
OPTIONS = TryOptions(limit=64 * MB, disk_size=80 * MB)

DATABASE = """
import sqlite3
base = sqlite3.connect("app.db")
base.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, v BLOB)")
base.executemany("INSERT INTO t VALUES(?, zeroblob(900))", ((i,) for i in range(24000)))
base.commit()
for _ in range(3):
    print(base.execute("SELECT sum(length(v)) FROM t").fetchone()[0])
"""

SERVER = """
import threading, urllib.request
from http.server import HTTPServer, SimpleHTTPRequestHandler

server = HTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
for _ in range(3):
    print(urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/page").read())
server.shutdown()
"""

# Waits for the other thread by giving way again and again.
SPINNER = """
import os, threading, time
done = []
threading.Thread(target=lambda: (time.sleep(0.01), done.append(1))).start()
while not done:
    os.sched_yield()
print("seen")
"""


@dataclass(frozen=True)
class Outcome:
    """One boot of a command."""

    record: BootRecord
    output: bytes
    options: TryOptions

    @property
    def metrics(self) -> dict[str, float]:
        return self.record.metrics

    def verdict(self) -> str:
        found = verdict.judge(self.record, self.output, self.options)
        return "; ".join(str(one) for one in found)


def attempt(
    tmp_path: Path,
    words: Sequence[str],
    options: TryOptions = OPTIONS,
    *,
    data: Path | None = None,
    boots: int = 1,
) -> list[Outcome]:
    """Run a command on stock 6.12."""
    places = Places(tmp_path, data, os.environ["PATH"])
    content = user_files.read(data, 1 << 30) if data else user_files.EMPTY
    experiment = make_experiment(resolve(words, places), options, data, content)
    assert isinstance(experiment.dataset, DirectoryDataset)
    kernel = KernelId.parse("6.12")
    jobs = make_jobs(
        *(experiment, {kernel: builds()[kernel]}, dataset_image(experiment.dataset)),
        boots=boots,
        seed=1,
        vary_seed=False,
    )
    records: list[BootRecord] = []
    run_jobs(
        [replace(job, outputs=tmp_path) for job in jobs], Ui(quiet=True), records.append, boots
    )
    return [
        Outcome(record, output_file(tmp_path, "6.12", record.boot).read_bytes(), options)
        for record in records
    ]


def test_a_database_under_a_limit_reads_again_what_does_not_fit(tmp_path: Path) -> None:
    script = tmp_path / "database.py"
    script.write_text(DATABASE)
    options = replace(OPTIONS, limit=16 * MB)
    one, other = attempt(tmp_path, [PYTHON, "database.py"], options, boots=2)
    assert one.output == b"21600000\n" * 3
    assert one.metrics == other.metrics, "one seed gives one result"
    assert one.record.problems == []
    assert one.verdict() == ""
    # Three passes over 22 MB, of which less than 16 stay.
    assert one.metrics["workingset_refault_file"] > 2 * (22 - 16) * 256
    assert one.metrics["pgpgin"] > 2 * 22_000
    assert one.metrics["pgpgout"] > 22_000
    assert one.metrics["memory_peak_mb"] == pytest.approx(16 * MB / 1e6, rel=0.02)
    assert one.metrics["elapsed_seconds"] > 0.01


def test_a_server_and_its_client_talk_over_loopback(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "page").write_text("the page")
    (data / "serve.py").write_text(SERVER)
    (outcome,) = attempt(tmp_path, [PYTHON, "serve.py"], data=data)
    assert outcome.output.count(b"b'the page'") == 3
    assert outcome.metrics["exit_status"] == 0


PLACE = """
echo "$A $HOME $MGLRU_CGROUP $MGLRU_CHANNEL"; pwd; id -u
cat; cat <(echo substituted)
cat words/*; echo kept >/tmp/file; df --output=target /tmp . | tail -2
wc -l </sys/fs/cgroup/work/cgroup.procs; test -t 1 || echo "no terminal"; echo error >&2
"""


def test_where_a_command_finds_itself(tmp_path: Path) -> None:
    data, text = tmp_path / "data", tmp_path / "input"
    (data / "words").mkdir(parents=True)
    (data / "words" / "two words").write_text("copied\n")
    text.write_text("from standard input\n")
    options = replace(OPTIONS, environment={"A": "given"}, stdin=guest_path(text))
    (outcome,) = attempt(tmp_path, ["bash", "-c", PLACE], options, data=data)
    lines = outcome.output.decode().splitlines()
    assert lines[:3] == ["given /tmp  ", "/mnt/data/work", "0"]
    assert lines[3:6] == ["from standard input", "substituted", "copied"]
    assert lines[6:8] == ["/tmp", "/mnt/data"]
    assert int(lines[8]) >= 2
    assert lines[9:] == ["no terminal", "error"]


def test_output_arrives_byte_for_byte_up_to_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 1000)"
    (outcome,) = attempt(tmp_path, [PYTHON, "-c", script])
    assert outcome.output == bytes(range(256)) * 1000
    monkeypatch.setattr(trial, "OUTPUT_LIMIT", 100_000)
    (outcome,) = attempt(tmp_path, [PYTHON, "-c", script])
    assert outcome.output == (bytes(range(256)) * 1000)[:100_000]
    assert outcome.metrics["output_bytes"] == 256_000


@pytest.mark.parametrize(
    ("line", "options", "said"),
    [
        (
            f"{visible(PYTHON)} -c 'x = bytearray(99 << 20)'; exit $?",
            {"limit": 24 * MB},
            "want of memory",
        ),
        (
            f"exec {visible(PYTHON)} -c 'x = bytearray(99 << 20)'",
            {"limit": 24 * MB},
            "was killed for want",
        ),
        ("dd if=/dev/zero of=big bs=1M", {}, "disk was full"),
        ("kill -SEGV $$", {}, "killed by SIGSEGV"),
        ("exit 3", {}, "returned 3"),
        ("true | no-such-program-either", {}, "returned 127"),
        ("sleep 1000 & sleep 0.1", {}, "left 1 process running"),
        ("sleep 1000 & wait", {"timeout": 60.0}, "240 s of virtual time"),
        ("sleep 1000", {"timeout": 2.0, "time": "real"}, "had not ended after 2 s"),
    ],
)
def test_how_a_command_ended_is_said(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    options: dict[str, object],
    said: str,
) -> None:
    # A long wait makes many samples, which take real time.
    monkeypatch.setattr(trial, "SAMPLE_MS", {"virtual": 1000, "real": 1000})
    changed = TryOptions(**{**vars(OPTIONS), **options})
    (outcome,) = attempt(tmp_path, [line], changed)
    assert said in outcome.verdict()
    assert outcome.record.problems == []


def test_a_program_that_spins_gets_on_with_no_spin(tmp_path: Path) -> None:
    script = tmp_path / "spin.py"
    script.write_text(SPINNER)
    (hung,) = attempt(tmp_path, [PYTHON, str(script)], replace(OPTIONS, timeout=6))
    assert "--no-spin" in hung.verdict()
    preload = guest_program("no_spin")
    (outcome,) = attempt(tmp_path, [PYTHON, str(script)], replace(OPTIONS, preload=preload))
    assert outcome.output == b"seen\n"
    assert outcome.metrics["elapsed_seconds"] >= 0.01


def test_the_whole_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "numbers").write_bytes(b"1234567\n" * (3 << 20))
    line = "cat numbers numbers numbers | wc -c; uname -r"
    arguments = ["--limit", "8M", "--data", "data", "--json", "out.json", "--output", "printed"]
    with pytest.raises(SystemExit) as caught:
        cli.main(["try", *arguments, "--", line])
    shown = capsys.readouterr()
    assert caught.value.code == ExitCode.OK
    assert shown.out.count("75497472\n6.12") == 2
    assert "refaults of file pages" in shown.out
    assert "one line for a shell" in shown.err
    (result,) = load("out.json")
    assert result.kernels == ["6.12", "6.12+next"]
    assert result.provenance.experiment.parameters["command"] == line
    assert all(record.metrics["pgpgin"] >= 3 * 24 * 1024 for record in result.raw)
    kept = (tmp_path / "printed" / "6.12+next-0.txt").read_text()
    assert kept.startswith("75497472\n6.12")

    with pytest.raises(SystemExit) as caught:
        cli.main(
            ["try", "--limit", "8M", "--kernels", "6.12", "--json", "-", "--", "echo x; false"]
        )
    shown = capsys.readouterr()
    assert caught.value.code == ExitCode.EXPECTATION_FAILED
    assert json.loads(shown.out)["experiment"] == "try"
    assert "--- printed on 6.12:\nx\n" in shown.err
    assert "the command returned 1" in shown.err


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (None, "needs the name of a file"),
        ([], "lacks a program"),
        (["nonsense", "1"], "unknown key 'nonsense'"),
        (["program"], "'program' has no value"),
        (["limit_ms", "soon"], "'soon' is not a number"),
        (
            ["program", "/bin/true", "argument", "true", "directory", "/", "output", "/dev/none"],
            "cannot open /dev/none",
        ),
    ],
)
def test_a_file_that_is_no_command_is_refused(
    tmp_path: Path, fields: list[str] | None, message: str
) -> None:
    file = tmp_path / "command"
    file.write_text("".join(f"{field}\0" for field in fields or []))
    arguments = [] if fields is None else [guest_path(file)]
    report = run_plan(tmp_path, *memcg("64M"), program_step("command", *arguments))
    assert any(message in error for error in report.errors)
    assert report.steps[0].status != 0


def test_a_program_that_cannot_be_executed_says_why(tmp_path: Path) -> None:
    file = tmp_path / "command"
    fields = [
        "program",
        "/no/such/program",
        "argument",
        "x",
        "directory",
        "/",
        "output",
        "/dev/ttyS2",
    ]
    file.write_text("".join(f"{field}\0" for field in fields))
    report = run_plan(tmp_path, *memcg("64M"), program_step("command", guest_path(file)))
    assert report.metrics["exec_errno"] == 2
    assert report.metrics["exit_status"] == 127
