# SPDX-License-Identifier: GPL-2.0-only
"""Part 4 of the series in a guest: what the window gives to whom, and what it takes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.checks.ci import GUEST_KERNELS
from support.guests import refaults

pytestmark = pytest.mark.guest

STOCK, SERIES = GUEST_KERNELS
FILE_MB = 20
LOOP = f"dd if=/dev/data of=/dev/null bs=1M count={FILE_MB}"
OTHER = f"dd if=/dev/data of=/dev/null bs=1M count=8 skip={FILE_MB}"
PASSES = 4
HOT_MB = 8
HOT = f"dd if=/dev/data of=/dev/null bs=1M count={HOT_MB}"
STREAM = f"dd if=/dev/data of=/dev/null bs=1M count=24 skip={HOT_MB}"
# Until generations have the room that they are worth.
WARM_UP = 8


def refaults_after_loops(name: str, where: Path, *counted: str) -> float:
    """Read 20 MiB again and again in a cgroup of 16 MiB, then what is counted."""
    return refaults(name, "y", where, [LOOP] * WARM_UP, counted)


def test_a_loop_that_does_not_fit_finds_nothing_on_stock(tmp_path: Path) -> None:
    assert refaults_after_loops(STOCK, tmp_path, *[LOOP] * PASSES) >= 0.95 * PASSES * (FILE_MB << 8)


def test_with_the_window_it_finds_half_of_what_there_is(tmp_path: Path) -> None:
    # 15 of the 20 MiB fit: the optimum reads a good quarter.
    assert refaults_after_loops(SERIES, tmp_path, *[LOOP] * PASSES) <= 0.5 * PASSES * (FILE_MB << 8)


def test_what_is_new_gets_in_beside_it(tmp_path: Path) -> None:
    found = refaults_after_loops(SERIES, tmp_path, *[OTHER] * 8)
    assert found <= 4 * (8 << 8)


def test_what_was_used_while_all_fitted_outlives_a_stream(tmp_path: Path) -> None:
    found = refaults(SERIES, "y", tmp_path, [*[HOT] * 4, STREAM], [HOT])
    assert found <= 0.1 * (HOT_MB << 8)


def test_what_is_lent_is_taken_back_from_what_is_not_used(tmp_path: Path) -> None:
    # 12 MiB fit as soon as the first set, which nobody wants any more, has gone.
    later = f"dd if=/dev/data of=/dev/null bs=1M count=12 skip={HOT_MB}"
    found = refaults(SERIES, "y", tmp_path, [*[HOT] * 4, *[later] * 4], [later] * 4)
    assert found <= 0.1 * 4 * (12 << 8)


def dd(at_mb: int, count: int = 1) -> str:
    return f"dd if=/dev/data of=/dev/null bs=1M count={count} skip={at_mb}"


# Each MiB is read by two, one right behind the other, beside what is in use.
TWICE = [line for at in range(40, 64) for line in (dd(at), dd(at))]


def test_what_is_read_twice_within_moments_takes_no_room(tmp_path: Path) -> None:
    # Memory has been full before: until then two uses are not known to be close to each other.
    before = [dd(100, 24), *[HOT] * 4, *TWICE, HOT, *TWICE]
    found = refaults(SERIES, "y", tmp_path, before, [HOT])
    assert found <= 0.25 * (HOT_MB << 8)


LAG_MB = 8
# One reads on and on, another one follows: after most of the memory was in use by something else.
FOLLOWED = [line for at in range(LAG_MB, 56) for line in (dd(40 + at), dd(40 + at - LAG_MB))]


def test_who_follows_behind_another_finds_what_that_one_read(tmp_path: Path) -> None:
    used = [dd(0, 12)] * 6
    found = refaults(SERIES, "y", tmp_path, [*used, *FOLLOWED[: len(FOLLOWED) // 2]],
                     FOLLOWED[len(FOLLOWED) // 2 :])  # fmt: skip
    assert found <= 0.25 * (len(FOLLOWED) // 4 << 8)
