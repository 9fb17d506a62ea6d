# SPDX-License-Identifier: GPL-2.0-only
"""A sweep as tables: one for each metric, points as rows, kernels as columns."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mglru.results import tables
from mglru.results.compare import Cell, Comparison, Named, Row, compare
from mglru.results.model import Headline, RunResult
from mglru.study.sweep.file import Sweep
from mglru.study.sweep.points import Settings, describe

FORMATS = ("table", "markdown")
PROBLEM = " !"
PROBLEM_LEGEND = "!: a boot there went wrong, see the notes"


@dataclass(frozen=True)
class SweepLine:
    """One point in one table.

    Attributes:
        settings: the point.
        cells: one a kernel; None where it has no such figure.
        troubled: whether a boot of that kernel went wrong, one a kernel.
    """

    settings: Settings
    cells: tuple[Cell | None, ...]
    troubled: tuple[bool, ...]


@dataclass(frozen=True)
class MetricTable:
    """One metric over all points.

    Attributes:
        metric: its name.
        heading: what a table calls it, with the direction that is better.
        lines: one a point.
    """

    metric: str
    heading: str
    lines: tuple[SweepLine, ...]


def headlines(sweep: Sweep) -> list[Headline]:
    """Return the refaults where there are any, and what boots have of the headline metrics."""
    given = sweep.points[0].run.headline
    boots = [record for point in sweep.points for record in point.run.raw]
    # What a curve over memory is about.
    refaults = [
        next((each for each in given if each.name == name), Headline(name=name, better="lower"))
        for name in tables.REFAULTS
        if any(record.metrics.get(name) for record in boots)
    ]
    wanted = [*refaults, *(each for each in given if each not in refaults)]
    return [each for each in wanted if any(each.name in record.metrics for record in boots)]


def metric_tables(sweep: Sweep, baseline: str) -> list[MetricTable]:
    """Return the tables of a sweep that has points."""
    shown = headlines(sweep)
    compared = [_compared(point.run, shown, baseline) for point in sweep.points]
    return [
        MetricTable(
            metric=headline.name,
            heading=f"{headline.label or headline.name} {tables.ARROWS[headline.better]}",
            lines=tuple(
                SweepLine(point.settings, _cells(each, headline.name), _troubled(point.run))
                for point, each in zip(sweep.points, compared, strict=True)
            ),
        )
        for headline in shown
    ]


def _compared(run: RunResult, shown: Sequence[Headline], baseline: str) -> Comparison:
    widened = run.model_copy(update={"headline": list(shown)})
    return compare([Named(run.experiment, widened)], baseline=baseline)[0]


def _cells(comparison: Comparison, metric: str) -> tuple[Cell | None, ...]:
    row = next((row for row in comparison.rows if row.metric == metric), None)
    return row.cells if row else (None,) * len(comparison.columns)


def _troubled(run: RunResult) -> tuple[bool, ...]:
    return tuple(any(r.problems for r in run.boots_of(kernel)) for kernel in run.kernels)


def any_trouble(found: Sequence[MetricTable]) -> bool:
    """Whether any boot of a sweep went wrong."""
    return any(any(line.troubled) for table in found for line in table.lines)


def render(
    sweep: Sweep, form: str, *, baseline: str, width: int | None = None, colour: bool = False
) -> str:
    """Return a sweep's tables as text.

    Args:
        sweep: it has points.
        form: one of FORMATS.
        baseline: the kernel that ratios are to.
        width: of the terminal, in characters.
        colour: whether better and worse are coloured.
    """
    found = metric_tables(sweep, baseline)
    lines = footer(sweep, found, baseline)
    if form == "markdown":
        parts = [_markdown(sweep, table, baseline) for table in found]
        notes = [f"{line}  \n" for line in lines]
        return f"**{title(sweep, baseline)}**\n\n" + "\n".join(parts) + "\n" + "".join(notes)
    buffer = io.StringIO()
    console = Console(
        file=buffer,
        width=width or tables.DEFAULT_WIDTH,
        force_terminal=colour,
        color_system="standard" if colour else None,
        highlight=False,
    )
    console.print(title(sweep, baseline), markup=False, soft_wrap=True)
    for table in found:
        console.print()
        console.print(Text(table.heading, style="bold"), soft_wrap=True)
        console.print(_grid(sweep, table, baseline))
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)
    return buffer.getvalue()


def title(sweep: Sweep, baseline: str) -> str:
    """Return what the tables are about: experiment, points, boots, seed, baseline."""
    run = sweep.points[0].run
    boots = "1 boot" if run.boots == 1 else f"{run.boots} boots"
    time = "virtual time" if run.provenance.machine.virtual_time else tables.REAL
    return (
        f"{sweep.experiment} over {' and '.join(sweep.vary)}: {len(sweep.points)} points, "
        f"{boots} of each kernel on {run.machine} ({time}), seed {run.seed}; ratios to {baseline}"
    )


def footer(sweep: Sweep, found: Sequence[MetricTable], baseline: str) -> list[str]:
    """Return the lines below the tables: legend, kind of time, notes with their points."""
    shown = headlines(sweep)
    compared = [_compared(point.run, shown, baseline) for point in sweep.points]
    legend = [line for each in compared for line in tables.footer(_without_notes(each))]
    if any_trouble(found):
        legend.append(PROBLEM_LEGEND)
    notes = [
        f"note: {describe(point.settings)}: {note}"
        for point, each in zip(sweep.points, compared, strict=True)
        for note in each.notes
    ]
    return [*dict.fromkeys(legend), *notes]


def _without_notes(comparison: Comparison) -> Comparison:
    """Leave out what the tables of a sweep do not show."""
    rows: tuple[Row, ...] = tuple(
        dataclasses.replace(row, published=None) for row in comparison.rows
    )
    return dataclasses.replace(comparison, notes=(), rows=rows)


def _grid(sweep: Sweep, table: MetricTable, baseline: str) -> Table:
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for key in sweep.vary:
        grid.add_column(key, justify="right")
    for kernel in sweep.kernels:
        heading = f"{kernel}\n(baseline)" if kernel == baseline else kernel
        grid.add_column(heading, justify="right", overflow="fold")
    for line in table.lines:
        cells = [
            tables.cell_text(cell, baseline=kernel == baseline, stacked=False).append(
                PROBLEM if troubled else ""
            )
            for kernel, cell, troubled in zip(sweep.kernels, line.cells, line.troubled, strict=True)
        ]
        grid.add_row(*map(str, line.settings.values()), *cells)
    return grid


def _markdown(sweep: Sweep, table: MetricTable, baseline: str) -> str:
    kernels = [f"{name} (baseline)" if name == baseline else name for name in sweep.kernels]
    rows = [tables.markdown_row([*sweep.vary, *kernels])]
    rows.append(tables.markdown_row(["---:"] * (len(sweep.vary) + len(kernels))))
    for line in table.lines:
        cells = [
            tables.cell_markdown(cell, baseline=kernel == baseline) + (PROBLEM if trouble else "")
            for kernel, cell, trouble in zip(sweep.kernels, line.cells, line.troubled, strict=True)
        ]
        rows.append(tables.markdown_row([*map(str, line.settings.values()), *cells]))
    return "\n".join([f"**{table.heading}**\n", *rows]) + "\n"
