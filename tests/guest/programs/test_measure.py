# SPDX-License-Identifier: GPL-2.0-only
"""guest/tools/measure.c: figures read off what a real program prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.guest import channel
from support.guests import memcg, program_step, run_plan

pytestmark = pytest.mark.guest


def measure(tmp_path: Path, *arguments: str) -> channel.GuestReport:
    """Run it in a guest."""
    return run_plan(tmp_path, *memcg("64M"), program_step("measure", *arguments))


def test_the_last_line_that_matches_is_the_figure(tmp_path: Path) -> None:
    script = "echo 'tps = 12 (so far)'; echo 'tps = 3.5e1 (all)'\necho p99=7 >&2; echo 'tps = x'"
    options = ["--metric", "tps=tps = ([^ ]+)", "--metric", "p99_ms=^p99=(.*)"]
    report = measure(tmp_path, *options, "--", "/bin/sh", "-c", script)
    assert report.metrics == {"tps": 35.0, "p99_ms": 7.0}
    assert [snapshot.phase for snapshot in report.counters] == ["begin", "end"]
    assert report.problems == ()


def test_a_client_stays_outside_unless_it_joins(tmp_path: Path) -> None:
    script = "echo groups $(wc -l </sys/fs/cgroup/work/cgroup.procs)"
    arguments = ["--metric", "inside=groups ([0-9]+)", "--", "/bin/sh", "-c", script]
    assert measure(tmp_path, *arguments).metrics == {"inside": 0.0}
    assert measure(tmp_path, "--join", *arguments).metrics["inside"] > 0


def test_what_only_reads_sends_no_counters(tmp_path: Path) -> None:
    arguments = ["--only-read", "--metric", "n=n ([0-9]+)", "--", "/bin/echo", "n 3"]
    report = measure(tmp_path, *arguments)
    assert report.metrics == {"n": 3.0}
    assert report.counters == ()


def test_its_status_is_the_programs(tmp_path: Path) -> None:
    assert measure(tmp_path, "--", "/bin/sh", "-c", "exit 7").steps[0].status == 7
    assert measure(tmp_path, "--", "/bin/sh", "-c", "kill -9 $$").steps[0].status == 137


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--metric", "x=([0-9]+)", "--", "/bin/echo", "none"], "printed nothing for x"),
        (["--metric", "x=[0-9]+", "--", "/bin/echo", "1"], "no regular expression with a group"),
        (["--metric", "x", "--", "/bin/echo"], "needs NAME=REGEX"),
        (["--metric"], "needs NAME=REGEX"),
        (["--nonsense", "--", "/bin/echo"], "unknown option --nonsense"),
        (["--join", "--"], "no program"),
        (["--", "/no/such/program"], "cannot start /no/such/program"),
    ],
)
def test_what_it_cannot_do_it_says(tmp_path: Path, arguments: list[str], message: str) -> None:
    report = measure(tmp_path, *arguments)
    assert any(message in error for error in report.errors)
    assert report.steps[0].status != 0
