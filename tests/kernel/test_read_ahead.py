# SPDX-License-Identifier: GPL-2.0-only
"""Part 4 of the series in a guest: what is read beside what a fault asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.checks.ci import GUEST_KERNELS
from support.guests import CGROUP, DATA, file_system, memcg, plan_metrics, program_step, step

pytestmark = pytest.mark.guest

STOCK, SERIES = GUEST_KERNELS[:2]
INDEX_MB, LIMIT_MB = 60, 20


def kb_read(tmp_path: Path, kernel: str) -> float:
    """kB read by who uses an index at random, through a mapping without advice."""
    index = f"file={DATA}/index mb={INDEX_MB} how=map threads=4 theta=0.9"
    found = plan_metrics(
        tmp_path,
        kernel,
        *file_system(100),
        *memcg(f"{LIMIT_MB}M"),
        step("index", f"dd if=/dev/urandom of={DATA}/index bs=1M count={INDEX_MB}; sync"),
        "write\t/proc/sys/vm/drop_caches\t1",
        "counters\tbegin",
        program_step("patterns", "--seed", "1", f"random {index} ops=2500 batch=16", cgroup=CGROUP),
        "counters\tend",
    )
    return found["pgpgin"]


def test_what_only_misses_is_read_around_no_more(tmp_path: Path) -> None:
    # Stock reads 30 pages for each that is missing, as fault-around finds the rest of them.
    assert kb_read(tmp_path, SERIES) < 0.5 * kb_read(tmp_path, STOCK)
