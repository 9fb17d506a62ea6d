# SPDX-License-Identifier: GPL-2.0-only
"""guest/drivers/app_launch.c: how long real programs take to start, on the guest's exact clock."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.guest import channel
from support.guests import memcg, program_step, run_plan

pytestmark = pytest.mark.guest

OPTIONS = ("--root", "/", "--warmup", "1", "--pause-ms", "1000")


def launch(tmp_path: Path, *arguments: str) -> channel.GuestReport:
    """Run it in a guest."""
    return run_plan(tmp_path, *memcg("64M"), program_step("app_launch", *arguments))


def test_a_start_is_what_it_waits_and_its_share_of_the_processor(tmp_path: Path) -> None:
    apps = "\n20 sleep 0.1\n0 true\n10 sleep 0.04\n"
    report = launch(tmp_path, *OPTIONS, "--rounds", "7", "--apps", apps)
    assert report.problems == ()
    # 120, 0 and 50 ms, seven times each; between them only reading the clock takes time.
    expected = {"p50": 50, "p90": 120, "p95": 120, "mean": 170 / 3}
    for name, milliseconds in expected.items():
        assert report.metrics[f"start_{name}_ms"] == pytest.approx(milliseconds, abs=0.5)
    assert report.latencies[0].histogram.summary()["max"] == pytest.approx(120_000, rel=0.005)
    begin, end = report.counters
    assert (end.clock_ns - begin.clock_ns) / 1e9 == pytest.approx(7 * 3.17, abs=0.05)


def test_programs_start_in_the_cgroup(tmp_path: Path) -> None:
    apps = "0 grep -q 0::/work /proc/self/cgroup"
    assert launch(tmp_path, *OPTIONS, "--rounds", "1", "--apps", apps).problems == ()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--rounds", "1", "--apps", "5 no-such-program"],
            "-program' ended with status 127",
        ),
        (["--rounds", "1", "--apps", "true"], "not CPU_MS COMMAND"),
        (["--rounds", "1", "--apps", "fast true"], "'fast' is not a number"),
        (["--rounds", "1", "--apps", "-1 true"], "'-1' is not a number"),
        (["--rounds", "99999999999999999999", "--apps", "0 true"], "is not a number from 0 to"),
        (["--rounds", "1", "--apps", "0 true\n" * 65], "or too many"),
        (["--rounds", "1", "--apps", "\n"], "needs --root, --rounds and --apps"),
        (["--apps", "0 true"], "needs --root, --rounds and --apps"),
        (["--rounds", "1", "--apps", "0 true", "--root", "/none"], "cannot enter /none"),
        (["--nonsense"], "unknown option"),
        (["more"], "'more' is no option"),
    ],
)
def test_what_it_cannot_do_it_says(tmp_path: Path, arguments: list[str], message: str) -> None:
    report = launch(tmp_path, *OPTIONS, *arguments)
    assert any(message in error for error in report.errors)
    assert report.steps[0].status != 0
