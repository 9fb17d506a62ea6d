# SPDX-License-Identifier: GPL-2.0-only
"""Statistics over boots: medians, ratios and their intervals, spread, outliers, fairness."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

CONFIDENCE = 0.95
RESAMPLES = 9999
# The same samples give the same interval in every report.
RESAMPLING_SEED = 0
# Two boots have three different resamples: no interval can be had from them.
MIN_BOOTS_FOR_INTERVAL = 3
# Iglewicz and Hoaglin (1993): modified z-scores above 3.5 are outliers.
OUTLIER_SCORE = 3.5
MIN_BOOTS_FOR_OUTLIERS = 4


@dataclass(frozen=True)
class Interval:
    """An interval for a ratio of medians.

    Attributes:
        low: its lower end.
        high: its upper end.
        exact: all boots of either kernel agreed to the bit, so the ratio has no spread.
    """

    low: float
    high: float
    exact: bool

    def __contains__(self, ratio: float) -> bool:
        return self.low <= ratio <= self.high


def median(values: Sequence[float]) -> float:
    """Return the median.

    Raises:
        ValueError: no values.
    """
    if not values:
        raise ValueError("the median of no values")
    return statistics.median(values)


def ratio(value: float, baseline: float) -> float | None:
    """Return value / baseline, or None if the baseline is zero."""
    return value / baseline if baseline else None


def relative_spread(values: Sequence[float]) -> float:
    """Return (max - min) / |median|: 0 if all agree, infinite if only the median is zero.

    Raises:
        ValueError: no values.
    """
    width = max(values) - min(values) if values else 0.0
    middle = abs(median(values))
    if not width:
        return 0.0
    return width / middle if middle else math.inf


def outliers(values: Sequence[float]) -> list[int]:
    """Return the positions of outliers: modified z-score above 3.5; none below four values.

    The score is 0.6745 (x - median) / MAD. Where more than half of the values agree to the
    bit, MAD is zero and every value that differs is an outlier.
    """
    if len(values) < MIN_BOOTS_FOR_OUTLIERS:
        return []
    distances = [abs(value - median(values)) for value in values]
    mad = median(distances)
    return [
        position
        for position, distance in enumerate(distances)
        if (0.6745 * distance > OUTLIER_SCORE * mad if mad else distance > 0)
    ]


def ratio_interval(
    values: Mapping[int, float], baseline: Mapping[int, float], *, paired: bool = True
) -> Interval | None:
    """Return the 95 % interval of median(values) / median(baseline).

    A percentile bootstrap over boots. Boot i of every kernel runs with the same seed, so
    boots are resampled in pairs; a boot that only one of the two has is left out.

    Args:
        values: a kernel's figure by boot number.
        baseline: the baseline's figure by boot number.
        paired: whether a boot number means the same seed in both.

    Returns:
        None where no interval can be had: fewer than three boots, or a baseline of zero.
        Exact where all boots of either kernel agree (from two boots on).
    """
    if paired:
        common = sorted(values.keys() & baseline.keys())
        ours, theirs = [values[i] for i in common], [baseline[i] for i in common]
    else:
        ours, theirs = list(values.values()), list(baseline.values())
    boots = min(len(ours), len(theirs))
    if boots < 2 or not all(theirs):
        return None
    if len(set(ours)) == len(set(theirs)) == 1:
        return Interval(ours[0] / theirs[0], ours[0] / theirs[0], exact=True)
    if boots < MIN_BOOTS_FOR_INTERVAL:
        return None
    return _bootstrap(ours, theirs, paired=paired)


def _bootstrap(ours: Sequence[float], theirs: Sequence[float], *, paired: bool) -> Interval:
    def statistic(
        a: npt.NDArray[np.float64], b: npt.NDArray[np.float64], axis: int = -1
    ) -> npt.NDArray[np.float64]:
        quotient: npt.NDArray[np.float64] = np.median(a, axis=axis) / np.median(b, axis=axis)
        return quotient

    # Here, because it takes most of a second, and few commands need it.
    from scipy import stats as scipy_stats  # noqa: PLC0415

    result = scipy_stats.bootstrap(
        (np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)),
        statistic,
        n_resamples=RESAMPLES,
        vectorized=True,
        paired=paired,
        confidence_level=CONFIDENCE,
        # BCa, the default, has no value where a resampled median repeats.
        method="percentile",
        rng=np.random.default_rng(RESAMPLING_SEED),
    )
    interval = result.confidence_interval
    return Interval(float(interval.low), float(interval.high), exact=False)


def jain(values: Sequence[float]) -> float:
    """Return Jain's fairness index, (sum x)^2 / (n sum x^2).

    1 if all shares are equal (also if all are zero), 1/n if one takes everything.

    Raises:
        ValueError: no values, or a negative one.
    """
    if not values or min(values) < 0:
        raise ValueError("fairness needs shares, none of them negative")
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 1.0
