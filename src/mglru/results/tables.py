# SPDX-License-Identifier: GPL-2.0-only
"""Comparisons as text: a table for people, Markdown, CSV, JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mglru.core.figures import number
from mglru.results.compare import Cell, Comparison, Row
from mglru.results.marks import MIN_PAIRS, RULE, Mark
from mglru.series.state import FOOTNOTE

FORMATS = ("table", "markdown", "csv", "json")
# Where no terminal says how wide it is.
DEFAULT_WIDTH = 120
UNLIMITED = 10_000
SYMBOLS = {Mark.BETTER: "+", Mark.WORSE: "-", Mark.SAME: "=", Mark.NONE: ""}
STYLES = {Mark.BETTER: "green", Mark.WORSE: "red", Mark.SAME: "dim", Mark.NONE: ""}
ARROWS = {"higher": "↑", "lower": "↓"}
LEGEND = f"↑ higher is better, ↓ lower is better; {RULE}"
VIRTUAL = "virtual time: simulated, independent of the host (docs/lab/methodology.md)"
REAL = "real time"
# What the cache lost, whatever an experiment calls its headline.
REFAULTS = ("workingset_refault_file", "workingset_refault_anon")


def render(
    comparisons: Sequence[Comparison], form: str, *, width: int | None = None, colour: bool = False
) -> str:
    """Return comparisons as text.

    Args:
        comparisons: what `compare` gave.
        form: one of FORMATS.
        width: of the terminal, in characters (tables only).
        colour: whether better and worse are coloured (tables only).
    """
    if form == "table":
        return "\n".join(table(c, width=width, colour=colour) for c in comparisons)
    writers: dict[str, Callable[[Sequence[Comparison]], str]] = {
        "markdown": lambda all_: "\n".join(markdown(comparison) for comparison in all_),
        "csv": to_csv,
        "json": to_json,
    }
    return writers[form](comparisons)


def times(ratio: float | None) -> str:
    """Return a ratio for people, as `1.85x`; nothing if there is none."""
    if ratio is None:
        return ""
    if ratio >= 100:
        return f"{ratio:,.0f}x"
    if 0 < ratio < 0.001:
        return "<0.001x"
    return f"{ratio:.2f}x" if ratio >= 0.1 or ratio == 0 else f"{ratio:.2g}x"


def title(comparison: Comparison) -> str:
    """Return what a table is about: experiment, boots, machine, seed, baseline."""
    counts = sorted({column.boots for column in comparison.columns})
    boots = "1 boot" if counts == [1] else f"{' or '.join(map(str, counts))} boots"
    time = "virtual time" if comparison.virtual_time else REAL
    base = comparison.columns[comparison.baseline].label
    return (
        f"{comparison.experiment}: {boots} of each kernel on {comparison.machine} ({time}), "
        f"seed {comparison.seed}; ratios to {base}"
    )


def footer(comparison: Comparison) -> list[str]:
    """Return the lines below a table: legend, kind of time, notes."""
    lines = [LEGEND] if len(comparison.columns) > 1 else []
    if any(column.other_state for column in comparison.columns):
        lines.append(FOOTNOTE)
    if comparison.virtual_time:
        lines.append(VIRTUAL)
    if any(_is_narrow(cell) for row in comparison.rows for cell in row.cells):
        lines.append(f"a..b: interval of the ratio; under {MIN_PAIRS} boots below 95 %")
    elif any(cell and _interval(cell) for row in comparison.rows for cell in row.cells):
        lines.append("a..b: 95 % interval of the ratio")
    if any(row.published for row in comparison.rows):
        lines.append("published: after / before of the published figures")
    return lines + [f"note: {note}" for note in comparison.notes]


def _is_narrow(cell: Cell | None) -> bool:
    return bool(cell and _interval(cell) and len(cell.values) < MIN_PAIRS)


def _has_published(comparison: Comparison) -> bool:
    return any(row.published for row in comparison.rows)


def _named(row: Row) -> str:
    return f"{row.label} {ARROWS[row.better]}" if row.better else row.label


def _interval(cell: Cell) -> str:
    if cell.interval is None or cell.interval.exact:
        return ""
    low, high = times(cell.interval.low), times(cell.interval.high)
    return f"{low}..{high}".replace("x", "")


def _published(comparison: Comparison, row: Row) -> list[str]:
    """Return the last column's cell, if the comparison has that column."""
    if not _has_published(comparison):
        return []
    return [times(row.published.ratio) if row.published else ""]


def text_console(width: int | None = None, *, colour: bool = False) -> tuple[Console, io.StringIO]:
    """Return a console that writes text, and where it does so.

    Args:
        width: in characters; DEFAULT_WIDTH if None.
        colour: whether the text has the terminal's codes of colours.
    """
    buffer = io.StringIO()
    console = Console(
        file=buffer,
        width=width or DEFAULT_WIDTH,
        force_terminal=colour,
        no_color=not colour,
        highlight=False,
        # A name such as loop:2: is no emoji.
        emoji=False,
    )
    return console, buffer


def table(comparison: Comparison, *, width: int | None = None, colour: bool = False) -> str:
    """Return one comparison as a table for people."""
    console, buffer = text_console(width, colour=colour)
    grid = _grid(comparison, stacked=False)
    if (
        console.measure(grid, options=console.options.update(width=UNLIMITED)).maximum
        > console.width
    ):
        grid = _grid(comparison, stacked=True)
    console.print(Text(title(comparison), style="bold"), soft_wrap=True)
    console.print(grid)
    for line in footer(comparison):
        console.print(line, markup=False, soft_wrap=True)
    return buffer.getvalue()


