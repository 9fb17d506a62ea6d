# SPDX-License-Identifier: GPL-2.0-only
"""The table of `./mglru confirm`: what was found, what the other seeds give, whether it holds."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from mglru.results.compare import Cell, Comparison
from mglru.results.tables import text_console, with_interval
from mglru.study.confirm.confirm import CheckedFigure, Confirmation

STYLES = {
    Confirmation.HOLDS: "green",
    Confirmation.UNSURE: "yellow",
    Confirmation.CONTRADICTED: "red",
}


def render(
    found: Comparison,
    again: Comparison,
    findings: Sequence[CheckedFigure],
    *,
    width: int | None = None,
    colour: bool = False,
) -> str:
    """Return the table for people."""
    console, buffer = text_console(width, colour=colour)
    base = found.columns[found.baseline].label
    title = (
        f"{found.experiment} on {found.machine}: what {_boots(found)} from seed {found.seed} "
        f"found, and what {_boots(again)} from seed {again.seed} say; ratios to {base}"
    )
    console.print(Text(title, style="bold"), soft_wrap=True)
    if not findings:
        console.print("nothing was found to be better or worse")
        return buffer.getvalue()
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for heading in ("metric", "kernel", "found", "again", "it"):
        grid.add_column(heading, overflow="fold")
    for each in findings:
        says = Text(str(each.outcome), style=STYLES[each.outcome])
        grid.add_row(each.label, each.kernel, _cell(each.found), _cell(each.again), says)
    console.print(grid)
    return buffer.getvalue()


def _boots(comparison: Comparison) -> str:
    return f"{min(column.boots for column in comparison.columns)} boots"


def _cell(cell: Cell | None) -> str:
    return with_interval(cell) if cell else "none"
