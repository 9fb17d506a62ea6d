# SPDX-License-Identifier: GPL-2.0-only
"""Where a kernel is worse than the better of the stock kernels: the worst of each family."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mglru.core import stats
from mglru.core.errors import UsageError
from mglru.experiment.files import split_name
from mglru.results.marks import MIN_PAIRS
from mglru.results.model import BootRecord, RunResult, series_of
from mglru.series.state import MARK, is_of_another_state
from mglru.source.kernel_id import KernelId
from mglru.study.suite.measures import KILLS, MEASURES, HarmFigure, figures

# From here on it is harm, unless --allow says otherwise: what the lab can tell from chance.
ALLOWED = 1.02


@dataclass(frozen=True)
class Worst:
    """The largest ratio of one measure, of one point or of all points of a family.

    Attributes:
        ratio: the kernel's median to the reference's; infinite where only the kernel fails.
        point: the run's name, `FAMILY:POINT`.
        metric: which figure.
        reference: the stock kernel that it is a ratio to.
        interval: of the ratio over seeds; None where no interval can be had.
        pairs: boots of equal seed that it rests on.
        worst_seed: the seed whose own ratio is the largest; None where there is no pair.
        worst_ratio: that ratio.
        why: what went wrong, if it is not a matter of a ratio.
    """

    ratio: float
    point: str
    metric: str
    reference: str
    interval: stats.Interval | None = None
    pairs: int = 0
    worst_seed: int | None = None
    worst_ratio: float = 0.0
    why: str = ""

    def exceeds(self, allowed: float) -> bool:
        """Whether it is above what is allowed, and not by chance.

        With MIN_PAIRS seeds or more the whole interval has to be above; with fewer the ratio
        counts as it is.
        """
        if self.pairs >= MIN_PAIRS and self.interval is not None:
            return self.interval.low > allowed
        return self.ratio > allowed

    def may_exceed(self, allowed: float) -> bool:
        """Whether it is above what is allowed, but perhaps by chance."""
        return self.ratio > allowed and not self.exceeds(allowed)


@dataclass(frozen=True)
class FamilyHarm:
    """The worst of each measure over the points of a family.

    Attributes:
        family: its name.
        worst: by measure; a measure that no point has is missing.
        points: how many points have boots.
        notes: what a reader has to know.
        missing: points that gave nothing to compare, though a stock kernel ran.
        other_state: a point is of another state of the series than this checkout.
        seeds: boots of the judged kernel, at the point that has the fewest.
    """

    family: str
    worst: Mapping[str, Worst]
    points: int
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    other_state: bool = False
    seeds: int = 0

    @property
    def heading(self) -> str:
        """The name, marked if it is of another state."""
        return f"{self.family} {MARK}" if self.other_state else self.family

    @property
    def largest(self) -> float:
        """The largest ratio of all measures; 0 if there is none."""
        return max((worst.ratio for worst in self.worst.values()), default=0.0)


def judged_kernel(kernels: Sequence[str]) -> tuple[str, list[str]]:
    """Return the kernel that is judged, which is the last, and the stock kernels beside it.

    Raises:
        UsageError: there is no stock kernel to compare it with.
    """
    subject = kernels[-1]
    stock = [name for name in kernels[:-1] if _is_stock(KernelId.parse(name))]
    if not stock:
        raise UsageError(
            f"there is no stock kernel to judge {subject} by",
            next_step="name one before it, as in --kernels 6.12,7.3,6.12+next",
        )
    return subject, stock


def _is_stock(kernel: KernelId) -> bool:
    return not kernel.series and not kernel.classic


def harm(runs: Iterable[RunResult]) -> list[FamilyHarm]:
    """Return the harm in every family, the worst first.

    Raises:
        UsageError: a run has no stock kernel.
    """
    by_family: dict[str, list[RunResult]] = {}
    for run in runs:
        by_family.setdefault(split_name(run.experiment)[0], []).append(run)
    found = [_family(name, points) for name, points in by_family.items()]
    return sorted(found, key=lambda each: (-each.largest, each.family))


def _family(name: str, runs: Sequence[RunResult]) -> FamilyHarm:
    worst: dict[str, Worst] = {}
    notes, missing = [], []
    for run in runs:
        of_point = point_harm(run)
        notes += _failing_stock(run)
        if only_stock_fails(run):
            notes.append(f"{run.experiment}: only stock kernels kill or fail, in every boot")
        elif not of_point:
            missing.append(f"{run.experiment}: no figures to compare")
        for measure, found in of_point.items():
            if measure not in worst or found.ratio > worst[measure].ratio:
                worst[measure] = found
    ordered = {measure: worst[measure] for measure in MEASURES if measure in worst}
    return FamilyHarm(
        family=name,
        worst=ordered,
        points=len(runs),
        notes=tuple(notes),
        missing=tuple(missing),
        other_state=any(_is_of_another_state(run) for run in runs),
        seeds=min(len(run.boots_of(judged_kernel(run.kernels)[0])) for run in runs),
    )


def _failing_stock(run: RunResult) -> list[str]:
    """Say of every stock kernel that failed how often it did: those boots are not counted."""
    _subject, stock = judged_kernel(run.kernels)
    counts = {k: list(_bad_boots(run, k).values()).count("failed") for k in stock}
    return [
        f"{run.experiment}: {kernel} failed in {count} of {len(run.boots_of(kernel))} boots"
        for kernel, count in counts.items()
        if count
    ]


def _is_of_another_state(run: RunResult) -> bool:
    return any(is_of_another_state(kernel, sha) for kernel, sha in series_of(run).items())


def point_harm(run: RunResult) -> dict[str, Worst]:
    """Return the worst ratio of each measure in one run.

    Raises:
        UsageError: the run has no stock kernel.
    """
    subject, stock = judged_kernel(run.kernels)
    bad = {kernel: _bad_boots(run, kernel) for kernel in (subject, *stock)}
    fewest = min(len(bad[kernel]) for kernel in stock)
    if len(bad[subject]) > fewest:
        return _failed(run, subject, bad, next(k for k in stock if len(bad[k]) == fewest))
    if only_stock_fails(run):
        return {}
    references = [kernel for kernel in stock if len(bad[kernel]) == fewest]
    worst: dict[str, Worst] = {}
    for figure in figures(run):
        found = _ratio(run, figure, subject, references)
        if found and (figure.measure not in worst or found.ratio > worst[figure.measure].ratio):
            worst[figure.measure] = found
    return worst


def only_stock_fails(run: RunResult) -> bool:
    """Whether every stock kernel kills or fails in every boot, and the judged one in none."""
    subject, stock = judged_kernel(run.kernels)
    always = all(len(_bad_boots(run, name)) == len(run.boots_of(name)) for name in stock)
    return always and bool(run.boots_of(subject)) and not _bad_boots(run, subject)


def _bad_boots(run: RunResult, kernel: str) -> dict[int, str]:
    """Return the boots in which a kernel failed or killed, with what happened."""
    return {
        record.boot: "killed" if _killed(record) else "failed"
        for record in run.boots_of(kernel)
        if record.problems or _killed(record)
    }


def _killed(record: BootRecord) -> bool:
    return record.metrics.get(KILLS, 0) > 0


def _failed(
    run: RunResult, subject: str, bad: Mapping[str, Mapping[int, str]], reference: str
) -> dict[str, Worst]:
    boots = bad[subject]
    verb = " and ".join(sorted(set(boots.values())))
    why = (
        f"{verb} in {len(boots)} of {len(run.boots_of(subject))} boots, "
        f"{reference} in {len(bad[reference])}"
    )
    seed = next(record.seed for record in run.boots_of(subject) if record.boot in boots)
    failed = Worst(
        ratio=math.inf,
        point=run.experiment,
        metric=KILLS if verb == "killed" else "problems",
        reference=reference,
        worst_seed=seed,
        worst_ratio=math.inf,
        why=why,
    )
    return dict.fromkeys(MEASURES, failed)


def _good_values(run: RunResult, metric: str, kernel: str) -> dict[int, float]:
    """Return a metric by seed, of the boots that did not kill or fail; if none: of those."""
    bad = _bad_boots(run, kernel)
    seeds = {record.boot: record.seed for record in run.boots_of(kernel)}
    values = run.values(metric, kernel)
    kept = {boot: value for boot, value in values.items() if boot not in bad}
    if not kept and "failed" not in bad.values():
        kept = values
    return {seeds[boot]: value for boot, value in kept.items()}


def _ratio(
    run: RunResult, figure: HarmFigure, subject: str, references: Sequence[str]
) -> Worst | None:
    ours = figure.costs(_good_values(run, figure.metric, subject))
    theirs = {
        kernel: costs
        for kernel in references
        if (costs := figure.costs(_good_values(run, figure.metric, kernel)))
    }
    if not ours or not theirs:
        return None
    reference = min(theirs, key=lambda kernel: stats.median(list(theirs[kernel].values())))
    best = theirs[reference]
    middle = stats.median(list(best.values()))
    if math.isinf(middle):
        return None
    finite = not any(map(math.isinf, (*ours.values(), *best.values())))
    of_seeds = {
        seed: ours[seed] / best[seed]
        for seed in sorted(ours.keys() & best.keys())
        if not math.isinf(best[seed])
    }
    worst_seed = max(of_seeds, key=of_seeds.__getitem__, default=None)
    return Worst(
        ratio=stats.median(list(ours.values())) / middle,
        point=run.experiment,
        metric=figure.metric,
        reference=reference,
        interval=stats.ratio_interval(ours, best) if finite else None,
        pairs=len(of_seeds),
        worst_seed=worst_seed,
        worst_ratio=of_seeds[worst_seed] if worst_seed is not None else 0.0,
    )
