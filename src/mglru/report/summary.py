# SPDX-License-Identifier: GPL-2.0-only
"""All experiments at one glance: how often a kernel is better, and by how much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from mglru.results.compare import Cell, Comparison, Row
from mglru.results.marks import Mark
from mglru.results.tables import REFAULTS


@dataclass(frozen=True)
class Score:
    """In how many headline metrics a kernel is better than the baseline, the same, or worse."""

    kernel: str
    better: int
    same: int
    worse: int

    @property
    def total(self) -> int:
        """Of how many metrics it could be told."""
        return self.better + self.same + self.worse


@dataclass(frozen=True)
class SummaryLine:
    """One metric of one experiment: its cells by kernel, and the baseline's median."""

    experiment: str
    row: Row
    cells: dict[str, Cell | None]
    baseline: float


@dataclass(frozen=True)
class Summary:
    """What the top of a report shows.

    Attributes:
        baseline: the kernel that ratios refer to; None if experiments differ in it.
        kernels: the kernels that most experiments have, the baseline left out.
        scores: one a kernel.
        lines: the first metric of every experiment.
        refaults: the refaults of every experiment whose first metric is another one.
    """

    baseline: str | None
    kernels: tuple[str, ...]
    scores: tuple[Score, ...]
    lines: tuple[SummaryLine, ...]
    refaults: tuple[SummaryLine, ...]


def summarise(comparisons: Sequence[Comparison]) -> Summary:
    """Return the summary of all experiments of a report."""
    bases = {comparison.columns[comparison.baseline].kernel for comparison in comparisons}
    kernels = _common(comparisons)
    return Summary(
        baseline=bases.pop() if len(bases) == 1 else None,
        kernels=kernels,
        scores=tuple(_score(kernel, comparisons) for kernel in kernels),
        lines=tuple(_line(c, c.rows[0]) for c in comparisons if c.rows),
        refaults=tuple(
            _line(c, row)
            for c in comparisons
            if (row := next((r for r in c.rows[1:] if r.metric in REFAULTS), None))
            and c.rows[0].metric not in REFAULTS
        ),
    )


def _common(comparisons: Sequence[Comparison]) -> tuple[str, ...]:
    counts: Counter[str] = Counter()
    for comparison in comparisons:
        counts.update(
            {c.kernel for at, c in enumerate(comparison.columns) if at != comparison.baseline}
        )
    order = dict.fromkeys(column.kernel for c in comparisons for column in c.columns)
    return tuple(kernel for kernel in order if counts[kernel] * 2 > len(comparisons))


def _cells(comparison: Comparison, row: Row) -> dict[str, Cell | None]:
    """Return a row by kernel; where two columns have one kernel, the first counts."""
    found: dict[str, Cell | None] = {}
    for column, cell in zip(comparison.columns, row.cells, strict=True):
        found.setdefault(column.kernel, cell)
    return found


def _line(comparison: Comparison, row: Row) -> SummaryLine:
    base = row.cells[comparison.baseline]
    return SummaryLine(
        comparison.experiment, row, _cells(comparison, row), base.median if base else 0.0
    )


def _score(kernel: str, comparisons: Sequence[Comparison]) -> Score:
    marks = Counter(
        cell.mark
        for comparison in comparisons
        for row in comparison.rows
        if (cell := _cells(comparison, row).get(kernel))
    )
    return Score(kernel, marks[Mark.BETTER], marks[Mark.SAME], marks[Mark.WORSE])
