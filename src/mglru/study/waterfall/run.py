# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru series waterfall`: names of experiments in, a run of each on all prefixes out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mglru.core.errors import UsageError
from mglru.core.ui import Ui
from mglru.experiment.settings import recorded
from mglru.experiment.spec import Experiment
from mglru.results.model import RunResult
from mglru.results.result_file import ResultFile
from mglru.run.experiments import Wanted
from mglru.run.session import Session
from mglru.series.listing import load_series
from mglru.source.kernel_id import KernelId
from mglru.study.waterfall.waterfall import prefixes


@dataclass(frozen=True, kw_only=True)
class WantedWaterfall(Wanted):
    """What is to be run; of an experiment that does not say how many boots, one.

    Attributes:
        base: whose series it is, as `6.12`.
        parts: only prefixes that end with a part of the series.
        metrics: headline metrics that each experiment has to have.
    """

    base: str
    parts: bool = False
    metrics: Sequence[str] = ()


def run_waterfalls(
    wanted: WantedWaterfall, ui: Ui, done: Callable[[RunResult], object]
) -> list[RunResult]:
    """Run experiments on stock and on each prefix of a series, and return their results.

    Args:
        wanted: what is to be run.
        ui: gets the progress.
        done: gets each result as soon as it is there.

    Raises:
        UsageError: an experiment, a base or a metric that there is not; before the first boot.
        LabError: no kernel, no data, no boot.
    """
    experiments = wanted.load()
    for experiment in experiments:
        _check_metrics(experiment, wanted.metrics)
    series = load_series(KernelId.parse(f"{wanted.base}+next").base)
    results = []
    with ResultFile.wanted(wanted.json_file) as file:
        session = Session(prefixes(series, parts=wanted.parts), wanted.own_sources, ui, file)
        for experiment in experiments:
            result = session.run(
                experiment,
                boots=wanted.boots or experiment.boots or 1,
                seed=wanted.seed,
                parameters=recorded(wanted.settings),
            )
            results.append(result)
            done(result)
    return results


def _check_metrics(experiment: Experiment, wanted: Sequence[str]) -> None:
    """Refuse a wrong metric before the boots.

    Raises:
        UsageError: the experiment has no such headline metric.
    """
    known = [metric.name for metric in experiment.metrics]
    if unknown := [name for name in wanted if name not in known]:
        raise UsageError(
            f"{experiment.name} has no headline metric '{unknown[0]}'",
            next_step=f"it has {', '.join(known)}",
        )
