# SPDX-License-Identifier: GPL-2.0-only
"""Sweeps: a curve of each kernel over the memory limit, or whatever was varied."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import altair as alt

from mglru.core import stats
from mglru.report.charts.palette import Palette
from mglru.report.charts.thin import rounded
from mglru.report.charts.vega import (
    Chart,
    Row,
    Spec,
    by_kernel,
    dashes,
    rows,
    shapes,
    slug,
    spec_of,
    tip,
)
from mglru.results.model import Headline
from mglru.results.tables import ARROWS
from mglru.study.sweep.file import Sweep, SweepPoint
from mglru.study.sweep.plot import x_key
from mglru.study.sweep.points import Value, size_bytes

REFAULTS = "workingset_refault_file"


def sweep_charts(sweep: Sweep, palette: Palette, key: str) -> list[Chart]:
    """Draw each metric over the axis, one panel for each combination of the other values."""
    axis = x_key(sweep)
    others = [name for name in sweep.vary if name != axis]
    panels = list(product(*(sweep.vary[name] for name in others)))
    charts = []
    for headline in _metrics(sweep):
        for panel in panels:
            fixed = dict(zip(others, panel, strict=True))
            chart = _chart(sweep, headline, axis, fixed, palette, key)
            charts += [chart] if chart else []
    return charts


def _metrics(sweep: Sweep) -> list[Headline]:
    """Return what to draw: the metric that the experiment is about, and file refaults."""
    headline = sweep.points[0].run.headline if sweep.points else []
    about = headline[:1]
    refaults = [h for h in headline if h.name == REFAULTS] or [
        Headline(name=REFAULTS, better="lower")
    ]
    return about + [h for h in refaults if h not in about]


def _chart(
    sweep: Sweep,
    headline: Headline,
    axis: str,
    fixed: dict[str, Value],
    palette: Palette,
    key: str,
) -> Chart | None:
    points = [p for p in sweep.points if all(p.settings.get(k) == v for k, v in fixed.items())]
    values = [value for point in points for value in _values(point, headline, axis, sweep.kernels)]
    if not values:
        return None
    where = ", ".join(f"{name} {value}" for name, value in fixed.items())
    name = headline.label or headline.name
    title = f"{name} {ARROWS[headline.better]}" + (f", {where}" if where else "")
    return Chart(
        f"{key}-sweep-{slug(headline.name)}-{slug(where)}".rstrip("-"),
        title,
        f"Curves of each kernel: {title}, over {axis}.",
        _spec(values, sweep, axis, palette),
    )


def _values(point: SweepPoint, headline: Headline, axis: str, kernels: Sequence[str]) -> list[Row]:
    at = point.settings.get(axis)
    found = []
    for kernel in kernels:
        values = list(point.run.values(headline.name, kernel).values())
        if at is not None and values:
            row: Row = {"k": kernel, "l": str(at), "y": rounded(stats.median(values))}
            found.append(row | {"x": _position(at)})
    return found


def _position(value: Value) -> float | str:
    """Return where a value lies on the axis: a number, a size in bytes, or the word itself."""
    size = size_bytes(value)
    if size is not None:
        return float(size)
    return value if isinstance(value, str) else float(value)


def _spec(values: list[Row], sweep: Sweep, axis: str, palette: Palette) -> Spec:
    kernels = [kernel for kernel in sweep.kernels if any(v["k"] == kernel for v in values)]
    lines = alt.Chart().mark_line().encode(strokeDash=dashes(kernels, palette))
    points = (
        alt.Chart()
        .mark_point(filled=True, size=42, opacity=1)
        .encode(
            shape=shapes(kernels, palette),
            tooltip=[tip("k", "kernel"), tip("l", axis), tip("y", "", number=",")],
        )
    )
    chart = alt.layer(lines, points, data=rows(values)).encode(
        x=_x(values, axis),
        y=alt.Y("y:Q", title=None, axis=alt.Axis(format="~s", tickCount=5)),
        color=by_kernel(kernels, palette),
    )
    return spec_of(chart, 230)


def _x(values: list[Row], axis: str) -> alt.X:
    """Return the axis: logarithmic for numbers, as limits are varied by factors; else words."""
    labels = {value["x"]: value["l"] for value in values}
    if not all(isinstance(at, float) for at in labels):
        return alt.X("x:O", title=axis, sort=list(labels))
    names = " : ".join(f"datum.value == {at!r} ? '{name}'" for at, name in labels.items())
    logarithmic = min(labels) > 0
    return alt.X(
        "x:Q",
        title=axis,
        axis=alt.Axis(values=sorted(labels), labelExpr=f"{names} : ''", grid=False),
        scale=alt.Scale(type="log", nice=False) if logarithmic else alt.Scale(zero=False),
    )
