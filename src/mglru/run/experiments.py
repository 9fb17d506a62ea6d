# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru run`: names of experiments and kernels in, a result for each experiment out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mglru.core.ui import Ui
from mglru.experiment.filesystem import check_kernels
from mglru.experiment.load import load_experiment
from mglru.experiment.settings import Setting, recorded
from mglru.experiment.spec import Experiment
from mglru.machine.registry import MACHINES, UML
from mglru.results.model import RunResult
from mglru.results.result_file import ResultFile
from mglru.run.session import Session
from mglru.source.kernel_id import KernelId


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What whoever runs experiments says of all of them.

    Attributes:
        names: of the experiments.
        boots: of each kernel; None: as many as is usual for the experiment.
        seed: of the first boot.
        settings: of all experiments.
        json_file: where the results are kept, boot by boot; None: nowhere.
        own_sources: the user's kernel sources.
    """

    names: Sequence[str]
    boots: int | None = None
    seed: int = 1
    settings: Sequence[Setting] = ()
    json_file: str | None = None
    own_sources: Sequence[Path] = ()

    def load(self) -> list[Experiment]:
        """Load the experiments, with the settings.

        Raises:
            UsageError: an experiment or a setting that there is not.
        """
        return [load_experiment(name, self.settings) for name in self.names]


@dataclass(frozen=True, kw_only=True)
class WantedRun(Wanted):
    """What is to be run.

    Attributes:
        kernels: the first is what ratios refer to; None: those of each experiment.
        machine: a name in `registry.MACHINES`.
        old: earlier results by experiment, whose boots count if they would be the same now.
    """

    kernels: Sequence[KernelId] | None = None
    machine: str = UML
    old: Mapping[str, RunResult] = field(default_factory=dict)


def run_experiments(
    wanted: WantedRun, ui: Ui, done: Callable[[RunResult], object]
) -> list[RunResult]:
    """Run experiments one after another and return their results.

    Args:
        wanted: what is to be run.
        ui: gets the progress.
        done: gets each result as soon as it is there.

    Raises:
        UsageError: an experiment, a kernel or a setting that there is not, or that does not fit
            the machine; before the first boot.
        LabError: no kernel, no data, no boot.
    """
    machine = MACHINES[wanted.machine]
    experiments = wanted.load()
    chosen = [wanted.kernels or each.kernels for each in experiments]
    for experiment, kernels in zip(experiments, chosen, strict=True):
        check_kernels(experiment.disk.filesystem, kernels)
        # Before anything is built for it.
        machine.fit(experiment)
    results = []
    with ResultFile.wanted(wanted.json_file) as file:
        for experiment, kernels in zip(experiments, chosen, strict=True):
            session = Session(
                kernels,
                wanted.own_sources,
                ui,
                file,
                machine=wanted.machine,
                baseline=str(kernels[0]) if wanted.kernels else "",
            )
            result = session.run(
                experiment,
                boots=wanted.boots or machine.fit(experiment).usual_boots,
                seed=wanted.seed,
                parameters=recorded(wanted.settings),
                old=wanted.old.get(experiment.name),
            )
            results.append(result)
            done(result)
    return results
