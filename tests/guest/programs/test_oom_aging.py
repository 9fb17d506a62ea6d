# SPDX-License-Identifier: GPL-2.0-only
"""guest/drivers/oom_aging.c: page cache in use beside anonymous memory that comes and goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.guest import channel
from mglru.guest.places import guest_path
from support.guests import CGROUP, memcg, program_step, run_plan

pytestmark = pytest.mark.guest
SMALL = ("--readers", "2", "--allocators", "2", "--rounds", "5", "--pause-us", "500")


def make_file(tmp_path: Path, size: int) -> str:
    path = tmp_path / "file"
    path.write_bytes(bytes(size))
    return guest_path(path)


def oom_aging(tmp_path: Path, limit: str, *arguments: str) -> channel.GuestReport:
    line = program_step("oom_aging", *arguments, cgroup=CGROUP)
    return run_plan(tmp_path, *memcg(limit), "counters\tbegin", line, "counters\tend")


def test_all_rounds_are_done_where_there_is_room(tmp_path: Path) -> None:
    file = make_file(tmp_path, 4 << 20)
    options = ["--file", file, *SMALL, "--anon-mb", "8", "--mb-us", "1000"]
    report = oom_aging(tmp_path, "64M", *options)
    metrics = channel.metrics_of(report)
    assert (metrics["rounds"], metrics["oom_kill"]) == (5, 0)
    assert not report.steps[0].failed
    # 4 MB of each allocator in each round, and less than 500 us of pause after it.
    assert 5 * 0.004 <= metrics["run_seconds"] <= 5 * 0.0045 + 0.01


def test_the_first_kill_ends_it(tmp_path: Path) -> None:
    # To read the host's files takes no time, so a larger one would be had back again and again.
    file = make_file(tmp_path, 2 * 4096)
    report = oom_aging(tmp_path, "16M", "--file", file, *SMALL, "--anon-mb", "32", "--mb-us", "100")
    metrics = channel.metrics_of(report)
    assert metrics["oom_kill"] >= 1
    assert metrics["rounds"] < 5
    assert not report.steps[0].failed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "needs --file"),
        (["--file", "/no/such/file"], "cannot open /no/such/file"),
        (["--file", "/dev/null"], "has less than a page for each reader"),
        (["--file", "/dev/null", "--readers", "0"], "at least one reader"),
        (["--file", "/dev/null", "--anon-mb", "3"], "less than a MB for each allocator"),
        (["--file", "/dev/null", "--pause-us", "0"], "--pause-us must not be 0"),
        (["--file", "/dev/null", "--rounds", "1x"], "'1x' is not a number"),
        (["--nonsense"], "unknown option"),
    ],
)
def test_what_it_cannot_do_it_says(tmp_path: Path, arguments: list[str], message: str) -> None:
    report = oom_aging(tmp_path, "64M", *arguments)
    assert any(message in error for error in report.errors)
    assert report.steps[0].failed
