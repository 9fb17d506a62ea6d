# SPDX-License-Identifier: GPL-2.0-only
"""Part 4 of the series in a guest: what is read beside what a fault asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.checks.ci import GUEST_KERNELS
from mglru.guest import channel
from mglru.machine.uml import boot
from support.guests import (
    CGROUP,
    DATA,
    file_system,
    kernel_build,
    memcg,
    program_step,
    read_report,
    request,
    step,
)

pytestmark = pytest.mark.guest

STOCK, SERIES = GUEST_KERNELS[:2]
INDEX_MB, LIMIT_MB = 60, 20


def kb_read(kernel: str, where: Path) -> float:
    """kB read by who uses an index at random, through a mapping without advice."""
    where.mkdir()
    index = f"file={DATA}/index mb={INDEX_MB} how=map threads=4 theta=0.9"
    asked = request(
        kernel_build(kernel),
        "strict",
        *file_system(100),
        *memcg(f"{LIMIT_MB}M"),
        step("index", f"dd if=/dev/urandom of={DATA}/index bs=1M count={INDEX_MB}; sync"),
        "write\t/proc/sys/vm/drop_caches\t1",
        "counters\tbegin",
        program_step(
            "patterns",
            "--seed",
            "1",
            f"random {index} ops=2500 batch=16",
            cgroup=CGROUP,
        ),
        "counters\tend",
        limit=300,
    )
    report = read_report(boot(asked, where))
    assert report.done
    assert [done.label for done in report.steps if done.failed] == []
    return channel.metrics_of(report)["pgpgin"]


def test_what_only_misses_is_read_around_no_more(tmp_path: Path) -> None:
    # Stock reads 30 pages for each that is missing, as fault-around finds the rest of them.
    assert kb_read(SERIES, tmp_path / "series") < 0.5 * kb_read(STOCK, tmp_path / "stock")
