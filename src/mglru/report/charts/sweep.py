# SPDX-License-Identifier: GPL-2.0-only
"""Sweeps: a curve of each kernel over the memory limit, or whatever was varied."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import altair as alt

from mglru.core import stats
from mglru.report.charts.palette import LIGHT, Paint, Palette, css
from mglru.report.charts.thin import rounded
from mglru.report.charts.vega import (
    FONT,
    Chart,
    Drawing,
    Row,
    by_kernel,
    dashes,
    rows,
    shapes,
    slug,
    spec_of,
    tip,
    to_svg,
)
from mglru.results.model import Headline
from mglru.results.tables import ARROWS
from mglru.study.sweep.file import Sweep, SweepPoint
from mglru.study.sweep.points import Settings, Value, axis_of, describe
from mglru.study.sweep.tables import headlines

REFAULTS = "workingset_refault_file"
MOST_TICKS = 9
# Of a plot that stands alone.
WIDTH, HEIGHT, COLUMNS = 300, 190, 2
HOLLOW = "hollow: a boot went wrong"
# As 150k; but no thousandths, which few people read as such.
FIGURES = "format(datum.value, abs(datum.value) < 1 ? '.3~g' : '~s')"


def sweep_charts(sweep: Sweep, palette: Palette, key: str) -> list[Chart]:
    """Draw each metric over the axis, one chart for each combination of the other values."""
    axis = axis_of(sweep.vary)
    charts = [
        _chart(sweep, headline, fixed, palette, f"{key}-sweep-{slug(headline.name)}")
        for headline in _metrics(sweep)
        for fixed in _panels(sweep, axis)
    ]
    return [chart for chart in charts if chart]


def sweep_plot(sweep: Sweep) -> str | None:
    """Return the curves of all metrics as one SVG picture; None if there is nothing to draw.

    There is a panel for each metric or, if more than one key varies, a row of panels.
    """
    palette = Palette(sweep.kernels)
    metrics = headlines(sweep)
    if not metrics:
        return None
    drawn = {headline: _rows(sweep, headline, {}) for headline in metrics}
    run = sweep.points[0].run
    boots = "1 boot" if run.boots == 1 else f"{run.boots} boots (median and range)"
    wrong = f"; {HOLLOW}" if any(row["w"] for found in drawn.values() for row in found) else ""
    title = alt.TitleParams(
        f"{sweep.experiment} over {axis_of(sweep.vary)}",
        subtitle=f"{boots} of each kernel at each point, seed {run.seed}{wrong}",
        anchor="start",
    )
    config = alt.Config(
        font=FONT,
        background="white",
        view=alt.ViewConfig(stroke=LIGHT["rule"]),
        axis=alt.AxisConfig(gridColor=LIGHT["rule"]),
    )
    panels = [_panel(sweep, headline, found, palette) for headline, found in drawn.items()]
    whole = alt.concat(*panels, columns=1 if len(sweep.vary) > 1 else COLUMNS)
    whole = whole.properties(title=title, config=config, padding=12)
    return to_svg(whole.to_dict(context={"top_level": False}))


def _panels(sweep: Sweep, axis: str) -> list[Settings]:
    """Return each combination of the values that are not on the axis."""
    others = [name for name in sweep.vary if name != axis]
    values = product(*(sweep.vary[name] for name in others))
    return [dict(zip(others, each, strict=True)) for each in values]


def _metrics(sweep: Sweep) -> list[Headline]:
    """Return what the page draws: the metric that the experiment is about, and file refaults."""
    headline = sweep.points[0].run.headline if sweep.points else []
    about = headline[:1]
    refaults = [h for h in headline if h.name == REFAULTS] or [
        Headline(name=REFAULTS, better="lower")
    ]
    return about + [h for h in refaults if h not in about]


def _heading(headline: Headline) -> str:
    return f"{headline.label or headline.name} {ARROWS[headline.better]}"


def _chart(
    sweep: Sweep, headline: Headline, fixed: Settings, palette: Palette, key: str
) -> Chart | None:
    found = _rows(sweep, headline, fixed)
    if not found:
        return None
    where = ", ".join(f"{name} {value}" for name, value in fixed.items())
    title = _heading(headline) + (f", {where}" if where else "")
    curves = _curves(found, sweep, palette)
    axis = axis_of(sweep.vary)
    return Chart(
        f"{key}-{slug(where)}".rstrip("-"),
        title,
        f"Curves of each kernel: {title}, over {axis}.",
        spec_of(curves.properties(data=rows(found)), 230),
        note=f"{HOLLOW.capitalize()}." if any(row["w"] for row in found) else "",
    )


def _panel(sweep: Sweep, headline: Headline, found: list[Row], palette: Palette) -> Drawing:
    """Return one metric of a plot: a panel for each combination of the other values."""
    legend = alt.Legend(title=None, orient="top", symbolOpacity=1)
    curves = _curves(found, sweep, palette, _heading(headline), LIGHT.__getitem__, legend)
    curves = curves.properties(width=WIDTH, height=HEIGHT)
    if len(sweep.vary) == 1:
        return curves.properties(data=rows(found))
    order = list(dict.fromkeys(row["p"] for row in found))
    return curves.facet(column=alt.Column("p:N", sort=order, title=None), data=rows(found))


def _rows(sweep: Sweep, headline: Headline, fixed: Mapping[str, Value]) -> list[Row]:
    """Return a metric at those points that have some settings: a row a kernel."""
    axis = axis_of(sweep.vary)
    points = [p for p in sweep.points if all(p.settings.get(k) == v for k, v in fixed.items())]
    return [
        row
        for point in points
        if axis in point.settings
        for kernel in sweep.kernels
        if (row := _row(point, headline.name, axis, kernel))
    ]


def _row(point: SweepPoint, metric: str, axis: str, kernel: str) -> Row | None:
    values = list(point.run.values(metric, kernel).values())
    if not values:
        return None
    others = {name: value for name, value in point.settings.items() if name != axis}
    at = point.settings[axis]
    return {
        "k": kernel,
        "l": str(at),
        # A size in bytes, or the word itself.
        "x": at if isinstance(at, str) else float(at),
        "y": rounded(stats.median(values)),
        "lo": rounded(min(values)),
        "hi": rounded(max(values)),
        "w": any(record.problems for record in point.run.boots_of(kernel)),
        "p": describe(others),
    }


def _curves(
    found: list[Row],
    sweep: Sweep,
    palette: Palette,
    title: str | None = None,
    paint: Paint = css,
    legend: alt.Legend | None = None,
) -> Drawing:
    """Return the curves of a metric, without their data: medians, and ranges over the boots."""
    kernels = [kernel for kernel in sweep.kernels if any(row["k"] == kernel for row in found)]
    axis = axis_of(sweep.vary)
    lines = alt.Chart().mark_line().encode(strokeDash=dashes(kernels, palette, legend))
    ranges = alt.Chart().mark_rule().encode(y=alt.Y("lo:Q"), y2="hi")
    filled = alt.when("datum.w").then(alt.value(0)).otherwise(alt.value(1))
    tips = [tip("k", "kernel"), tip("l", axis), tip("y", "", number=",")]
    points = (
        alt.Chart()
        .mark_point(filled=True, size=42, opacity=1)
        .encode(shape=shapes(kernels, palette, legend), fillOpacity=filled, tooltip=tips)
    )
    several = any(row["lo"] < row["hi"] for row in found)
    return alt.layer(lines, *([ranges] if several else []), points).encode(
        x=_x(found, axis),
        y=alt.Y("y:Q", title=title, axis=alt.Axis(labelExpr=FIGURES, tickCount=5)),
        color=by_kernel(kernels, palette, paint, legend),
    )


def _x(found: list[Row], axis: str) -> alt.X:
    """Return the axis: logarithmic for numbers, as limits are varied by factors; else words."""
    labels = {row["x"]: row["l"] for row in found}
    if not all(isinstance(at, float) for at in labels):
        return alt.X("x:O", title=axis, sort=list(labels))
    names = " : ".join(f"datum.value == {at!r} ? '{name}'" for at, name in labels.items())
    places = sorted(labels)
    ticks = alt.Axis(
        values=places[:: 1 + (len(places) - 1) // MOST_TICKS],
        labelExpr=f"{names} : ''",
        labelFlush=False,
        grid=False,
    )
    logarithmic = places[0] > 0
    scale = alt.Scale(type="log", nice=False) if logarithmic else alt.Scale(zero=False)
    return alt.X("x:Q", title=axis, axis=ticks, scale=scale)
