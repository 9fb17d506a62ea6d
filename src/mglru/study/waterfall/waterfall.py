# SPDX-License-Identifier: GPL-2.0-only
"""The effect of every patch: a run on prefixes of the series, one step a prefix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mglru.core import stats
from mglru.core.errors import LabError
from mglru.results.marks import Mark, judge
from mglru.results.model import Headline, RunResult
from mglru.series.listing import Patch, Series, load_series
from mglru.source.kernel_id import KernelId


@dataclass(frozen=True)
class Effect:
    """What a step does to one metric.

    Attributes:
        median: with the step.
        to_before: ratio to the step before; None if that is zero or missing.
        to_stock: ratio to the stock kernel.
        mark: whether the step makes it better or worse.
    """

    median: float
    to_before: float | None
    to_stock: float | None
    mark: Mark


@dataclass(frozen=True)
class PatchStep:
    """One prefix of the series, seen from the one before.

    Attributes:
        kernel: the prefix.
        numbers: which patches it adds, as `7` or `5-7`.
        subjects: theirs; empty if the series is not the one that was measured.
        part: of the series that its last patch belongs to.
        effects: one a metric; None where the kernel has no such figure.
    """

    kernel: str
    numbers: str
    subjects: tuple[str, ...]
    part: str
    effects: tuple[Effect | None, ...]


@dataclass(frozen=True)
class Waterfall:
    """All steps of one run, in the order of the series.

    Attributes:
        run: the run.
        stock: the kernel without the series.
        metrics: the headline metrics.
        baseline: the stock kernel's medians.
        steps: one a prefix.
        notes: what a reader has to know.
    """

    run: RunResult
    stock: str
    metrics: tuple[Headline, ...]
    baseline: tuple[float | None, ...]
    steps: tuple[PatchStep, ...]
    notes: tuple[str, ...]


def make_waterfall(run: RunResult) -> Waterfall:
    """Put the prefixes of a run in order and compare each with the one before."""
    kernels = [KernelId.parse(name) for name in run.kernels]
    base = next(kernel.base for kernel in kernels if kernel.series)
    chain = [k for k in kernels if k.base == base and not k.classic and not k.options]
    series = _series(base)
    end = len(series.patches) if series else 1 + max(k.upto or 0 for k in chain)
    ends = {k: (k.upto or end) if k.series else 0 for k in chain}
    ordered = sorted(chain, key=lambda kernel: ends[kernel])
    fits = series is not None and _is_measured(run, series, ordered)
    names = [str(kernel) for kernel in ordered]
    steps = [
        _step(run, names, at, [ends[k] for k in ordered], series if fits else None)
        for at in range(1, len(ordered))
    ]
    changed = "the series has changed since this run: its patches are not named"
    return Waterfall(
        run=run,
        stock=names[0],
        metrics=tuple(run.headline),
        baseline=tuple(_median(run, headline.name, names[0]) for headline in run.headline),
        steps=tuple(steps),
        notes=() if fits else (changed,),
    )


def prefixes(series: Series, *, parts: bool = False) -> list[KernelId]:
    """Return the kernels of a waterfall: stock, each prefix of a series, the whole of it.

    Args:
        series: of any base.
        parts: only prefixes that end with a part.
    """
    ends = series.part_ends if parts else range(1, len(series.patches) + 1)
    stock = KernelId(series.base)
    some = [replace(stock, series=True, upto=end) for end in ends[:-1]]
    return [stock, *some, replace(stock, series=True)]


def _series(base: str) -> Series | None:
    try:
        return load_series(base)
    except LabError:
        return None


def _is_measured(run: RunResult, series: Series, kernels: Sequence[KernelId]) -> bool:
    """Whether each prefix was built from the series as it lies in the tree now."""
    for kernel in kernels:
        made_by = run.provenance.kernels.get(str(kernel))
        if not kernel.series or made_by is None:
            continue
        if (kernel.upto or 0) > len(series.patches):
            return False
        if made_by.series_sha256 != series.first(kernel.upto).sha256:
            return False
    return True


def _step(
    run: RunResult, names: Sequence[str], at: int, ends: Sequence[int], series: Series | None
) -> PatchStep:
    first, last = ends[at - 1] + 1, ends[at]
    patches: tuple[Patch, ...] = series.patches[first - 1 : last] if series else ()
    effects = [
        _effect(run, headline, names[0], names[at - 1], names[at]) for headline in run.headline
    ]
    return PatchStep(
        kernel=names[at],
        numbers=_numbers(first, last, KernelId.parse(names[at]), known=series is not None),
        subjects=tuple(patch.subject for patch in patches),
        part=patches[-1].part if patches else "",
        effects=tuple(effects),
    )


def _numbers(first: int, last: int, kernel: KernelId, *, known: bool) -> str:
    """Return the patches of a step; where a changed series ended is not known."""
    if kernel.upto is None and not known:
        return f"{first} on"
    return str(last) if first >= last else f"{first}-{last}"


def _median(run: RunResult, metric: str, kernel: str) -> float | None:
    values = run.values(metric, kernel)
    return stats.median(list(values.values())) if values else None


def _effect(
    run: RunResult, headline: Headline, stock: str, before: str, kernel: str
) -> Effect | None:
    now = _median(run, headline.name, kernel)
    if now is None:
        return None
    then, first = _median(run, headline.name, before), _median(run, headline.name, stock)
    mark = Mark.NONE
    if then is not None:
        ours, theirs = run.values(headline.name, kernel), run.values(headline.name, before)
        interval = stats.ratio_interval(ours, theirs, paired=ours.keys() == theirs.keys())
        pairs = len(ours.keys() & theirs.keys())
        values = list(ours.values()), list(theirs.values())
        mark = judge(*values, interval, headline.better, pairs=pairs)
    return Effect(
        median=now,
        to_before=stats.ratio(now, then) if then is not None else None,
        to_stock=stats.ratio(now, first) if first is not None else None,
        mark=mark,
    )
