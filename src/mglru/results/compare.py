# SPDX-License-Identifier: GPL-2.0-only
"""Kernels beside one another: medians, ratios to a baseline, better or worse, published figures."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mglru.core import stats
from mglru.core.errors import UsageError
from mglru.core.figures import number
from mglru.results.baseline import baseline_of, common_choice
from mglru.results.folders import result_files
from mglru.results.humps import Humps, two_humps
from mglru.results.marks import TOLERANCE, Mark, judge
from mglru.results.model import Headline, Published, RunResult
from mglru.results.result_file import load
from mglru.series import state as series_state

MAX_PROBLEMS_SHOWN = 5


@dataclass(frozen=True)
class Named:
    """A run, and what to call it where several have the same kernel (its file's name)."""

    name: str
    run: RunResult


@dataclass(frozen=True)
class Column:
    """One kernel of one run.

    Attributes:
        label: its heading: the kernel, and the run's name if two runs have that kernel.
        kernel: its id.
        release: as the guests read it; several if boots disagree.
        boots: how many boots it has.
        asked: how many it was to have.
        other_state: it is of another state of the series than this checkout.
    """

    label: str
    kernel: str
    release: str
    boots: int
    asked: int
    other_state: bool = False

    @property
    def heading(self) -> str:
        """The label, marked if it is of another state."""
        return f"{self.label} {series_state.MARK}" if self.other_state else self.label


@dataclass(frozen=True)
class Cell:
    """One metric of one kernel.

    Attributes:
        values: of every boot, in order.
        median: of the values.
        ratio: to the baseline's median; None if that is zero or missing.
        interval: 95 % interval of the ratio; None where there is none.
        mark: what the ratio says.
        outliers: the numbers of boots that lie far from the others, by more than TOLERANCE.
        humps: the two groups that the values lie in; None: in one.
    """

    values: tuple[float, ...]
    median: float
    ratio: float | None
    interval: stats.Interval | None
    mark: Mark
    outliers: tuple[int, ...]
    humps: Humps | None = None


@dataclass(frozen=True)
class Row:
    """One metric.

    Attributes:
        metric: its name.
        label: what tables call it.
        better: "higher", "lower", or None if neither is.
        published: the published figure before and after, if there is one.
        cells: one a column; None where that kernel has no such figure.
    """

    metric: str
    label: str
    better: str | None
    published: Published | None
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True)
class Comparison:
    """One experiment on one machine: kernels as columns, metrics as rows.

    Attributes:
        experiment: its name.
        machine: its name.
        virtual_time: whether the guests' time was simulated.
        seed: of the first run.
        baseline: the position of the column that ratios refer to.
        columns: the kernels.
        rows: the metrics, the most important first.
        notes: what a reader has to know: missing boots, problems, outliers.
    """

    experiment: str
    machine: str
    virtual_time: bool
    seed: int
    baseline: int
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Source:
    """A column and the run that its figures come from."""

    column: Column
    run: RunResult

    def values(self, metric: str) -> dict[int, float]:
        return self.run.values(metric, self.column.kernel)

    def seeds(self) -> dict[int, int]:
        return {record.boot: record.seed for record in self.run.boots_of(self.column.kernel)}


def load_named(paths: Sequence[str | Path]) -> list[Named]:
    """Read result files, or those of directories, each run named after its file.

    Raises:
        UsageError: see `results.load` and `result_files`.
    """
    return [Named(Path(path).stem, run) for path in result_files(paths) for run in load(path)]


def compare(
    runs: Sequence[Named],
    *,
    baseline: str | None = None,
    everything: bool = False,
) -> list[Comparison]:
    """Put the kernels of runs beside one another, one comparison an experiment.

    Runs share a comparison if experiment, parameters, machine and its options are the same.

    Args:
        runs: one or several.
        baseline: a kernel's id or a column's label; if none is given, `baseline_of` decides.
        everything: also show every other counter whose medians differ.

    Raises:
        UsageError: an experiment has no such baseline.
    """
    groups: dict[str, list[Named]] = {}
    for named in runs:
        groups.setdefault(_group_key(named.run), []).append(named)
    return [_compare_group(group, baseline, everything=everything) for group in groups.values()]


