# SPDX-License-Identifier: GPL-2.0-only
"""Bars of ratios: every headline metric of every kernel, beside the baseline's 1."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import altair as alt

from mglru.core.figures import number
from mglru.report.charts.palette import Palette
from mglru.report.charts.vega import Chart, Row, Spec, rows, spec_of, tip
from mglru.results import compare
from mglru.results.compare import Comparison
from mglru.results.tables import ARROWS, times

PUBLISHED = "published"
BAR = 17  # pixels
# Bars end here: what lies beyond is told by the label.
SMALLEST, LARGEST = 1 / 16, 16.0
# Of the axis, on either side, for the figures beside the bars.
ROOM_FOR_LABELS = 0.36
TICKS = [0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10]


def ratio_chart(comparison: Comparison, palette: Palette, key: str) -> Chart | None:
    """Draw the ratios of a comparison; None if it has none."""
    names = [
        column.label for at, column in enumerate(comparison.columns) if at != comparison.baseline
    ]
    bars = [bar for row in comparison.rows for bar in _bars(comparison, row)]
    if not bars or not names:
        return None
    if any(bar["k"] == PUBLISHED for bar in bars):
        names.append(PUBLISHED)
    baseline = comparison.columns[comparison.baseline].label
    return Chart(
        key,
        f"Ratios to {baseline}",
        f"Bars: each metric of {', '.join(names)} as a ratio to {baseline}. "
        "The table above has the figures.",
        _spec(bars, names, palette),
        note="Logarithmic; a thin line is the interval. ↑ higher is better, ↓ lower is.",
    )


def _bars(comparison: Comparison, row: compare.Row) -> list[Row]:
    found = [
        _bar(row, comparison.columns[at].label, cell.ratio)
        | {"v": number(cell.median)}
        | (
            {"lo": _clamp(cell.interval.low), "hi": _clamp(cell.interval.high)}
            if cell.interval and not cell.interval.exact
            else {}
        )
        for at, cell in enumerate(row.cells)
        if at != comparison.baseline and cell is not None and cell.ratio is not None
    ]
    if found and row.published and row.published.ratio is not None:
        found.append(_bar(row, PUBLISHED, row.published.ratio) | {"v": "elsewhere"})
    return found


def _bar(row: compare.Row, kernel: str, ratio: float) -> Row:
    return {"m": heading(row), "k": kernel, "r": _clamp(ratio), "t": times(ratio)}


def heading(row: compare.Row) -> str:
    """Return what a chart calls a metric, with the arrow of its better direction."""
    return f"{row.label} {ARROWS[row.better]}" if row.better else row.label


def _clamp(ratio: float) -> float:
    return round(min(max(ratio, SMALLEST), LARGEST), 4)


def _spec(bars: list[Row], names: list[str], palette: Palette) -> Spec:
    metrics = list(dict.fromkeys(bar["m"] for bar in bars))
    bands = alt.Scale(paddingInner=0.22, paddingOuter=0.08)
    offsets = alt.Scale(domain=names, paddingInner=0.2)
    chart = alt.Chart().encode(
        y=alt.Y("m:N", sort=metrics, title=None, scale=bands),
        yOffset=alt.YOffset("k:N", sort=names, scale=offsets),
    )
    scale, axis = _scale(bars), alt.Axis(values=TICKS, format="~g", title=None)
    x = partial(alt.X, type="quantitative", scale=scale, axis=axis)
    interval = (
        chart.transform_filter("isValid(datum.lo)")
        .mark_rule(stroke="var(--ink)", strokeWidth=1.2)
        .encode(x=x(field="lo"), x2="hi")
    )
    one = (
        alt.Chart(rows([{}]))
        .mark_rule(stroke="var(--ink)", strokeWidth=1)
        .encode(x=alt.XDatum(1, scale=scale))
    )
    return spec_of(
        alt.layer(
            _bars_layer(chart, x, _colour(names, palette)),
            interval,
            _labels(chart, "datum.r >= 1", "left", x),
            _labels(chart, "datum.r < 1", "right", x),
            one,
            data=rows(bars),
        ),
        BAR * len(metrics) * len(names),
    )


def _scale(bars: list[Row]) -> alt.Scale:
    ends = [bar[end] for bar in bars for end in ("r", "lo", "hi") if end in bar]
    least, most = min(0.7, *ends), max(1.4, *ends)
    room = (most / least) ** ROOM_FOR_LABELS
    return alt.Scale(type="log", domain=[least / room, most * room], nice=False)


def _colour(names: list[str], palette: Palette) -> alt.Color:
    kernels = [name for name in names if name != PUBLISHED]
    looks = [palette.look(kernel).css for kernel in kernels]
    scale = alt.Scale(domain=[*kernels, PUBLISHED], range=[*looks, "var(--published)"])
    return alt.Color("k:N", scale=scale, legend=None)


def _bars_layer(chart: alt.Chart, x: Callable[..., alt.X], colour: alt.Color) -> alt.Chart:
    """Draw the bars; what is published is an outline: it was not measured here."""
    published = alt.when(alt.datum.k == PUBLISHED)
    layer: alt.Chart = chart.mark_bar(cornerRadiusEnd=2).encode(
        x=x(field="r"),
        x2=alt.X2Datum(1),
        color=colour,
        fillOpacity=published.then(alt.value(0)).otherwise(alt.value(1)),
        strokeWidth=published.then(alt.value(1.2)).otherwise(alt.value(0)),
        stroke=alt.value("var(--published)"),
        tooltip=[tip("m", "metric"), tip("k", "kernel"), tip("t", "ratio"), tip("v", "median")],
    )
    return layer


def _labels(
    chart: alt.Chart, test: str, align: Literal["left", "right"], x: Callable[..., alt.X]
) -> alt.Chart:
    """Write the ratio beside its bar, or beside the interval where that reaches further."""
    dx, end, further = (6, "hi", "max") if align == "left" else (-6, "lo", "min")
    place = f"isValid(datum.{end}) ? {further}(datum.r, datum.{end}) : datum.r"
    layer: alt.Chart = (
        chart.transform_filter(test)
        .transform_calculate(end=place)
        .mark_text(align=align, dx=dx, baseline="middle", fontSize=10.5)
        .encode(x=x(field="end"), text="t:N")
    )
    return layer
