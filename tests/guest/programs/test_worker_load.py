# SPDX-License-Identifier: GPL-2.0-only
"""guest/drivers/worker_load.c: workers in cgroups of their own, asked by a client each."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.guest import channel
from support.guests import CGROUP, memcg, program_step, run_plan

pytestmark = pytest.mark.guest

OPTIONS = (
    *("--groups", "2", "--workers", "2", "--warmup-ms", "100", "--run-ms", "1000"),
    *("--think-ms", "10", "--heavy", "4", "--bucket-ms", "10", "--seed", "1"),
)
EVEN = "echo ready; while read size number; do sleep 0.015; echo ok; done"
# Those of group 1 are three times as fast.
UNFAIR = """
if grep -q g1 /proc/self/cgroup; then wait=0.01; else wait=0.05; fi
echo ready; while read size number; do sleep $wait; echo ok; done"""


def load(tmp_path: Path, *arguments: str, steps: tuple[str, ...] = ()) -> channel.GuestReport:
    """Run it in a guest."""
    line = program_step("worker_load", *arguments)
    return run_plan(tmp_path, *memcg("64M"), line, *steps)


def shell(script: str) -> tuple[str, ...]:
    return ("--", "/bin/sh", "-c", script)


def test_requests_are_counted_in_their_time_and_sorted_by_latency(tmp_path: Path) -> None:
    report = load(tmp_path, *OPTIONS, *shell(EVEN))
    assert report.problems == ()
    # 25 ms a request and its thinking, for 1 s, of four workers.
    assert report.metrics["requests"] == pytest.approx(160, abs=4)
    assert report.metrics["fairness"] == pytest.approx(1, abs=0.001)
    parts = [report.metrics[f"part_{name}"] for name in ("below_1", "from_1_to_2", "from_4")]
    assert parts == [0, 1, 0]
    summary = report.latencies[0].histogram.summary()
    assert summary["p50"] == pytest.approx(15_000, rel=0.02)
    begin, end = report.counters
    assert (end.clock_ns - begin.clock_ns) / 1e9 == pytest.approx(1, abs=0.001)


def test_fairness_is_jains(tmp_path: Path) -> None:
    report = load(tmp_path, *OPTIONS, *shell(UNFAIR))
    # 50 and 16.7 requests a second: (2 * 50 + 2 * 16.7)^2 / (4 * (2 * 50^2 + 2 * 16.7^2)).
    assert report.metrics["fairness"] == pytest.approx(0.8, abs=0.01)


def test_heavy_requests_are_drawn_from_the_seed(tmp_path: Path) -> None:
    worker = "echo ready; while read size number; do sleep $((size / 16)).005; echo ok; done"
    first, again, other = (
        load(tmp_path, *OPTIONS, "--run-ms", "20000", "--seed", seed, *shell(worker)).metrics
        for seed in ("1", "1", "2")
    )
    assert first == again != other
    assert first["part_from_4"] == pytest.approx(1 / 4, abs=0.08)


def test_each_group_is_a_cgroup_of_its_own(tmp_path: Path) -> None:
    script = "head -n 1 /proc/self/cgroup >&2; echo ready; cat"
    steps = tuple(f"step\t{name}\t-\t/bin/ls\t{CGROUP}/{name}" for name in ("g0", "g1"))
    report = load(tmp_path, *OPTIONS, *shell(script), steps=steps)
    assert [step.status for step in report.steps] == [0, 0, 0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*OPTIONS, *shell("echo ready")], "cannot ask worker 0"),
        ([*OPTIONS, *shell("exit 1")], "worker 0 ended"),
        ([*OPTIONS], "no program"),
        ([*OPTIONS, "--groups", "0", *shell("cat")], "needs --groups"),
        ([*OPTIONS, "--groups", "1000", *shell("cat")], "is not a number from 0 to 256"),
        ([*OPTIONS, "--groups", "200", *shell("cat")], "at most 256 workers"),
        ([*OPTIONS, "--seed", "-1", *shell("cat")], "'-1' is not a number"),
        ([*OPTIONS, "--think-ms", "soon", *shell("cat")], "'soon' is not a number"),
        (["--nonsense"], "unknown option"),
        ([*OPTIONS, "--", "/no/such/program"], "cannot start /no/such/program"),
    ],
)
def test_what_it_cannot_do_it_says(tmp_path: Path, arguments: list[str], message: str) -> None:
    report = load(tmp_path, *arguments)
    assert any(message in error for error in report.errors)
    assert report.steps[0].status != 0
