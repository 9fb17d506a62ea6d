# SPDX-License-Identifier: GPL-2.0-only
"""The rule by which a figure is called better or worse than the baseline's, or the same."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from mglru.core import stats

# Ratios nearer to 1 than this are called the same: it is what the lab's own self-test
# allows two boots of one kernel to differ by.
TOLERANCE = 0.005
# From so many boots on, in pairs of equal seed, the interval holds the true ratio in 95 % of
# cases (docs/lab/methodology.md): fewer give no mark.
MIN_PAIRS = 5
RULE = (
    f"+ better, - worse: at least {MIN_PAIRS} boots of each kernel, and an interval without 1; "
    f"= the same: within {TOLERANCE:.1%}, or the interval holds 1; no sign: too few boots"
)


class Mark(StrEnum):
    """What a ratio says, where a metric has a better and a worse."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    NONE = ""  # the baseline, no known direction, or too few boots to tell


def judge(
    values: Sequence[float],
    baseline: Sequence[float],
    interval: stats.Interval | None,
    better: str | None,
    *,
    pairs: int,
) -> Mark:
    """Say whether a kernel's figure is better or worse than the baseline's.

    Args:
        values: the kernel's, of every boot; at least one.
        baseline: the baseline's.
        interval: of the ratio of their medians; None where there is none. Where boots of the
            baseline are zero, the two are different if no value of one lies among the other's.
        better: "higher", "lower", or None if neither is.
        pairs: boots that both kernels have.
    """
    if pairs < MIN_PAIRS:
        return Mark.NONE
    ours, theirs = stats.median(values), stats.median(baseline)
    ratio = stats.ratio(ours, theirs)
    if ours == theirs or (ratio is not None and abs(ratio - 1) <= TOLERANCE):
        return Mark.SAME
    apart = min(values) > max(baseline) or max(values) < min(baseline)
    if not apart if interval is None else 1.0 in interval:
        return Mark.SAME
    if better is None:
        return Mark.NONE
    return Mark.BETTER if (ours > theirs) == (better == "higher") else Mark.WORSE
