# SPDX-License-Identifier: GPL-2.0-only
"""guest/drivers/workingset.c: what is in use while another program runs beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.guest import channel
from mglru.guest.places import guest_path
from support.guests import memcg, program_step, run_plan

pytestmark = pytest.mark.guest
FILE_MB = 2
FILE = ("--file", "/dev/zero", "--file-mb", "2", "--file-threads", "1")
ANON = ("--anon-mb", "4", "--anon-threads", "2")


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "file"
    path.write_bytes(bytes(FILE_MB << 20))
    return guest_path(path)


def workingset(tmp_path: Path, limit: str, *arguments: str) -> channel.GuestReport:
    """Run it in a guest."""
    return run_plan(tmp_path, *memcg(limit), program_step("workingset", *arguments))


def test_it_uses_all_of_it_while_the_program_runs(tmp_path: Path, file: str) -> None:
    options = ["--file", file, "--file-mb", str(FILE_MB), "--file-threads", "3", *ANON]
    options += ["--think-us", "1000", "--warmup-ms", "50", "--after-ms", "500"]
    report = workingset(tmp_path, "64M", *options, "--", "/bin/sleep", "1")
    assert report.problems == ()
    metrics = channel.metrics_of(report)
    assert 1 <= metrics["beside_seconds"] <= 1.01
    assert 1.5 <= metrics["elapsed_seconds"] <= 1.51
    # A page of a thread every ms, and a little more than that for what takes no time.
    assert 3 * 1480 <= metrics["reads"] <= 3 * 1510
    assert 2 * 1480 <= metrics["touches"] <= 2 * 1510
    assert metrics["read_max_us"] <= 10
    assert metrics["anon"] >= 4 << 20
    assert metrics["file"] >= FILE_MB << 20


@pytest.mark.parametrize("advice", ["normal", "random"])
def test_a_mapped_file_is_read_through_page_tables(tmp_path: Path, file: str, advice: str) -> None:
    options = ["--file", file, "--file-mb", str(FILE_MB), "--file-threads", "3"]
    options += ["--file-map", advice, "--think-us", "1000", "--warmup-ms", "1000"]
    report = workingset(tmp_path, "64M", *options, "--", "/bin/sleep", "1")
    assert report.problems == ()
    metrics = channel.metrics_of(report)
    assert 3 * 980 <= metrics["reads"] <= 3 * 1010
    assert metrics["file_mapped"] > FILE_MB << 19


def test_it_outlives_a_program_that_is_out_of_memory(tmp_path: Path) -> None:
    dd = ["/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=64M", "count=1"]
    # It goes on afterwards: the program itself may be killed before anybody's next use.
    report = workingset(tmp_path, "16M", *ANON, "--after-ms", "100", "--", *dd)
    metrics = channel.metrics_of(report)
    assert metrics["oom_kill"] >= 1
    assert "beside_seconds" not in metrics
    assert metrics["touches"] > 0
    assert report.steps[0].signal == 9
    assert report.errors == ()


def test_its_status_is_the_programs(tmp_path: Path) -> None:
    report = workingset(tmp_path, "64M", *ANON, "--", "/bin/sh", "-c", "exit 7")
    assert report.steps[0].status == 7


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--", "/bin/true"], "nothing to use"),
        (["--file-mb", "2", "--file-threads", "1", "--", "/bin/true"], "go together"),
        ([*ANON, "--file-map", "normal", "--", "/bin/true"], "--file-map needs --file"),
        ([*FILE, "--file-map", "fast", "--", "/bin/true"], "normal or random, not fast"),
        (["--anon-mb", "2", "--", "/bin/true"], "--anon-mb and --anon-threads go together"),
        ([*ANON, "--think-us", "0", "--", "/bin/true"], "--think-us must not be 0"),
        (["--anon-mb", "-1", "--", "/bin/true"], "'-1' is not a number"),
        (["--anon-mb", "2x", "--", "/bin/true"], "'2x' is not a number"),
        (["--anon-mb", "--", "/bin/true"], "no value for --anon-mb"),
        (["--nonsense", "1", "--", "/bin/true"], "unknown option --nonsense"),
        ([*ANON, "--"], "no program"),
        ([*ANON], "no program"),
        ([*ANON, "--", "/no/such/program"], "cannot start /no/such/program"),
    ],
)
def test_what_it_cannot_do_it_says(tmp_path: Path, arguments: list[str], message: str) -> None:
    report = workingset(tmp_path, "64M", *arguments)
    assert any(message in error for error in report.errors)
    assert report.steps[0].status != 0


def test_a_file_that_is_too_small_is_refused(tmp_path: Path, file: str) -> None:
    options = ["--file", file, "--file-mb", str(FILE_MB + 1), "--file-threads", "1"]
    report = workingset(tmp_path, "64M", *options, "--", "/bin/true")
    assert any(f"has less than {FILE_MB + 1} MB" in error for error in report.errors)
