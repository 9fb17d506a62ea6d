# SPDX-License-Identifier: GPL-2.0-only
"""One chart of all experiments: how many times as good as the baseline each kernel is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from mglru.core.figures import factor, number
from mglru.report.charts.palette import Palette
from mglru.report.charts.ratio import heading
from mglru.report.charts.vega import Chart, Spec, tip
from mglru.report.summary import Line, Summary
from mglru.results.compare import Cell
from mglru.results.tables import times

# Points beyond are drawn at the edge, as arrows with their factor.
LEAST, MOST = 0.2, 10.0
ROOM_FOR_WORDS = 2.1
TICKS = [0.2, 0.5, 1, 2, 5, 10]
ROW = 25

Paint = Callable[[str], str]


def css(name: str) -> str:
    """Return a colour as the page's style sheet knows it."""
    return f"var(--{name})"


def summary_charts(summary: Summary, palette: Palette) -> list[Chart]:
    """Draw the first metrics of all experiments, and their refaults."""
    parts = [
        ("summary-first", "What each experiment is about first", summary.lines),
        ("summary-refaults", "Refaults, where something else comes first", summary.refaults),
    ]
    return [
        chart
        for key, title, lines in parts
        if (chart := _chart(key, title, lines, summary, palette))
    ]


def _chart(
    key: str, title: str, lines: Sequence[Line], summary: Summary, palette: Palette
) -> Chart | None:
    dots = [dot for line in lines for dot in dots_of(line, summary.kernels)]
    if not dots:
        return None
    base = summary.baseline or "the baseline"
    return Chart(
        key,
        title,
        f"Dots: for each experiment how many times as good as {base} the kernels "
        f"{', '.join(summary.kernels)} are. The table below has the ratios.",
        {"width": "container", **spec(dots, summary.kernels, palette, css, base)},
        note=f"Times as good as {base}: to the right is better. Logarithmic; an arrow points "
        "to what lies beyond.",
    )


def dots_of(line: Line, kernels: Sequence[str]) -> list[Spec]:
    """Return the points of one experiment."""
    found = []
    for kernel in kernels:
        cell = line.cells.get(kernel)
        times_as_good = factor(line.row.better, cell.ratio) if cell else None
        if cell is None or times_as_good is None:
            continue
        beyond = times_as_good > MOST or times_as_good < LEAST
        found.append(
            {
                "e": line.experiment,
                "m": heading(line.row),
                "k": kernel,
                "f": round(min(max(times_as_good, LEAST), MOST), 4),
                "t": times(cell.ratio),
                "v": number(cell.median),
                "b": beyond,
                "w": _beyond(line, cell, times_as_good) if beyond else "",
            }
        )
    return found


def _beyond(line: Line, cell: Cell, times_as_good: float) -> str:
    """Say what a point at the edge stands for."""
    if math.isinf(times_as_good):
        return f"{number(line.baseline)} → 0"
    return f"{times_as_good:.2g}x"


def spec(
    dots: Sequence[Spec], kernels: Sequence[str], palette: Palette, paint: Paint, base: str
) -> Spec:
    """Return the chart of some points, in colours that `paint` gives by name."""
    experiments = list(dict.fromkeys(dot["e"] for dot in dots))
    labels = {"grid": True, "gridDash": [1, 3], "labelColor": paint("ink")}
    return {
        "data": {"values": list(dots)},
        "height": ROW * len(experiments),
        "encoding": {
            "y": {
                "field": "e",
                "type": "nominal",
                "sort": experiments,
                "title": None,
                "axis": labels,
            },
            "yOffset": {"field": "k", "sort": list(kernels), "scale": {"domain": list(kernels)}},
        },
        "layer": [_one(paint), *_sticks(kernels, palette, paint, base), *_words(paint)],
    }


def _x() -> Spec:
    domain = [LEAST / ROOM_FOR_WORDS, MOST * ROOM_FOR_WORDS]
    axis = {"values": TICKS, "labelExpr": "datum.value + 'x'", "title": None, "orient": "top"}
    scale = {"type": "log", "domain": domain, "nice": False}
    return {"field": "f", "type": "quantitative", "scale": scale, "axis": axis}


def _one(paint: Paint) -> Spec:
    """Draw the line where a kernel is as good as the baseline."""
    x = _x()
    return {
        "data": {"values": [{}]},
        "mark": {"type": "rule", "stroke": paint("muted"), "strokeWidth": 1.2},
        "encoding": {
            "x": {"datum": 1, "scale": x["scale"], "axis": x["axis"]},
            "y": None,
            "yOffset": None,
        },
    }


def _sticks(kernels: Sequence[str], palette: Palette, paint: Paint, base: str) -> list[Spec]:
    """Draw a stick from 1 to each point, the point, and an arrow where it lies beyond."""
    domain = list(kernels)
    looks = [palette.look(kernel) for kernel in kernels]
    kind = {"field": "k", "type": "nominal", "legend": None}
    colours = {"domain": domain, "range": [paint(look.colour) for look in looks]}
    colour = {**kind, "scale": colours}
    shape = {**kind, "scale": {"domain": domain, "range": [look.shape for look in looks]}}
    arrow = {
        "condition": {"test": "datum.f > 1", "value": "triangle-right"},
        "value": "triangle-left",
    }
    tips = [tip("e", "experiment"), tip("m", "metric"), tip("k", "kernel")]
    tips += [tip("t", f"ratio to {base}"), tip("v", "median")]
    point = {"type": "point", "filled": True, "size": 46, "opacity": 1}
    common = {"x": _x(), "color": colour}
    return [
        {
            "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.5},
            "encoding": {**common, "x2": {"datum": 1}},
        },
        {
            "transform": [{"filter": "!datum.b"}],
            "mark": point,
            "encoding": {**common, "shape": shape, "tooltip": tips},
        },
        {
            "transform": [{"filter": "datum.b"}],
            "mark": point,
            "encoding": {**common, "shape": arrow, "tooltip": tips},
        },
    ]


def _words(paint: Paint) -> list[Spec]:
    """Say beside the arrows what they stand for."""
    words = {"type": "text", "baseline": "middle", "fontSize": 10, "color": paint("ink")}
    sides = (("datum.f > 1", "left", 8), ("datum.f < 1", "right", -8))
    return [
        {
            "transform": [{"filter": f"datum.b && {test}"}],
            "mark": {**words, "align": align, "dx": dx},
            "encoding": {"x": _x(), "text": {"field": "w", "type": "nominal"}},
        }
        for test, align, dx in sides
    ]
