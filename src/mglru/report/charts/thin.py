# SPDX-License-Identifier: GPL-2.0-only
"""Fewer points for a curve that looks the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def extremes(values: Sequence[float], most: int) -> list[int]:
    """Return the positions to keep of a curve: of each stretch its lowest and highest point.

    So no peak is lost. The first and the last point are always kept.

    Args:
        values: the curve.
        most: about how many to keep.
    """
    count = len(values)
    if count <= most:
        return list(range(count))
    kept = {0, count - 1}
    for stretch in np.array_split(np.arange(count), max(1, most // 2)):
        part = np.asarray(values, dtype=float)[stretch]
        kept |= {int(stretch[part.argmin()]), int(stretch[part.argmax()])}
    return sorted(kept)


def evenly(count: int, most: int) -> list[int]:
    """Return positions to keep that several curves share, the first and the last included."""
    if count <= most:
        return list(range(count))
    return sorted({int(at) for at in np.linspace(0, count - 1, most).round()})


def rounded(value: float, digits: int = 4) -> float:
    """Return a value with so many significant digits; whole numbers without a point."""
    short = float(f"{value:.{digits}g}")
    return int(short) if short == int(short) else short
