# SPDX-License-Identifier: GPL-2.0-only
"""What models of policies do, as a table for people: misses as a part of LRU's."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from statistics import geometric_mean

from rich import box
from rich.table import Table

from mglru.results.tables import text_console
from mglru.study.bound.models import CLASSIC, LRU, Misses
from mglru.study.suite.harm import ALLOWED

WIDTH = 120
LEGEND = (
    f"Misses as a part of plain LRU's. Worst, and ! (above {ALLOWED}): to the better of {LRU} and "
    f"{CLASSIC}.\n"
)

Row = dict[str, float]


def rows(found: Sequence[Misses]) -> dict[str, Row]:
    """Return for each pattern, with its cache, what each policy misses as a part of LRU's."""
    table: dict[str, Row] = {}
    for (pattern, capacity), each in groupby(found, lambda one: (one.pattern, one.capacity_pages)):
        misses = {one.policy: one.misses for one in each}
        base = max(misses[LRU], 1)
        table[f"{pattern}, {capacity:,}"] = {
            policy: max(number, 1) / base for policy, number in misses.items()
        }
    return table


def to_best(row: Row, policy: str) -> float:
    """Return a policy's misses to those of the better of LRU and the classic LRU."""
    return row[policy] / min(row[LRU], row[CLASSIC])


def render(found: Sequence[Misses]) -> str:
    """Return the table; its last rows are the mean, the worst, and how many are harm."""
    table = rows(found)
    policies = [policy for policy in next(iter(table.values()), {}) if policy != LRU]
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    grid.add_column("pattern, pages of cache")
    for policy in policies:
        grid.add_column(policy, justify="right")
    for name, row in table.items():
        grid.add_row(name, *(_cell(row, policy) for policy in policies))
    grid.add_section()
    every = table.values()
    for name, figures in {
        "geometric mean": [f"{geometric_mean(row[p] for row in every):.3f} " for p in policies],
        "worst": [f"{max(to_best(row, p) for row in every):.3f} " for p in policies],
        "how many !": [f"{sum(to_best(row, p) > ALLOWED for row in every)} " for p in policies],
    }.items():
        grid.add_row(name, *figures)
    console, buffer = text_console(WIDTH)
    console.print(grid)
    return f"{buffer.getvalue()}{LEGEND}"


def _cell(row: Row, policy: str) -> str:
    return f"{row[policy]:.3f}{'!' if to_best(row, policy) > ALLOWED else ' '}"
