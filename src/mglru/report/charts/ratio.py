# SPDX-License-Identifier: GPL-2.0-only
"""Bars of ratios: every headline metric of every kernel, beside the baseline's 1."""

from __future__ import annotations

from mglru.core.figures import number
from mglru.report.charts.palette import Palette
from mglru.report.charts.vega import Chart, Spec, base, by_kernel, tip
from mglru.results.compare import Comparison, Row
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


def _bars(comparison: Comparison, row: Row) -> list[Spec]:
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


def _bar(row: Row, kernel: str, ratio: float) -> Spec:
    return {"m": heading(row), "k": kernel, "r": _clamp(ratio), "t": times(ratio)}


def heading(row: Row) -> str:
    """Return what a chart calls a metric, with the arrow of its better direction."""
    return f"{row.label} {ARROWS[row.better]}" if row.better else row.label


def _clamp(ratio: float) -> float:
    return round(min(max(ratio, SMALLEST), LARGEST), 4)


def _spec(bars: list[Spec], names: list[str], palette: Palette) -> Spec:
    metrics = list(dict.fromkeys(bar["m"] for bar in bars))
    x = _axis(bars)
    bands = {"paddingInner": 0.22, "paddingOuter": 0.08}
    return {
        **base(bars),
        "height": BAR * len(metrics) * len(names),
        "encoding": {
            "y": {"field": "m", "type": "nominal", "sort": metrics, "title": None, "scale": bands},
            "yOffset": {
                "field": "k",
                "sort": names,
                "scale": {"domain": names, "paddingInner": 0.2},
            },
        },
        "layer": [
            _bars_layer(x, _colour(names, palette)),
            {
                "transform": [{"filter": "isValid(datum.lo)"}],
                "mark": {"type": "rule", "stroke": "var(--ink)", "strokeWidth": 1.2},
                "encoding": {"x": {**x, "field": "lo"}, "x2": {"field": "hi"}},
            },
            _labels("datum.r >= 1", "left", x),
            _labels("datum.r < 1", "right", x),
            {
                "data": {"values": [{}]},
                "mark": {"type": "rule", "stroke": "var(--ink)", "strokeWidth": 1},
                "encoding": {
                    "x": {"datum": 1, "scale": x["scale"]},
                    "y": None,
                    "yOffset": None,
                },
            },
        ],
    }


def _axis(bars: list[Spec]) -> Spec:
    ends = [bar[end] for bar in bars for end in ("r", "lo", "hi") if end in bar]
    least, most = min(0.7, *ends), max(1.4, *ends)
    room = (most / least) ** ROOM_FOR_LABELS
    return {
        "field": "r",
        "type": "quantitative",
        "scale": {"type": "log", "domain": [least / room, most * room], "nice": False},
        "axis": {"values": TICKS, "format": "~g", "title": None},
    }


def _colour(names: list[str], palette: Palette) -> Spec:
    kernels = [name for name in names if name != PUBLISHED]
    colour = by_kernel([*kernels, PUBLISHED], palette)
    colour["scale"]["range"][-1] = "var(--published)"
    return colour


def _bars_layer(x: Spec, colour: Spec) -> Spec:
    """Draw the bars; what is published is an outline: it was not measured here."""
    published = f"datum.k === '{PUBLISHED}'"
    tips = [tip("m", "metric"), tip("k", "kernel"), tip("t", "ratio"), tip("v", "median")]
    return {
        "mark": {"type": "bar", "cornerRadiusEnd": 2},
        "encoding": {
            "x": x,
            "x2": {"datum": 1},
            "color": colour,
            "fillOpacity": {"condition": {"test": published, "value": 0}, "value": 1},
            "strokeWidth": {"condition": {"test": published, "value": 1.2}, "value": 0},
            "stroke": {"value": "var(--published)"},
            "tooltip": tips,
        },
    }


def _labels(test: str, align: str, x: Spec) -> Spec:
    """Write the ratio beside its bar, or beside the interval where that reaches further."""
    dx, end, further = (6, "hi", "max") if align == "left" else (-6, "lo", "min")
    place = f"isValid(datum.{end}) ? {further}(datum.r, datum.{end}) : datum.r"
    text = {"type": "text", "align": align, "dx": dx, "baseline": "middle", "fontSize": 10.5}
    return {
        "transform": [{"filter": test}, {"calculate": place, "as": "end"}],
        "mark": text,
        "encoding": {"x": {**x, "field": "end"}, "text": {"field": "t", "type": "nominal"}},
    }
