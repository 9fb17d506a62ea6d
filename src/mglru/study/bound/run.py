# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru bound`: names of experiments and kernels in, what was found on them out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mglru.core.errors import LabError, UsageError
from mglru.core.ui import Ui
from mglru.experiment.load import load_experiment
from mglru.experiment.settings import Setting
from mglru.results.baseline import baseline_of
from mglru.results.output_file import OnceFile
from mglru.run.provenance import lab_commit
from mglru.run.session import Session
from mglru.source.kernel_id import KernelId
from mglru.study.bound.bound import check, find_bound
from mglru.study.bound.file import Bound, to_document
from mglru.study.bound.kernels import Compared, compare, model_of


@dataclass(frozen=True)
class Boots:
    """The boots whose accesses are recorded.

    Attributes:
        kernels: one boot of each.
        seed: of all.
        settings: what changes the experiments.
        own_sources: the user's kernel sources.
    """

    kernels: Sequence[KernelId]
    seed: int = 1
    settings: Sequence[Setting] = ()
    own_sources: Sequence[Path] = ()


def run_bound(
    name: str,
    boots: Boots,
    ui: Ui,
    *,
    json_file: str | None = None,
    capacity: int | None = None,
    keep: Path | None = None,
    learned: bool = False,
) -> Bound:
    """Return how far kernels are from the optimum on an experiment.

    Args:
        name: of the experiment.
        boots: what is recorded.
        ui: gets the progress.
        json_file: where the bound is written; None: nowhere.
        capacity: see `find_bound`, as of the next two.
        keep: see there.
        learned: see there.

    Raises:
        UsageError: no such experiment, or one that cannot be recorded.
        LabError: see `find_bound`.
    """
    experiment = load_experiment(name, boots.settings)
    check(experiment)
    reference = baseline_of([str(kernel) for kernel in boots.kernels])
    with OnceFile.wanted(json_file) as file:
        session = Session(boots.kernels, boots.own_sources, ui)
        jobs = session.prepare(experiment, boots=1, seed=boots.seed).jobs
        found = find_bound(session, jobs, reference, capacity=capacity, keep=keep, learned=learned)
        settings = [str(setting) for setting in boots.settings]
        found = found.model_copy(update={"settings": settings, "lab_commit": lab_commit()})
        if file:
            file.keep(to_document(found))
    return found


def compare_models(
    names: Sequence[str], boots: Boots, ui: Ui, keep: Path | None = None
) -> tuple[list[Compared], list[LabError]]:
    """Compare kernels with their models on some experiments.

    Args:
        names: of the experiments.
        boots: what is recorded.
        ui: gets the progress, and why an experiment could not be compared.
        keep: see `compare`.

    Returns:
        What was found, and the errors of experiments that could not be compared.

    Raises:
        UsageError: no such experiment, one that cannot be recorded, or a kernel has no model.
    """
    if not names:
        raise UsageError(
            "--models takes one experiment or several", next_step="./mglru bound --models ycsb-b"
        )
    experiments = [load_experiment(name, boots.settings) for name in names]
    for experiment in experiments:
        check(experiment)
    for kernel in boots.kernels:
        model_of(kernel)
    session = Session(boots.kernels, boots.own_sources, ui)
    found: list[Compared] = []
    failed: list[LabError] = []
    for experiment in experiments:
        jobs = session.prepare(experiment, boots=1, seed=boots.seed).jobs
        try:
            found += compare(session, jobs, keep)
        except LabError as error:
            ui.warn(f"{experiment.name}: {error}")
            failed.append(error)
    return found, failed
