# SPDX-License-Identifier: GPL-2.0-only
"""Figures over time: thinned, counted from the begin, read back as they were written."""

from __future__ import annotations

from itertools import pairwise

import pytest
from pydantic import ValidationError

from mglru.guest.events import Counters, CounterSample, Generations, Progress
from mglru.guest.timeline import make_timeline
from mglru.results.output_file import json_text
from mglru.results.timeline import Timeline


def snapshot(phase: str, clock_ns: int, **vmstat: int) -> Counters:
    return Counters(event="counters", phase=phase, clock_ns=clock_ns, vmstat=vmstat)


def sample(clock_ns: int, some: int = 0, max_seq: int = 3, **vmstat: int) -> CounterSample:
    return CounterSample.model_validate(
        {
            "event": "sample",
            "clock_ns": clock_ns,
            "vmstat": vmstat,
            "memory.current": 4096 * clock_ns,
            "memory.pressure": {"some": some, "full": 0},
            "generations": Generations(max_seq=max_seq, anon=[0, 0, 0, 0], file=[7, 5, 0, 2]),
        }
    )


def test_events_count_from_the_begin_and_gauges_stay() -> None:
    begin, end = snapshot("begin", 10, pgpgin=100, nr_dirty=50), snapshot("end", 40)
    samples = [
        sample(5, pgpgin=90, nr_dirty=40),
        sample(10, some=1000, max_seq=5, pgpgin=104, nr_dirty=60),
        sample(30, some=1700, max_seq=8, pgpgin=110, nr_dirty=0),
        sample(41, pgpgin=200, nr_dirty=1),
    ]
    line = make_timeline(begin, end, samples)
    assert line
    assert line.seconds == [0, 0]  # rounded to microseconds
    assert line.figures == {
        "memory_current": [40960, 122880],
        "psi_some_us": [0, 700],
        "pgpgin": [4, 10],
        "nr_dirty": [60, 0],
        "generation_0_file": [7, 7],
        "generation_1_file": [5, 5],
        "generation_3_file": [2, 2],
        "agings": [0, 3],
    }


def test_a_driver_that_tells_its_progress_has_its_throughput_over_time() -> None:
    second = 10**9
    begin, end = snapshot("begin", second), snapshot("end", 9 * second)
    samples = [sample(at * second) for at in (3, 4, 8)]
    clocks = [int(at * second) for at in (1.5, 2.5, 3.2, 3.4, 3.6, 3.8, 6)]
    progress = Progress(event="progress", every=100, clock_ns=clocks)
    line = make_timeline(begin, end, samples, progress=progress)
    assert line
    assert line.figures["ops_per_second"] == [100, 400, 25]


def test_without_a_measured_part_or_samples_there_is_none() -> None:
    begin, end = snapshot("begin", 0), snapshot("end", 9)
    assert make_timeline(None, end, [sample(1)]) is None
    assert make_timeline(begin, None, [sample(1)]) is None
    assert make_timeline(begin, end, [sample(10)]) is None


def test_a_figure_that_some_samples_lack_is_left_out() -> None:
    begin, end = snapshot("begin", 0), snapshot("end", 9)
    line = make_timeline(begin, end, [sample(1, nr_dirty=1, nr_shmem=1), sample(2, nr_dirty=1)])
    assert line
    assert "nr_dirty" in line.figures
    assert "nr_shmem" not in line.figures


def test_many_samples_are_thinned_evenly_and_the_last_is_kept() -> None:
    begin, end = snapshot("begin", 0), snapshot("end", 10**10)
    samples = [sample(10**6 * number, pgpgin=number) for number in range(5000)]
    line = make_timeline(begin, end, samples, points=50)
    assert line
    assert len(line.seconds) == 50
    assert line.figures["pgpgin"][-1] == 4999
    gaps = {round(later - earlier, 3) for earlier, later in pairwise(line.seconds)}
    assert gaps <= {0.099, 0.1, 0.101}


def test_a_pause_of_the_sampler_does_not_repeat_a_moment() -> None:
    begin, end = snapshot("begin", 0), snapshot("end", 10**9)
    clocks = [*range(100), *range(10**8, 10**8 + 100)]
    line = make_timeline(begin, end, [sample(clock) for clock in clocks], points=20)
    assert line
    assert len(line.figures["memory_current"]) == len(set(line.figures["memory_current"])) == 2


def test_a_time_line_has_one_value_a_moment() -> None:
    with pytest.raises(ValidationError, match="not one value a moment: pgpgin"):
        Timeline(seconds=[0.0, 1.0], figures={"pgpgin": [1]})


def test_arrays_of_numbers_are_one_line_of_json_and_text_stays() -> None:
    text = json_text({"a": [1, -2.5, 1e-7], "b": ["x\n 1"], "c": [], "d": [[1], [2, 3]]})
    assert text.splitlines() == [
        "{",
        ' "a": [1, -2.5, 1e-07],',
        ' "b": [',
        '  "x\\n 1"',
        " ],",
        ' "c": [],',
        ' "d": [',
        "  [1],",
        "  [2, 3]",
        " ]",
        "}",
    ]
