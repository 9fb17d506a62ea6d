# SPDX-License-Identifier: GPL-2.0-only
"""A sweep as curves: a kernel's figures over the memory limit, a panel for each other value."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import vl_convert

from mglru.core.errors import LabError, UsageError
from mglru.experiment.settings import short_name
from mglru.study.sweep import tables as sweep_tables
from mglru.study.sweep.file import Sweep
from mglru.study.sweep.points import Settings, Value, describe, size_bytes
from mglru.study.sweep.tables import MetricTable

Spec = dict[str, Any]
VEGA_LITE = "6.4"

MEMORY = "limit"
# Okabe and Ito (2008): can be told apart by people who see colours differently, and in print.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
WIDTH, HEIGHT = 300, 190
WIDEST, NARROWEST = 4.0, 1.5
MOST_TICKS = 9
COLUMNS = 2
FEWEST_BOOTS_FOR_RANGE = 2
# The axis is in MiB.
SIZE_LABELS = (
    "datum.value >= 1024 ? format(datum.value / 1024, '.4~g') + 'G' : "
    "datum.value >= 1 ? format(datum.value, '.4~g') + 'M' : "
    "format(datum.value * 1024, '.4~g') + 'K'"
)
# As 150k; but no thousandths, which few people read as such.
FIGURE_LABELS = "format(datum.value, abs(datum.value) < 1 ? '.3~g' : '~s')"


def check_path(path: Path) -> None:
    """Refuse a file that no plot can be written to, before there is anything to plot.

    Raises:
        UsageError: not an .svg, or in no directory.
    """
    if path.suffix != ".svg":
        raise UsageError(f"--plot {path}: plots are SVG", next_step="name a file that ends in .svg")
    if path.is_dir() or not path.parent.is_dir():
        raise UsageError(f"--plot {path}: no such directory", next_step="make it first")


def write_plot(sweep: Sweep, baseline: str, path: Path) -> bool:
    """Write the curves of a sweep as SVG.

    Args:
        sweep: it has points.
        baseline: the kernel that ratios are to (the plot shows figures, not ratios).
        path: of the file.

    Returns:
        whether there was anything to draw.

    Raises:
        LabError: the file cannot be written.
    """
    found = sweep_tables.metric_tables(sweep, baseline)
    if not found:
        return False
    chart = make_chart(sweep, found)
    try:
        path.write_text(vl_convert.vegalite_to_svg(chart, vl_version=VEGA_LITE))
    except OSError as error:
        raise LabError(
            f"the plot cannot be written to {path}: {error.strerror}",
            next_step="name another file with --plot; the same command draws it again",
        ) from error
    return True


def x_key(sweep: Sweep) -> str:
    """Return the key on the horizontal axis: memory, else what has sizes or numbers, else any."""

    def rank(key: str) -> tuple[bool, bool, bool]:
        values = sweep.vary[key]
        sizes = all(size_bytes(value) is not None for value in values)
        return short_name(key) == MEMORY, sizes, _numbers(values) is not None

    return max(sweep.vary, key=rank)


def _numbers(values: Sequence[Value]) -> list[float] | None:
    """Return values for an axis (sizes in MiB); None if some are words."""
    sizes = [size_bytes(value) for value in values]
    if all(size is not None for size in sizes):
        return [size / (1 << 20) for size in sizes if size is not None]
    if any(isinstance(value, str) for value in values):
        return None
    return [float(value) for value in values]


def rows_of(sweep: Sweep, table: MetricTable) -> list[dict[str, Any]]:
    """Return one metric as rows for a plot: x, kernel, panel, median and range over boots."""
    key = x_key(sweep)
    words = sweep.vary[key]
    where: dict[Value, Value] = dict(zip(words, _numbers(words) or words, strict=True))
    return [
        {
            "x": where[line.settings[key]],
            "kernel": kernel,
            "panel": describe(_others(line.settings, key)),
            "median": cell.median,
            "low": min(cell.values),
            "high": max(cell.values),
            "went": "wrong" if troubled else "well",
        }
        for line in table.lines
        for kernel, cell, troubled in zip(sweep.kernels, line.cells, line.troubled, strict=True)
        if cell is not None
    ]


def _others(settings: Settings, key: str) -> Settings:
    return {name: value for name, value in settings.items() if name != key}


def make_chart(sweep: Sweep, found: Sequence[MetricTable]) -> Spec:
    """Return the whole plot for Vega-Lite: a row of panels for each metric, or metrics in rows."""
    run = sweep.points[0].run
    boots = "1 boot" if run.boots == 1 else f"{run.boots} boots (median and range)"
    wrong = "; crosses: a boot went wrong" if sweep_tables.any_trouble(found) else ""
    charts = [_metric_chart(sweep, table, rows_of(sweep, table)) for table in found]
    return {
        "title": {
            "text": f"{sweep.experiment} over {x_key(sweep)}",
            "subtitle": f"{boots} of each kernel at each point, seed {run.seed}{wrong}",
            "anchor": "start",
        },
        "concat": charts,
        "columns": 1 if len(sweep.vary) > 1 else COLUMNS,
        "config": {
            "background": "white",
            "padding": 12,
            "view": {"stroke": "#ccc"},
            "axis": {"gridColor": "#e8e8e8"},
        },
    }


def _metric_chart(sweep: Sweep, table: MetricTable, rows: list[dict[str, Any]]) -> Spec:
    figure = {
        "field": "median",
        "type": "quantitative",
        "title": table.heading,
        "axis": {"labelExpr": FIGURE_LABELS},
    }
    line = {"mark": "line", "encoding": {"y": figure, "strokeWidth": _widths(sweep)}}
    shape = {
        "field": "went",
        "type": "nominal",
        "scale": {"domain": ["well", "wrong"], "range": ["circle", "cross"]},
        "legend": None,
    }
    points = {
        "mark": {"type": "point", "filled": True, "size": 45, "opacity": 1},
        "encoding": {"y": figure, "shape": shape},
    }
    ends = {"y": {"field": "low", "type": "quantitative"}, "y2": {"field": "high"}}
    several = sweep.points[0].run.boots >= FEWEST_BOOTS_FOR_RANGE
    layered: Spec = {
        "width": WIDTH,
        "height": HEIGHT,
        "encoding": {"x": _x_axis(sweep), "color": _colours(sweep)},
        "layer": [line, points, *([{"mark": "rule", "encoding": ends}] if several else [])],
    }
    if len(sweep.vary) == 1:
        return {"data": {"values": rows}, **layered}
    order = list(dict.fromkeys(row["panel"] for row in rows))
    panels = {"field": "panel", "type": "nominal", "sort": order, "title": None}
    return {"data": {"values": rows}, "facet": {"column": panels}, "spec": layered}


def _x_axis(sweep: Sweep) -> Spec:
    key = x_key(sweep)
    values = sweep.vary[key]
    numbers = _numbers(values)
    if numbers is None:
        return {"field": "x", "type": "ordinal", "sort": list(values), "title": key}
    sizes = size_bytes(values[0]) is not None
    return {
        "field": "x",
        "type": "quantitative",
        "title": key,
        "scale": {"type": "log" if min(numbers) > 0 else "linear", "nice": False},
        "axis": {
            "values": numbers[:: 1 + (len(numbers) - 1) // MOST_TICKS],
            "labelExpr": SIZE_LABELS if sizes else "format(datum.value, '.4~g')",
            "labelFlush": False,
        },
    }


def _widths(sweep: Sweep) -> Spec:
    """Draw each kernel's line thinner than the one below it, so that equal ones can be seen."""
    count = len(sweep.kernels)
    widths = [WIDEST - (WIDEST - NARROWEST) * at / max(1, count - 1) for at in range(count)]
    scale = {"domain": sweep.kernels, "range": widths}
    return {"field": "kernel", "type": "nominal", "scale": scale, "legend": None}


def _colours(sweep: Sweep) -> Spec:
    palette = [PALETTE[at % len(PALETTE)] for at in range(len(sweep.kernels))]
    return {
        "field": "kernel",
        "type": "nominal",
        "scale": {"domain": sweep.kernels, "range": palette},
        "legend": {"title": None, "orient": "top"},
    }
