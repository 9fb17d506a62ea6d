# SPDX-License-Identifier: GPL-2.0-only
"""Part 4 of the series in a guest: a loop that does not fit keeps what is there, and only there."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru import channel
from mglru.selfcheck import GUEST_KERNELS
from mglru.uml import boot
from test_guest import DISK, kernel_build, memcg, read_report, request, step

pytestmark = pytest.mark.guest

ENABLED = "/sys/kernel/mm/lru_gen/enabled"
STOCK, SERIES = GUEST_KERNELS
FILE_MB = 20
LOOP = f"dd if=/dev/data of=/dev/null bs=1M count={FILE_MB}"
OTHER = f"dd if=/dev/data of=/dev/null bs=1M count=8 skip={FILE_MB}"
PASSES = 4


def refaults(name: str, switch: str, where: Path, *counted: str) -> float:
    """Read 20 MiB four times in a cgroup of 16 MiB, then what is counted."""
    plan = [
        f"write\t{ENABLED}\t{switch}",
        *DISK,
        *memcg("16M"),
        *(step(f"loop{i}", LOOP) for i in range(PASSES)),
        "counters\tbegin",
        *(step(f"counted{i}", command) for i, command in enumerate(counted)),
        "counters\tend",
    ]
    report = read_report(boot(request(kernel_build(name), *plan), where))
    assert not [step for step in report.steps if step.failed]
    return channel.metrics_of(report)["workingset_refault_file"]


def test_a_loop_that_does_not_fit_finds_nothing_on_stock(tmp_path: Path) -> None:
    assert refaults(STOCK, "y", tmp_path, *[LOOP] * PASSES) >= 0.95 * PASSES * (FILE_MB << 8)


def test_with_refault_distance_it_finds_half_of_what_there_is(tmp_path: Path) -> None:
    # 15 of the 20 MiB fit: the optimum reads a good quarter.
    assert refaults(SERIES, "y", tmp_path, *[LOOP] * PASSES) <= 0.5 * PASSES * (FILE_MB << 8)


def test_what_is_new_gets_in_beside_it(tmp_path: Path) -> None:
    found = refaults(SERIES, "y", tmp_path, *[OTHER] * 8)
    assert found <= 4 * (8 << 8)
