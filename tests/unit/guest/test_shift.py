# SPDX-License-Identifier: GPL-2.0-only
"""A shift of the hot set: how a driver tells its progress, and when a kernel has recovered."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from mglru.core.paths import GUEST
from mglru.experiment.load import load_experiment
from mglru.guest import channel
from mglru.guest.events import Counters, Progress
from mglru.guest.hot_shift import shift_figures
from mglru.guest.programs import CFLAGS, STATIC, programs
from support.places import PROGRAMS

SECOND = 10**9
EVERY = 10


def snapshot(phase: str, seconds: float, **vmstat: int) -> Counters:
    clock_ns = round(seconds * SECOND)
    return Counters(event="counters", phase=phase, clock_ns=clock_ns, vmstat=vmstat)


def figures(
    *parts: tuple[float, int], begin: float = 5, shift_after: float = 10
) -> dict[str, float]:
    """Figures of a run whose throughput is so many operations a second for so many seconds."""
    rate = np.concatenate([np.full(round(s * 1000), ops / 1000) for s, ops in parts])
    done = np.cumsum(rate)
    ends = np.searchsorted(done, np.arange(EVERY, done[-1] - 1e-6, EVERY)) / 1000 + begin
    progress = Progress(
        event="progress", every=EVERY, clock_ns=[round(end * SECOND) for end in ends]
    )
    end = begin + sum(seconds for seconds, _ops in parts)
    return shift_figures(
        snapshot("begin", begin),
        snapshot("shift", begin + shift_after),
        snapshot("end", end),
        progress,
    )


def test_recovery_lasts_until_the_first_window_that_is_fast_again() -> None:
    # 18,000 operations after the shift: a window of 900, of which 0.9 s is 90 %.
    run = figures((10, 1000), (2, 500), (17, 1000))
    assert run["ops_per_second_before"] == pytest.approx(1000, rel=0.01)
    assert run["ops_per_second_after"] == pytest.approx(18_000 / 19, rel=0.01)
    # The window has 800 operations at full speed and 100 at half of it: 0.9 of the speed.
    assert run["recovery_seconds"] == pytest.approx(2.8, abs=0.05)
    assert run["recovered"] == 1


def test_without_a_dip_recovery_is_one_window() -> None:
    run = figures((10, 1000), (10, 1000))
    assert run["recovery_seconds"] == pytest.approx(0.5, abs=0.02)
    assert run["recovered"] == 1


def test_the_cold_start_is_not_the_level_to_come_back_to() -> None:
    run = figures((5, 100), (5, 1000), (10, 920))
    assert run["ops_per_second_before"] == pytest.approx(1000, rel=0.01)
    assert run["recovered"] == 1
    assert run["recovery_seconds"] < 1


def test_a_kernel_that_never_recovers_shows_as_such() -> None:
    run = figures((10, 1000), (10, 850))
    assert run["recovered"] == 0
    assert run["recovery_seconds"] == pytest.approx(10)


def test_one_fast_moment_is_no_recovery() -> None:
    run = figures((10, 1000), (4, 500), (0.1, 1100), (4, 500), (20, 1000))
    assert run["recovery_seconds"] > 8


def test_counters_are_told_for_both_parts() -> None:
    begin = snapshot("begin", 1, pgpgin=100, nr_dirty=7)
    shift, end = snapshot("shift", 2, pgpgin=150, nr_dirty=8), snapshot("end", 3, pgpgin=400)
    assert shift_figures(begin, shift, end, None) == {"pgpgin_before": 50, "pgpgin_after": 250}


def test_operations_that_take_no_time_are_fast() -> None:
    clocks = [*(n * SECOND for n in range(1, 11)), *[12 * SECOND] * 40]
    progress = Progress(event="progress", every=100, clock_ns=clocks)
    run = shift_figures(snapshot("begin", 0), snapshot("shift", 11), snapshot("end", 13), progress)
    assert (run["recovered"], run["recovery_seconds"]) == (1, 1)


@pytest.mark.parametrize("clocks", [[], [SECOND], [SECOND, 2 * SECOND], [SECOND] * 4])
def test_too_little_progress_gives_no_figures_of_it(clocks: list[int]) -> None:
    progress = Progress(event="progress", every=100, clock_ns=clocks)
    run = shift_figures(snapshot("begin", 0), snapshot("shift", 3), snapshot("end", 9), progress)
    assert run == {}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("progress") / "progress"
    sources: list[Path] = [PROGRAMS / "progress.c", GUEST / "lib/progress.c", GUEST / "lib/lab.c"]
    flags = [*CFLAGS, *STATIC, "-Werror", "-DLAB_PROGRESS", f"-I{GUEST / 'lib'}"]
    subprocess.run(["gcc", *flags, *sources, "-o", out], check=True)
    return out


def run_program(program: Path, tmp_path: Path, *arguments: str) -> channel.GuestReport:
    out = tmp_path / "channel"
    out.touch()
    environment = {**os.environ, "MGLRU_CHANNEL": str(out)}
    subprocess.run([program, *arguments], env=environment, check=False, capture_output=True)
    return channel.parse(out.read_bytes())


def test_a_driver_tells_how_far_it_was_and_when_the_shift_came(
    program: Path, tmp_path: Path
) -> None:
    report = run_program(program, tmp_path, "123456", "123456")
    assert report.problems == ()
    assert report.progress
    assert (report.progress.every, len(report.progress.clock_ns)) == (100, 1234)
    phases = {name: report.phase(name) for name in ("begin", "shift", "end")}
    clocks = [snapshot.clock_ns for snapshot in phases.values() if snapshot]
    assert len(clocks) == 3
    assert clocks[0] <= min(report.progress.clock_ns) <= max(report.progress.clock_ns) <= clocks[2]
    assert clocks[0] <= clocks[1] <= clocks[2]
    metrics = channel.metrics_of(report)
    assert metrics["recovered"] in (0, 1)
    assert metrics["pgpgin_before"] + metrics["pgpgin_after"] == metrics["pgpgin"]


def test_more_operations_than_planned_are_an_error(program: Path, tmp_path: Path) -> None:
    report = run_program(program, tmp_path, "1000", "500")
    assert any("more operations than the 500 that were planned" in e for e in report.errors)


def test_the_driver_of_the_other_experiments_is_the_same_source_without_it() -> None:
    plain, told = programs()["ycsb_wiredtiger"], programs()["ycsb_progress"]
    assert set(told.sources) - set(plain.sources) == {"lib/progress.c"}
    assert not any("LAB_PROGRESS" in flag for flag in plain.flags)
    assert "-DLAB_PROGRESS" in told.flags


def test_the_experiment_shifts_halfway_and_tells_both_parts() -> None:
    experiment = load_experiment("hot-shift")
    assert experiment.trace
    assert experiment.trace.shift_at == experiment.trace.operations // 2
    assert "ycsb_progress" in experiment.programs
    names = {metric.name for metric in experiment.metrics}
    assert {"recovery_seconds", "recovered", "ops_per_second_after"} <= names