def _group_key(run: RunResult) -> str:
    made_by = run.provenance
    parts = [
        run.experiment,
        run.machine,
        made_by.machine.model_dump(mode="json"),
        made_by.experiment.parameters,
    ]
    return json.dumps(parts, sort_keys=True)


def _compare_group(group: Sequence[Named], baseline: str | None, *, everything: bool) -> Comparison:
    sources = _sources(group)
    first = group[0].run
    base = _find_baseline(sources, baseline, first.experiment)
    headline = {item.name: item for named in group for item in named.run.headline}
    published = {name: it for named in group for name, it in named.run.published.items()}
    names = [*headline, *(_others(sources, set(headline)) if everything else [])]
    rows = [
        row
        for name in names
        if (row := _row(name, headline.get(name), published.get(name), sources, base))
    ]
    return Comparison(
        experiment=first.experiment,
        machine=first.machine,
        virtual_time=first.provenance.machine.virtual_time,
        seed=first.seed,
        baseline=base,
        columns=tuple(source.column for source in sources),
        rows=tuple(rows),
        notes=tuple(_notes(sources, rows, headline)),
    )


def _sources(group: Sequence[Named]) -> list[_Source]:
    kernels = Counter(kernel for named in group for kernel in named.run.kernels)
    labels: Counter[str] = Counter()
    sources = []
    for named in group:
        for kernel in named.run.kernels:
            label = kernel if kernels[kernel] == 1 else f"{kernel} [{named.name}]"
            labels[label] += 1
            if labels[label] > 1:
                label += f" #{labels[label]}"
            sources.append(_Source(_column(named.run, kernel, label), named.run))
    return sources


def _column(run: RunResult, kernel: str, label: str) -> Column:
    boots = run.boots_of(kernel)
    releases = sorted({record.release for record in boots if record.release})
    made_of = run.provenance.kernels.get(kernel)
    stale = series_state.is_of_another_state(kernel, made_of.series_sha256 if made_of else None)
    return Column(label, kernel, ", ".join(releases), len(boots), run.boots, stale)


def _find_baseline(sources: Sequence[_Source], wanted: str | None, experiment: str) -> int:
    if wanted is None:
        chosen = common_choice([source.run.baseline for source in sources])
        wanted = baseline_of([source.column.kernel for source in sources], chosen)
    for position, source in enumerate(sources):
        if wanted in {source.column.label, source.column.kernel}:
            return position
    there = ", ".join(source.column.label for source in sources)
    raise UsageError(
        f"{experiment} has no kernel '{wanted}' to be the baseline", next_step=f"it has {there}"
    )


def _others(sources: Sequence[_Source], shown: set[str]) -> list[str]:
    """Return the metrics that are not headlines and not the same everywhere."""
    names = sorted({name for s in sources for name in s.run.metric_names()} - shown)
    if len(sources) == 1:
        return names
    return [name for name in names if len({_median(s.values(name)) for s in sources}) > 1]


def _median(values: dict[int, float]) -> float | None:
    return stats.median(list(values.values())) if values else None


def _row(
    metric: str,
    headline: Headline | None,
    published: Published | None,
    sources: Sequence[_Source],
    base: int,
) -> Row | None:
    better = headline.better if headline else None
    cells = tuple(_cell(source, sources[base], metric, better) for source in sources)
    if all(cell is None for cell in cells):
        return None
    label = (headline.label if headline else "") or metric
    return Row(metric=metric, label=label, better=better, published=published, cells=cells)


