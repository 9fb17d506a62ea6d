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
STREAM = "dd if=/dev/data of=/dev/null bs=1M count=16 skip=8"
HOT_PAGES = 8 << 8


def refaults_of_the_hot(name: str, switch: str, where: Path) -> float:
    """Read 8 MiB three times in a cgroup of 16 MiB, then 16 MiB once, then the 8 MiB again."""
    return refaults(name, switch, where, [*[HOT] * 3, STREAM], [HOT])


@pytest.mark.parametrize(("kernel", "switch"), [(STOCK, "y"), (SERIES, "7")])
def test_a_stream_evicts_what_is_used_often(kernel: str, switch: str, tmp_path: Path) -> None:
    assert refaults_of_the_hot(kernel, switch, tmp_path) >= 0.9 * HOT_PAGES


def test_with_frequency_guidance_a_stream_evicts_next_to_none_of_it(tmp_path: Path) -> None:
    assert refaults_of_the_hot(SERIES, "15", tmp_path) <= 0.05 * HOT_PAGES


def test_with_the_window_streams_in_turn_with_it_evict_less_and_less_of_it(tmp_path: Path) -> None:
    once = refaults_of_the_hot(SERIES, "y", tmp_path)
    (tmp_path / "again").mkdir()
    turns = [STREAM, *[HOT, STREAM] * 8]
    often = refaults(SERIES, "y", tmp_path / "again", [*[HOT] * 3, *turns], [HOT])
    # Nothing is known at first; stock loses all of it each time. How soon it is known hangs on
    # where the first turns end within a generation; after six turns the count stays.
    assert once <= 0.95 * HOT_PAGES
    assert often <= 0.6 * HOT_PAGES


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
