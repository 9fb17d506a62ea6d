# SPDX-License-Identifier: GPL-2.0-only
"""Part 3 of the series in a guest: what was used again is kept, if the switch says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.checks.ci import GUEST_KERNELS
from mglru.guest import channel
from mglru.machine.uml import boot
from support.guests import DISK, ENABLED, kernel_build, memcg, read_report, refaults, request, step

pytestmark = pytest.mark.guest

STOCK, SERIES = GUEST_KERNELS
HOT = "dd if=/dev/data of=/dev/null bs=1M count=8"
HOT_PAGES = 8 << 8


def stream(number: int) -> str:
    """Read 16 MiB that no stream of another number reads."""
    return f"dd if=/dev/data of=/dev/null bs=1M count=16 skip={8 + 16 * number}"


def refaults_of_the_hot(name: str, switch: str, where: Path) -> float:
    """Read 8 MiB three times in a cgroup of 16 MiB, then 16 MiB once, then the 8 MiB again."""
    return refaults(name, switch, where, [*[HOT] * 3, stream(0)], [HOT])


@pytest.mark.parametrize(("kernel", "switch"), [(STOCK, "y"), (SERIES, "7")])
def test_a_stream_evicts_what_is_used_often(kernel: str, switch: str, tmp_path: Path) -> None:
    assert refaults_of_the_hot(kernel, switch, tmp_path) >= 0.9 * HOT_PAGES


def test_with_frequency_guidance_a_stream_evicts_next_to_none_of_it(tmp_path: Path) -> None:
    assert refaults_of_the_hot(SERIES, "15", tmp_path) <= 0.05 * HOT_PAGES


@pytest.mark.parametrize(("kernel", "least", "most"), [(STOCK, 0.9, 2), (SERIES, 0, 0.05)])
def test_with_the_window_streams_in_turn_with_it_evict_next_to_none_of_it(
    kernel: str, least: float, most: float, tmp_path: Path
) -> None:
    turns = [command for number in range(1, 9) for command in (HOT, stream(number))]
    often = refaults(kernel, "y", tmp_path, [*[HOT] * 3, stream(0), *turns], [HOT])
    assert least * HOT_PAGES <= often <= most * HOT_PAGES


def test_with_the_window_the_first_stream_evicts_next_to_none_of_it(tmp_path: Path) -> None:
    assert refaults_of_the_hot(SERIES, "y", tmp_path) <= 0.05 * HOT_PAGES


def test_with_the_window_one_stream_over_and_over_costs_less(tmp_path: Path) -> None:
    # A loop of 24 MiB in 16: stock loses all of it in each round, three times HOT_PAGES. Which
    # part of it stays does not matter.
    before = [*[HOT] * 3, stream(0), *[HOT, stream(0)] * 8]
    assert refaults(SERIES, "y", tmp_path, before, [HOT, stream(0)]) <= 0.6 * 3 * HOT_PAGES


def test_the_switch_reads_as_it_was_written(tmp_path: Path) -> None:
    # 0x0010 is refault distance, which needs 0x0008.
    written = {"9": 0x9, "1": 0x1, "n": 0x0, "25": 0x19, "17": 0x1, "y": 0x19}
    plan = [
        step(f"read{value}", f"echo {value} >{ENABLED}; grep -q {shown:#06x} {ENABLED}")
        for value, shown in written.items()
    ]
    report = read_report(boot(request(kernel_build(SERIES), *memcg("16M"), *plan), tmp_path))
    assert len(report.steps) == len(plan)
    assert not [step for step in report.steps if step.failed]


def test_to_wait_for_what_was_used_again_before_is_a_stall(tmp_path: Path) -> None:
    # A disk that takes long enough to be seen in steps of a jiffy, and a loop that lacks a little.
    plan = [
        *(line.replace("completion_nsec=80000", "completion_nsec=2000000") for line in DISK),
        *memcg("16M"),
        "counters\tbegin",
        *(step(f"pass{i}", "dd if=/dev/data of=/dev/null bs=1M count=20") for i in range(4)),
        "counters\tend",
    ]
    report = read_report(boot(request(kernel_build(SERIES), *plan), tmp_path))
    assert not [step for step in report.steps if step.failed]
    found = channel.metrics_of(report)
    # The first time it comes back, nobody knows yet.
    assert 0 < found["workingset_restore_file"] < found["workingset_refault_file"]
    assert found["psi_some_us"] > 0
