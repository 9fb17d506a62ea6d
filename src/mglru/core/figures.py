# SPDX-License-Identifier: GPL-2.0-only
"""Figures as people read them."""

from __future__ import annotations

import math


def number(value: float) -> str:
    """Return a figure for people: no decimals from 1,000 on, four digits below."""
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def factor(better: str | None, ratio: float | None) -> float | None:
    """Return how many times as good as the baseline a ratio is; None if that has no meaning.

    Half as many refaults are twice as good; none at all are infinitely better.
    """
    if ratio is None or better is None:
        return None
    if better == "higher":
        return ratio
    return 1 / ratio if ratio else math.inf
