# SPDX-License-Identifier: GPL-2.0-only
"""The distribution of latencies: a curve of percentiles for each kernel."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import numpy as np

from mglru.guest.latency import Histogram
from mglru.report.charts.palette import Palette
from mglru.report.charts.thin import rounded
from mglru.report.charts.vega import (
    Chart,
    Row,
    Spec,
    by_kernel,
    dashes,
    hover,
    rows,
    slug,
    spec_of,
    tip,
)
from mglru.results.compare import Named

POINTS = 56
# Percentiles lie on the axis by how rare what is slower is: 1 / (1 - p).
RARITY_TICKS = {1: "0", 10: "90", 100: "99", 1000: "99.9", 10_000: "99.99"}
RAREST = 100_000
MICROSECONDS = (
    "datum.value >= 1e6 ? datum.value / 1e6 + ' s' : "
    "datum.value >= 1e3 ? datum.value / 1e3 + ' ms' : datum.value + ' µs'"
)
MICROSECOND_TICKS = [0, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000]


def latency_charts(runs: Sequence[Named], palette: Palette, key: str) -> list[Chart]:
    """Draw one chart for each histogram that the kernels of some runs have."""
    names = sorted({name for each in runs for boot in each.run.raw for name in boot.latency})
    charts = [_chart(name, runs, palette, key) for name in names]
    return [chart for chart in charts if chart]


def _chart(name: str, runs: Sequence[Named], palette: Palette, key: str) -> Chart | None:
    histograms = {
        kernel: histogram
        for each in runs
        for kernel in each.run.kernels
        if (histogram := _merged(each, kernel, name)).total
    }
    if not any(histogram.at(100) > 1 for histogram in histograms.values()):
        return None  # nothing ever waited: there is nothing to draw
    what = "operation" if name == "latency" else name.removesuffix("_latency")
    p99 = ", ".join(f"{kernel} {h.at(99):,.0f} µs" for kernel, h in histograms.items())
    return Chart(
        f"{key}-latency-{slug(name)}",
        f"Latency of each {what}",
        f"Curves: latency by percentile. At 99 %: {p99}.",
        _spec([_curve(kernel, h) for kernel, h in histograms.items()], palette),
        note="Percentiles of all boots together; to the right: the slowest.",
    )


def _merged(each: Named, kernel: str, name: str) -> Histogram:
    boots = each.run.boots_of(kernel)
    return Histogram.decode(*(boot.latency[name] for boot in boots if name in boot.latency))


def _curve(kernel: str, histogram: Histogram) -> Row:
    """Return percentiles up to the one that a single sample stands for."""
    rarest = min(max(histogram.total, 2), RAREST)
    rarities = np.geomspace(1, rarest, POINTS)
    values = [histogram.at(100 * (1 - 1 / rarity)) for rarity in rarities]
    return {"k": kernel, "x": [rounded(float(r)) for r in rarities], "y": values}


def _spec(curves: list[Row], palette: Palette) -> Spec:
    kernels = [curve["k"] for curve in curves]
    highest = max(curve["y"][-1] for curve in curves)
    labels = " : ".join(f"datum.value == {at} ? '{name} %'" for at, name in RARITY_TICKS.items())
    right = max(curve["x"][-1] for curve in curves)
    rarities = alt.Axis(
        values=[at for at in RARITY_TICKS if at <= right],
        labelExpr=f"{labels} : ''",
        labelOverlap=False,
        grid=False,
    )
    microseconds = alt.Axis(
        values=[at for at in MICROSECOND_TICKS if at <= highest], labelExpr=MICROSECONDS
    )
    lines = alt.Chart().mark_line(interpolate="monotone", clip=True)
    chart = (
        alt.layer(
            lines.encode(strokeDash=dashes(kernels, palette)),
            hover(tip("k", "kernel"), tip("p", "percentile"), tip("y", "µs", number=",")),
            data=rows(curves),
        )
        .transform_flatten(["x", "y"])
        .transform_calculate(p="format(100 - 100 / datum.x, '.6~r')")
        .encode(
            x=alt.X(
                "x:Q",
                title="percentile",
                scale=alt.Scale(type="log", domain=[1, right], nice=False),
                axis=rarities,
            ),
            y=alt.Y(
                "y:Q",
                title=None,
                scale=alt.Scale(type="symlog", constant=10, domain=[0, highest * 1.1]),
                axis=microseconds,
            ),
            color=by_kernel(kernels, palette),
        )
    )
    return spec_of(chart, 230)
