# SPDX-License-Identifier: GPL-2.0-only
"""Part 4 of the series in a guest: what is read beside what a fault asked for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from mglru.checks.ci import GUEST_KERNELS
from support.guests import CGROUP, DATA, file_system, memcg, plan_metrics, program_step, step

pytestmark = pytest.mark.guest

STOCK, SERIES = GUEST_KERNELS[:2]
INDEX_MB, LIMIT_MB = 60, 20


def figures(tmp_path: Path, kernel: str, limit_mb: int, actor: str) -> Mapping[str, float]:
    """The counters of who uses an index at random, through a mapping without advice."""
    return plan_metrics(
        tmp_path,
        kernel,
        *file_system(100),
        *memcg(f"{limit_mb}M"),
        step("index", f"dd if=/dev/urandom of={DATA}/index bs=1M count={INDEX_MB}; sync"),
        "write\t/proc/sys/vm/drop_caches\t1",
        "counters\tbegin",
        program_step(
            "patterns",
            *("--seed", "1", f"random file={DATA}/index mb={INDEX_MB} how=map {actor}"),
            cgroup=CGROUP,
        ),
        "counters\tend",
    )


def test_what_only_misses_is_read_around_no_more(tmp_path: Path) -> None:
    # Stock reads 30 pages for each that is missing, as fault-around finds the rest of them.
    actor = "threads=4 theta=0.9 ops=2500 batch=16"
    series, stock = (figures(tmp_path, kernel, LIMIT_MB, actor) for kernel in (SERIES, STOCK))
    assert series["pgpgin"] < 0.11 * stock["pgpgin"]


def test_what_fits_is_read_around(tmp_path: Path) -> None:
    # One thread misses as often as it hits at first; page by page it would be 15,000 faults.
    actor = "ops=10000 batch=8 think_us=20"
    series, stock = (figures(tmp_path, kernel, 2 * INDEX_MB, actor) for kernel in (SERIES, STOCK))
    assert series["pgmajfault"] <= 1.02 * stock["pgmajfault"]
