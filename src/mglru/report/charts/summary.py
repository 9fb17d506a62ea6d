# SPDX-License-Identifier: GPL-2.0-only
"""One chart of all experiments: how many times as good as the baseline each kernel is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import altair as alt

from mglru.core.figures import factor, number
from mglru.report.charts.palette import Paint, Palette, css
from mglru.report.charts.ratio import heading
from mglru.report.charts.vega import Chart, Drawing, Row, by_kernel, rows, shapes, spec_of, tip
from mglru.report.summary import Summary, SummaryLine
from mglru.results.compare import Cell
from mglru.results.tables import times

# Points beyond are drawn at the edge, as arrows with their factor.
LEAST, MOST = 0.2, 10.0
ROOM_FOR_WORDS = 2.1
TICKS = [0.2, 0.5, 1, 2, 5, 10]
ROW = 25
SCALE = alt.Scale(type="log", domain=[LEAST / ROOM_FOR_WORDS, MOST * ROOM_FOR_WORDS], nice=False)
AXIS = alt.Axis(values=TICKS, labelExpr="datum.value + 'x'", title=None, orient="top")


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
    key: str, title: str, lines: Sequence[SummaryLine], summary: Summary, palette: Palette
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
        spec_of(spec(dots, summary.kernels, palette, base), height_of(dots)),
        note=f"Times as good as {base}: to the right is better. Logarithmic; an arrow points "
        "to what lies beyond.",
    )


def dots_of(line: SummaryLine, kernels: Sequence[str]) -> list[Row]:
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


def _beyond(line: SummaryLine, cell: Cell, times_as_good: float) -> str:
    """Say what a point at the edge stands for."""
    if math.isinf(times_as_good):
        return f"{number(line.baseline)} → 0"
    return f"{times_as_good:.2g}x"


def spec(
    dots: Sequence[Row],
    kernels: Sequence[str],
    palette: Palette,
    base: str,
    paint: Paint = css,
    legend: alt.Legend | None = None,
) -> Drawing:
    """Return the chart of some points.

    Args:
        dots: from `dots_of`.
        kernels: in the order of the points of a row.
        palette: which look each has.
        base: what they are compared with.
        paint: gives a colour by its name.
        legend: of colours and shapes, which the page has outside of its charts.
    """
    experiments = list(dict.fromkeys(dot["e"] for dot in dots))
    labels = alt.Axis(grid=True, gridDash=[1, 3], labelColor=paint("ink"))
    chart = alt.Chart().encode(
        y=alt.Y("e:N", sort=experiments, title=None, axis=labels),
        yOffset=alt.YOffset("k:N", sort=list(kernels), scale=alt.Scale(domain=list(kernels))),
        x=alt.X("f:Q", scale=SCALE, axis=AXIS),
    )
    one = (
        alt.Chart(rows([{}]))
        .mark_rule(stroke=paint("muted"), strokeWidth=1.2)
        .encode(x=alt.XDatum(1, scale=SCALE, axis=AXIS))
    )
    sticks = _sticks(
        chart.encode(color=by_kernel(kernels, palette, paint, legend)),
        shapes(kernels, palette, legend),
        base,
    )
    return alt.layer(one, *sticks, *_words(chart, paint), data=rows(dots))


def height_of(dots: Sequence[Row]) -> int:
    """Return the height of a chart of points."""
    return ROW * len({dot["e"] for dot in dots})


def _sticks(chart: alt.Chart, shape: alt.Shape, base: str) -> list[alt.Chart]:
    """Draw a stick from 1 to each point, the point, and an arrow where it lies beyond."""
    right = alt.when("datum.f > 1").then(alt.value("triangle-right"))
    arrow = right.otherwise(alt.value("triangle-left"))
    tips = [tip("e", "experiment"), tip("m", "metric"), tip("k", "kernel")]
    tips += [tip("t", f"ratio to {base}"), tip("v", "median")]
    points = chart.mark_point(filled=True, size=46, opacity=1).encode(tooltip=tips)
    return [
        chart.mark_rule(strokeWidth=2, opacity=0.5).encode(x2=alt.X2Datum(1)),
        points.transform_filter("!datum.b").encode(shape=shape),
        points.transform_filter("datum.b").encode(shape=arrow),
    ]


def _words(chart: alt.Chart, paint: Paint) -> list[alt.Chart]:
    """Say beside the arrows what they stand for."""
    words = partial(chart.mark_text, baseline="middle", fontSize=10, color=paint("ink"))
    return [
        words(align="left", dx=8).transform_filter("datum.b && datum.f > 1").encode(text="w:N"),
        words(align="right", dx=-8).transform_filter("datum.b && datum.f < 1").encode(text="w:N"),
    ]
