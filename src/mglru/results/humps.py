# SPDX-License-Identifier: GPL-2.0-only
"""Whether the values of a figure lie in two groups: then their median describes neither."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mglru.core import stats

MIN_VALUES = 5
# A group of one is an outlier, of which a table has its own note.
MIN_GROUP = 2
# The gap is so many times as wide as the wider group. Of five values of one normal distribution
# 3.5 % look so, of eight 0.1 % (simulated).
GAP_TO_GROUP = 3.0
# A smaller part of the median is no matter.
GAP_TO_MEDIAN = 0.05


@dataclass(frozen=True)
class Humps:
    """Two groups of values, each in order: the lower and the upper."""

    low: tuple[float, ...]
    high: tuple[float, ...]


def two_humps(values: Sequence[float]) -> Humps | None:
    """Return the two groups that values lie in, None if they do not.

    They do if the widest gap between neighbours, at least MIN_GROUP values from either end, is
    GAP_TO_GROUP times as wide as either group, and GAP_TO_MEDIAN of the median.
    """
    ordered = sorted(values)
    if len(ordered) < MIN_VALUES:
        return None
    cuts = range(MIN_GROUP, len(ordered) - MIN_GROUP + 1)
    cut = max(cuts, key=lambda at: ordered[at] - ordered[at - 1])
    low, high = ordered[:cut], ordered[cut:]
    gap = high[0] - low[-1]
    widest = max(low[-1] - low[0], high[-1] - high[0])
    if gap <= GAP_TO_GROUP * widest or gap <= GAP_TO_MEDIAN * abs(stats.median(ordered)):
        return None
    return Humps(tuple(low), tuple(high))
