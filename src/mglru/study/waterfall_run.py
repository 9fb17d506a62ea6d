# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru series waterfall`: names of experiments in, a run of each on all prefixes out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mglru.core.errors import UsageError
from mglru.core.ui import Ui
from mglru.experiment.load import load_experiment
from mglru.experiment.settings import Setting, recorded
from mglru.experiment.spec import Experiment
from mglru.results.model import ResultFile, RunResult
from mglru.run.session import Session
from mglru.series.listing import load_series
from mglru.source.kernel_id import KernelId
from mglru.study.waterfall import prefixes


@dataclass(frozen=True)
class WantedWaterfall:
    """What is to be run.

    Attributes:
        names: of the experiments.
        base: whose series it is, as `6.12`.
        parts: only prefixes that end with a part of the series.
        metrics: headline metrics that each experiment has to have.
        boots: of each kernel; None: what the experiment says, else one.
        seed: of the first boot.
        settings: of all experiments.
        json_file: where the results are kept, boot by boot; None: nowhere.
        own_sources: the user's kernel sources.
    """

    names: Sequence[str]
    base: str
    parts: bool = False
    metrics: Sequence[str] = ()
    boots: int | None = None
    seed: int = 1
    settings: Sequence[Setting] = ()
    json_file: str | None = None
    own_sources: Sequence[Path] = ()


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
    experiments = [load_experiment(name, wanted.settings) for name in wanted.names]
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