def _grid(comparison: Comparison, *, stacked: bool) -> Table:
    """Return the table; stacked: ratios below the figures, for narrow terminals."""
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    grid.add_column("metric", overflow="fold")
    for position, column in enumerate(comparison.columns):
        label = column.heading.replace("@", "\n@") if stacked else column.heading
        heading = f"{label}\n(baseline)" if position == comparison.baseline else label
        grid.add_column(heading, justify="right", overflow="fold")
    if _has_published(comparison):
        grid.add_column("published", justify="right")
    for row in comparison.rows:
        cells = [
            cell_text(cell, baseline=position == comparison.baseline, stacked=stacked)
            for position, cell in enumerate(row.cells)
        ]
        grid.add_row(_named(row), *cells, *_published(comparison, row))
    return grid


def cell_text(cell: Cell | None, *, baseline: bool, stacked: bool) -> Text:
    """Return one figure for a terminal: median, ratio and interval; stacked: below one another."""
    if cell is None:
        return Text("none", style="dim")
    text = Text(number(cell.median))
    if baseline:
        return text
    if says := _says(cell):
        text.append("\n" if stacked else "  ").append(says, style=STYLES[cell.mark])
    if interval := _interval(cell):
        text.append(f"\n{interval}", style="dim")
    return text


def with_interval(cell: Cell) -> str:
    """Return ratio, mark and interval, as `1.85x +, 1.80..1.90`."""
    return ", ".join(part for part in (_says(cell), _interval(cell)) if part)


def _says(cell: Cell) -> str:
    """Return ratio and mark, as `1.85x +`."""
    return " ".join(part for part in (times(cell.ratio), SYMBOLS[cell.mark]) if part)


def markdown(comparison: Comparison) -> str:
    """Return one comparison as a Markdown table."""
    head = ["metric", *(_heading(comparison, at) for at in range(len(comparison.columns)))]
    if _has_published(comparison):
        head.append("published")
    lines = [f"**{_escape(title(comparison))}**", "", markdown_row(head)]
    lines.append(markdown_row(["---", *("---:" for _ in head[1:])]))
    for row in comparison.rows:
        cells = [
            cell_markdown(cell, baseline=at == comparison.baseline)
            for at, cell in enumerate(row.cells)
        ]
        lines.append(markdown_row([_named(row), *cells, *_published(comparison, row)]))
    lines += ["", *(f"{_escape(line)}  " for line in footer(comparison))]
    return "\n".join(lines) + "\n"


def _heading(comparison: Comparison, position: int) -> str:
    label = comparison.columns[position].heading
    return f"{label} (baseline)" if position == comparison.baseline else label


def _escape(text: str) -> str:
    return text.replace("|", "\\|")


def markdown_row(cells: Sequence[str]) -> str:
    """Return one row of a Markdown table."""
    return f"| {' | '.join(_escape(cell) for cell in cells)} |"


def cell_markdown(cell: Cell | None, *, baseline: bool) -> str:
    """Return one figure for Markdown: median, ratio and interval."""
    if cell is None:
        return ""
    if baseline:
        return number(cell.median)
    says = f"**{_says(cell)}**" if cell.mark in {Mark.BETTER, Mark.WORSE} else _says(cell)
    inside = ", ".join(part for part in (says, _interval(cell)) if part)
    return f"{number(cell.median)} ({inside})" if inside else number(cell.median)


def to_csv(comparisons: Sequence[Comparison]) -> str:
    """Return comparisons as CSV, one line a metric and kernel; values of boots joined by `;`."""
    lines = [
        _csv_line(comparison, row, at, cell)
        for comparison in comparisons
        for row in comparison.rows
        for at, cell in enumerate(row.cells)
        if cell is not None
    ]
    if not lines:
        return ""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, fieldnames=list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return buffer.getvalue()


def _csv_line(comparison: Comparison, row: Row, at: int, cell: Cell) -> dict[str, object]:
    column = comparison.columns[at]
    return {
        "experiment": comparison.experiment,
        "machine": comparison.machine,
        "virtual_time": str(comparison.virtual_time).lower(),
        "seed": comparison.seed,
        "metric": row.metric,
        "better": row.better or "",
        "kernel": column.label,
        "release": column.release,
        "other_series_state": str(column.other_state).lower(),
        "baseline": comparison.columns[comparison.baseline].label,
        "boots": len(cell.values),
        "median": cell.median,
        "ratio": "" if cell.ratio is None else cell.ratio,
        "ratio_low": "" if cell.interval is None else cell.interval.low,
        "ratio_high": "" if cell.interval is None else cell.interval.high,
        "mark": str(cell.mark),
        "published_before": row.published.before if row.published else "",
        "published_after": row.published.after if row.published else "",
        "values": ";".join(repr(value) for value in cell.values),
    }


def to_json(comparisons: Sequence[Comparison]) -> str:
    """Return comparisons as a JSON array, with all that the table shows and every value."""
    return json.dumps([_document(comparison) for comparison in comparisons], indent=1) + "\n"


def _document(comparison: Comparison) -> dict[str, object]:
    labels = [column.label for column in comparison.columns]
    return {
        "experiment": comparison.experiment,
        "machine": comparison.machine,
        "virtual_time": comparison.virtual_time,
        "seed": comparison.seed,
        "baseline": labels[comparison.baseline],
        "kernels": [asdict(column) for column in comparison.columns],
        "metrics": [_row_document(row, labels) for row in comparison.rows],
        "notes": list(comparison.notes),
    }


def _row_document(row: Row, labels: Sequence[str]) -> dict[str, object]:
    return {
        "metric": row.metric,
        "label": row.label,
        "better": row.better,
        "published": row.published.model_dump() if row.published else None,
        "kernels": {
            label: asdict(cell)
            for label, cell in zip(labels, row.cells, strict=True)
            if cell is not None
        },
    }
