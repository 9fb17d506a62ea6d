# SPDX-License-Identifier: GPL-2.0-only
"""guest/drivers/replay.c: a pattern of the simulator on the page cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.guest import channel
from support.guests import memcg, program_step, run_plan

pytestmark = pytest.mark.guest
PAGES = 2048


def replay(tmp_path: Path, pattern: str) -> channel.GuestReport:
    """Run it in a guest, with room for PAGES and the program."""
    memory = f"{(PAGES >> 8) + 1}M"
    return run_plan(
        tmp_path, *memcg(memory), program_step("replay", pattern, "/mnt/new", f"{PAGES}")
    )


def test_each_access_is_made_and_what_fits_is_not_evicted(tmp_path: Path) -> None:
    fits = replay(tmp_path, "set0.5")
    assert fits.problems == ()
    metrics = channel.metrics_of(fits)
    assert metrics["accesses"] == PAGES / 2 * 8
    assert metrics["pgsteal"] == 0


def test_half_of_it_is_anonymous_and_what_fits_is_not_evicted(tmp_path: Path) -> None:
    fits = run_plan(
        tmp_path, *memcg("9M"), program_step("replay", "set0.5", "/mnt/new", f"{PAGES}", "half")
    )
    assert fits.problems == ()
    metrics = channel.metrics_of(fits)
    assert metrics["accesses"] == PAGES / 2 * 8
    assert metrics["pgsteal"] == 0


def test_a_pattern_that_there_is_not_is_said(tmp_path: Path) -> None:
    report = replay(tmp_path, "nonsense")
    assert any("nonsense" in problem.text for problem in report.problems)
