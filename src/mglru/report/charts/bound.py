# SPDX-License-Identifier: GPL-2.0-only
"""The distance to the optimum: refaults of kernels beside those of simulated policies."""

from __future__ import annotations

from dataclasses import dataclass

import altair as alt

from mglru.core import stats
from mglru.core.figures import number
from mglru.report.charts.palette import Palette
from mglru.report.charts.vega import Chart, Row, Spec, rows, spec_of, tip
from mglru.results.tables import times
from mglru.study.bound.file import OPTIMUM, Bound, distance


@dataclass(frozen=True)
class Distance:
    """One bar: a policy or a kernel.

    Attributes:
        name: its name.
        is_kernel: whether it was measured, not simulated.
        misses: accesses to pages that were not in the cache.
        refaults: those of pages that had been there.
        ratio: how many times the optimum its misses are.
        way: how far it is on the way from the optimum (0) to LRU (1).
    """

    name: str
    is_kernel: bool
    misses: int
    refaults: int
    ratio: float | None
    way: float | None


def optimum(bound: Bound) -> float:
    """Return the refaults of the optimum."""
    return bound.policies[OPTIMUM].refaults


def distances(bound: Bound) -> list[Distance]:
    """Return policies and kernels together, the fewest misses first."""
    best = bound.policies[OPTIMUM].misses
    named = [(name, False, each.misses, each.refaults) for name, each in bound.policies.items()]
    named += [(name, True, each.misses, each.refaults) for name, each in bound.kernels.items()]
    found = [
        Distance(
            name, is_kernel, misses, refaults, stats.ratio(misses, best), distance(misses, bound)
        )
        for name, is_kernel, misses, refaults in named
    ]
    return sorted(found, key=lambda each: each.misses)


def bound_chart(bound: Bound, palette: Palette, key: str) -> Chart | None:
    """Draw the misses of policies and kernels as bars; None if there are none at all."""
    found = distances(bound)
    if not any(each.misses for each in found):
        return None
    bars: list[Row] = [
        {
            "n": each.name,
            "r": each.misses,
            "t": " · ".join(part for part in (number(each.misses), times(each.ratio)) if part),
            "c": palette.look(each.name).css if each.is_kernel else "var(--muted)",
            "o": 1 if each.is_kernel else 0.45,
            "w": "kernel" if each.is_kernel else "simulated policy",
        }
        for each in found
    ]
    said = "; ".join(f"{bar['n']} {bar['t']}" for bar in bars)
    return Chart(
        f"{key}-bound",
        "Misses: kernels (in colour) and simulated policies (grey)",
        f"Bars: misses, and how many times the optimum they are. {said}.",
        _spec(bars),
        note="The factor is to the optimum, Belady's policy, which knows the future.",
        wide=True,
    )


def _spec(bars: list[Row]) -> Spec:
    highest = max(bar["r"] for bar in bars)
    drawn = (
        alt.Chart()
        .mark_bar(height=alt.RelativeBandSize(band=0.72), cornerRadiusEnd=2)
        .encode(
            color=alt.Color("c:N", scale=None),
            fillOpacity=alt.FillOpacity("o:Q", scale=None),
            tooltip=[tip("n", "name"), tip("w", "what"), tip("t", "misses")],
        )
    )
    words = alt.Chart().mark_text(align="left", dx=5, baseline="middle").encode(text="t:N")
    chart = alt.layer(drawn, words, data=rows(bars)).encode(
        y=alt.Y("n:N", sort=[bar["n"] for bar in bars], title=None),
        x=alt.X(
            "r:Q",
            title=None,
            axis=alt.Axis(format="~s", tickCount=5),
            # room for the words at the end of the longest bar
            scale=alt.Scale(domain=[0, highest * 1.75], nice=False),
        ),
    )
    return spec_of(chart, 22 * len(bars))
