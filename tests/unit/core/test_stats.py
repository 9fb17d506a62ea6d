# SPDX-License-Identifier: GPL-2.0-only
"""Statistics against values known from elsewhere."""

from __future__ import annotations

import math

import pytest

from mglru.core import stats


def boots(*values: float) -> dict[int, float]:
    return dict(enumerate(values))


def test_median_of_even_and_odd_counts() -> None:
    assert stats.median([3.0, 1.0, 2.0]) == 2.0
    assert stats.median([4.0, 1.0, 2.0, 3.0]) == 2.5
    with pytest.raises(ValueError, match="no values"):
        stats.median([])


def test_ratio_to_zero_is_no_number() -> None:
    assert stats.ratio(3.0, 2.0) == 1.5
    assert stats.ratio(3.0, 0.0) is None
    assert stats.ratio(0.0, 0.0) is None


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([5.0, 5.0, 5.0], 0.0),
        ([0.0, 0.0], 0.0),
        ([98.0, 100.0, 103.0], 0.05),
        ([-2.0, -1.0, -3.0], 1.0),
        ([0.0, 0.0, 1.0], math.inf),
    ],
)
def test_relative_spread(values: list[float], expected: float) -> None:
    assert stats.relative_spread(values) == pytest.approx(expected)


def test_jain_index() -> None:
    assert stats.jain([1.0, 1.0, 1.0, 1.0]) == 1.0
    assert stats.jain([1.0, 0.0, 0.0, 0.0]) == 0.25
    # k of n users with equal shares, the others with nothing: k / n.
    assert stats.jain([7.0, 7.0, 7.0, 0.0]) == pytest.approx(0.75)
    assert stats.jain([1.0, 2.0, 3.0]) == pytest.approx(36 / 42)
    assert stats.jain([0.0, 0.0]) == 1.0
    for bad in ([], [1.0, -1.0]):
        with pytest.raises(ValueError, match="fairness"):
            stats.jain(bad)


def test_outliers_by_modified_z_score() -> None:
    # Iglewicz and Hoaglin's rule by hand: median 10, MAD 0.1; 10.6 scores 4.0, 10.5 scores 3.4.
    assert stats.outliers([9.9, 10.0, 10.1, 10.6, 9.9, 10.1, 10.0]) == [3]
    assert stats.outliers([9.9, 10.0, 10.1, 10.5, 9.9, 10.1, 10.0]) == []


def test_outliers_where_most_boots_agree() -> None:
    assert stats.outliers([5.0, 5.0, 5.0, 6.0]) == [3]
    assert stats.outliers([5.0, 5.0, 5.0, 5.0]) == []


def test_too_few_boots_have_no_outliers() -> None:
    assert stats.outliers([5.0, 5.0, 500.0]) == []


def test_interval_is_exact_where_all_boots_agree() -> None:
    interval = stats.ratio_interval(boots(3.0, 3.0), boots(2.0, 2.0))
    assert interval == stats.Interval(1.5, 1.5, exact=True)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (boots(1.0), boots(1.0)),
        (boots(1.0, 2.0), boots(1.0, 3.0)),
        (boots(1.0, 2.0, 3.0), boots(0.0, 1.0, 2.0)),
        (boots(1.0, 2.0, 3.0), {}),
    ],
)
def test_no_interval_from_too_few_boots_or_zeros(
    ours: dict[int, float], theirs: dict[int, float]
) -> None:
    assert stats.ratio_interval(ours, theirs) is None


def test_pairing_by_seed_removes_what_the_seed_does() -> None:
    """Boots that differ by seed alone, in the same way on both kernels, have a certain ratio."""
    theirs = boots(100.0, 150.0, 80.0, 120.0, 200.0)
    ours = {boot: 2 * value for boot, value in theirs.items()}
    paired = stats.ratio_interval(ours, theirs, paired=True)
    unpaired = stats.ratio_interval(ours, theirs, paired=False)
    assert paired is not None
    assert unpaired is not None
    assert (paired.low, paired.high) == pytest.approx((2.0, 2.0))
    assert not paired.exact
    assert unpaired.low < 2.0 < unpaired.high


def test_pairs_are_made_by_boot_number_not_by_order() -> None:
    theirs = boots(100.0, 150.0, 80.0)
    ours = {2: 160.0, 0: 200.0, 1: 300.0, 9: 7.0}
    interval = stats.ratio_interval(ours, theirs)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((2.0, 2.0))


def test_bootstrap_matches_the_exact_resampling_distribution() -> None:
    """Three boots against a constant: the resampled median is each extreme 7 times in 27.

    Both tails exceed 2.5 %, so the 95 % percentile interval is the whole range.
    """
    interval = stats.ratio_interval(boots(1.0, 2.0, 4.0), boots(2.0, 2.0, 2.0))
    assert interval is not None
    assert (interval.low, interval.high) == (0.5, 2.0)
    assert 1.0 in interval
    assert 2.1 not in interval


def test_the_same_values_give_the_same_interval() -> None:
    ours, theirs = boots(9.0, 11.0, 10.0, 12.0, 8.0), boots(4.0, 5.0, 6.0, 5.5, 4.5)
    assert stats.ratio_interval(ours, theirs) == stats.ratio_interval(ours, theirs)