def _cell(source: _Source, base: _Source, metric: str, better: str | None) -> Cell | None:
    values, theirs = source.values(metric), base.values(metric)
    if not values:
        return None
    listed, middle = tuple(values.values()), stats.median(list(values.values()))
    boots = list(values)
    far = TOLERANCE * abs(middle)
    outliers = tuple(boots[at] for at in stats.outliers(listed) if abs(listed[at] - middle) > far)
    alone = Cell(
        values=listed,
        median=middle,
        ratio=1.0 if source is base and middle else None,
        interval=None,
        mark=Mark.NONE,
        outliers=outliers,
        humps=two_humps(listed),
    )
    if source is base or not theirs:
        return alone
    paired = _same_seeds(source, base)
    interval = stats.ratio_interval(values, theirs, paired=paired)
    pairs = len(values.keys() & theirs.keys()) if paired else min(len(values), len(theirs))
    mark = judge(listed, list(theirs.values()), interval, better, pairs=pairs)
    ratio = stats.ratio(middle, stats.median(list(theirs.values())))
    return replace(alone, ratio=ratio, interval=interval, mark=mark)


def _same_seeds(one: _Source, other: _Source) -> bool:
    ours, theirs = one.seeds(), other.seeds()
    common = ours.keys() & theirs.keys()
    return bool(common) and all(ours[boot] == theirs[boot] for boot in common)


def _notes(sources: Sequence[_Source], rows: Sequence[Row], headline: Iterable[str]) -> list[str]:
    notes = [
        f"{column.label}: {column.boots} of {column.asked} boots"
        for column in (source.column for source in sources)
        if column.boots != column.asked
    ]
    notes += _seed_notes(sources)
    missing = [name for name in headline if name not in {row.metric for row in rows}]
    if missing:
        notes.append(f"not reported by any kernel: {', '.join(missing)}")
    return [
        *notes,
        *_problem_notes(sources),
        *_hump_notes(sources, rows),
        *_outlier_notes(sources, rows),
    ]


def _seed_notes(sources: Sequence[_Source]) -> list[str]:
    seeds = {source.run.seed for source in sources}
    datasets = {source.run.provenance.dataset_sha256 for source in sources}
    notes = []
    if len(seeds) > 1:
        notes.append("the runs have different seeds: their boots are not compared in pairs")
    if len(datasets) > 1:
        notes.append("the runs used different data sets")
    return notes


def _problem_notes(sources: Sequence[_Source]) -> list[str]:
    problems = [
        f"{source.column.label} boot {record.boot}: {problem}"
        for source in sources
        for record in source.run.boots_of(source.column.kernel)
        for problem in record.problems
    ]
    more = len(problems) - MAX_PROBLEMS_SHOWN
    return problems[:MAX_PROBLEMS_SHOWN] + ([f"and {more} more problems"] if more > 0 else [])


def _outlier_notes(sources: Sequence[_Source], rows: Sequence[Row]) -> list[str]:
    """Name the boots that lie far from the others, with the rows in which they do."""
    found: dict[str, list[str]] = {}
    for row in rows:
        for source, cell in zip(sources, row.cells, strict=True):
            for boot in cell.outliers if cell else ():
                found.setdefault(f"{source.column.label} boot {boot}", []).append(row.label)
    return [
        f"{boot} lies far from the others in {', '.join(labels)}"
        for boot, labels in sorted(found.items())
    ]


def _hump_notes(sources: Sequence[_Source], rows: Sequence[Row]) -> list[str]:
    """Show the values that lie in two groups, whose median describes neither."""
    return [
        f"{source.column.label}: two humps in {row.label}: {_hump(cell.humps.low)}, "
        f"{_hump(cell.humps.high)}"
        for row in rows
        for source, cell in zip(sources, row.cells, strict=True)
        if cell and cell.humps
    ]


def _hump(values: Sequence[float]) -> str:
    low, high = number(values[0]), number(values[-1])
    shown = low if low == high else f"{low}..{high}"
    return f"{shown} in {len(values)} boots"
