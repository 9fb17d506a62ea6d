# SPDX-License-Identifier: GPL-2.0-only
"""Where the series is worse than stock, then where it is better: a line each, for documents."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mglru.core.figures import factor
from mglru.results.baseline import STOCK
from mglru.results.compare import Cell, Named, Row, compare
from mglru.results.marks import MIN_PAIRS
from mglru.results.model import RunResult
from mglru.results.tables import ARROWS, cell_markdown, markdown_row, times
from mglru.series.state import FOOTNOTE, MARK, is_of_another_state
from mglru.study.suite.harm import ALLOWED, FamilyHarm, Worst, harm
from mglru.study.suite.measures import KILLS, MEASURES, READ, WRITTEN

KERNEL = "6.12+next"
# A line for each workload, and no more of either table than one sees at once.
MOST_ROWS = 13
# README has both in one table.
HEADLINE_ROWS = 13
MOST_WORSE = 7
# What README calls metrics that the harm suite's measures stand for.
WORDS = {"pgpgin": READ, "written_kb": WRITTEN, KILLS: "out-of-memory kills"}
# As much as counts where it is worse; better by less is in docs/use/results.md.
BETTER_FROM = ALLOWED
LEGEND = (
    f"{ARROWS['lower']} lower is better, {ARROWS['higher']} higher is better; + better, - worse, "
    f"= no difference that can be told. A bold ratio has at least {MIN_PAIRS} seeds (boots, each "
    "with random numbers of its own) and an interval of 95 % that excludes 1 (worse: that lies "
    f"above {ALLOWED:g}). Fewer seeds are no verdict."
)


@dataclass(frozen=True)
class OverviewLine:
    """One row of either table: how bad or good, for their order, and its cells."""

    size: float
    cells: tuple[str, ...]

    @property
    def is_marked(self) -> bool:
        """Whether the row has the mark that the footnote is about."""
        return any(MARK in cell for cell in self.cells)


def render(runs: Sequence[RunResult]) -> str:
    """Return both tables as Markdown.

    Args:
        runs: of whatever experiments; those without the series or stock are left out.
    """
    usable = [run for run in runs if KERNEL in run.kernels and STOCK in run.kernels]
    worse, better = _worse(usable), _better(usable)
    lines = [
        f"**Where {KERNEL} is worse** than the better of stock 6.12 and 7.3, and by how much",
        "",
        *_table(("workload", *MEASURES, "seeds"), worse),
        "",
        f"**Where {KERNEL} is better** than stock 6.12",
        "",
        *_table(("workload", "what", "6.12@classic", "7.3", KERNEL, "published", "seeds"), better),
        "",
        f"Ratios of the second table are to stock {STOCK}. {LEGEND}",
    ]
    return "\n".join([*lines, *_footnote([*_shown(worse), *_shown(better)])]) + "\n"


def headline(runs: Sequence[RunResult]) -> str:
    """Return README's table: a line a workload, what got worse first; `render` has the rest.

    Args:
        runs: as for `render`.
    """
    usable = [run for run in runs if KERNEL in run.kernels and STOCK in run.kernels]
    worse, better = (
        sorted(lines, key=lambda line: -line.size)
        for lines in (_worst(usable), _better(usable, short=True))
    )
    shown = [*worse[:MOST_WORSE], *better[: HEADLINE_ROWS - len(worse[:MOST_WORSE])]]
    heads = ("workload", "what", "ratio", "seeds")
    rows = [markdown_row(line.cells) for line in shown]
    lines = [
        f"Ratios of {KERNEL}, less is better: to the better of stock {STOCK} and 7.3 where worse, "
        f"else to {STOCK}.",
        "",
        markdown_row(heads),
        markdown_row(["---", "---", "---:", "---:"]),
        *rows,
        "",
        f"Of {len(usable)} workloads {len(worse)} are worse with {KERNEL} in some measure than "
        f"with the better of stock {STOCK} and 7.3, {len(better)} better than with stock {STOCK} "
        "in their first figure; some are both. All, and what is bold: "
        "[overview](docs/use/overview.md).",
        *_footnote(shown),
    ]
    return "\n".join(lines) + "\n"


def _worst(runs: Sequence[RunResult]) -> list[OverviewLine]:
    """Return the families that are worse, each with the measure that is worst."""
    lines = []
    for family, by_name in _families(runs):
        if family.largest <= ALLOWED:
            continue
        measure, worst = max(family.worst.items(), key=lambda item: item[1].ratio)
        name = _name(by_name[worst.point], family.family)
        what = "" if math.isinf(worst.ratio) else measure
        cells = (name, f"**worse**: {what}".rstrip(": "), _worse_cell(worst), str(family.seeds))
        lines.append(OverviewLine(family.largest, cells))
    return lines


def _table(heads: Sequence[str], lines: Sequence[OverviewLine]) -> list[str]:
    if not lines:
        return [f"nothing by more than {ALLOWED - 1:.0%}"]
    rows = [markdown_row(line.cells) for line in _shown(lines)]
    rule = markdown_row(["---", *("---:" for _ in heads[1:])])
    more = len(lines) - MOST_ROWS
    where = "[harm.md](harm.md) has families, [results.md](results.md) the others"
    rest = ["", f"and {more} more: {where}"] if more > 0 else []
    return [markdown_row(heads), rule, *rows, *rest]


def _shown(lines: Sequence[OverviewLine]) -> list[OverviewLine]:
    """Return the rows that a table of `render` has, the largest first."""
    return sorted(lines, key=lambda line: -line.size)[:MOST_ROWS]


def _footnote(shown: Sequence[OverviewLine]) -> list[str]:
    """Return what the mark means, if a row that is shown has it; most rows are left out."""
    return ["", FOOTNOTE] if any(line.is_marked for line in shown) else []


def _is_stale(run: RunResult) -> bool:
    made_of = run.provenance.kernels.get(KERNEL)
    return is_of_another_state(KERNEL, made_of.series_sha256 if made_of else None)


def _name(run: RunResult, name: str = "") -> str:
    """Return the workload, with its machine if that is not the usual one."""
    machine = "" if run.machine == "uml" else f" ({run.machine})"
    return f"{name or run.experiment}{machine}{f' {MARK}' if _is_stale(run) else ''}"


def _seeds(run: RunResult) -> str:
    return str(len(run.boots_of(KERNEL)))


def _judged(run: RunResult) -> RunResult:
    """Return a run with the series as its last kernel, which is the one that is judged."""
    order = [*(name for name in run.kernels if name != KERNEL), KERNEL]
    return run.model_copy(update={"kernels": order})


def _families(runs: Sequence[RunResult]) -> Iterator[tuple[FamilyHarm, dict[str, RunResult]]]:
    """Yield each family of each machine, with its runs by name: machines do not compare."""
    judged = [_judged(run) for run in runs]
    for machine in sorted({run.machine for run in judged}):
        there = [run for run in judged if run.machine == machine]
        by_name = {run.experiment: run for run in there}
        yield from ((family, by_name) for family in harm(there))


def _worse(runs: Sequence[RunResult]) -> list[OverviewLine]:
    """Return the families in which some measure is above what is allowed, with all that are."""
    lines = []
    for family, by_name in _families(runs):
        if family.largest > ALLOWED:
            points = [by_name[worst.point] for worst in family.worst.values()]
            cells = (_worse_cell(family.worst.get(measure)) for measure in MEASURES)
            name = _name(points[0], family.family)
            lines.append(OverviewLine(family.largest, (name, *cells, str(family.seeds))))
    return lines


def _worse_cell(worst: Worst | None) -> str:
    if worst is None or worst.ratio <= ALLOWED:
        return ""
    if math.isinf(worst.ratio):
        return f"**{worst.why or 'stands still'}**"
    sure = worst.pairs >= MIN_PAIRS and worst.exceeds(ALLOWED)
    return f"**{times(worst.ratio)}**" if sure else times(worst.ratio)


def _better(runs: Sequence[RunResult], *, short: bool = False) -> list[OverviewLine]:
    """Return the workloads whose first headline figure is better; `short`: as README has them."""
    lines = []
    for run in runs:
        (comparison,) = compare([Named(run.experiment, run)], baseline=STOCK)
        if not comparison.rows:
            continue
        row = comparison.rows[0]
        cells = dict(zip(run.kernels, row.cells, strict=True))
        ours = cells[KERNEL]
        size = factor(row.better, ours.ratio) if ours else None
        if size is None or size < BETTER_FROM:
            continue
        if short:
            what = f"better: {_in_words(row)}"
            lines.append(OverviewLine(size, (_name(run), what, _ratio(ours), _seeds(run))))
            continue
        what = f"{row.label} {ARROWS[row.better]}" if row.better else row.label
        shown = (_ratio(cells.get(name)) for name in ("6.12@classic", "7.3", KERNEL))
        published = times(row.published.ratio) if row.published else ""
        lines.append(OverviewLine(size, (_name(run), what, *shown, published, _seeds(run))))
    return lines


def _in_words(row: Row) -> str:
    """Return what a row is of; with an arrow only where more is better."""
    label = WORDS.get(row.metric, row.label)
    return f"{label} {ARROWS['higher']}" if row.better == "higher" else label


def _ratio(cell: Cell | None) -> str:
    """Return a ratio with its mark and interval, without the figure."""
    if cell is None:
        return ""
    _figure, _bracket, rest = cell_markdown(cell, baseline=False).partition(" (")
    return rest.removesuffix(")")
