# SPDX-License-Identifier: GPL-2.0-only
"""A sweep, made here or on a cluster: a plan and what a file has of it in, the whole out."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mglru.core.errors import UsageError
from mglru.core.ui import Ui
from mglru.experiment.load import load_experiment
from mglru.experiment.settings import Setting, recorded
from mglru.experiment.spec import Experiment
from mglru.results.model import RunInfo
from mglru.results.output_file import STDOUT
from mglru.run.jobs import parallel_boots
from mglru.run.session import Session
from mglru.source.kernel_id import KernelId
from mglru.study.sweep import file as sweep_file
from mglru.study.sweep.boots import (
    Engine,
    LocalEngine,
    PointJob,
    SweepPlan,
    check_same_sweep,
    known_boots,
    load_points,
    missing,
    run_missing,
    settings_at,
)
from mglru.study.sweep.file import Sweep, SweepFile
from mglru.study.sweep.points import Settings, parse_vary


@dataclass(frozen=True, kw_only=True)
class WantedSweep:
    """What whoever runs a sweep says of it.

    Attributes:
        experiment: its name.
        varied: `KEY=A..B` or `KEY=a,b,c`, each.
        points: values of a range.
        kernels: the first is what ratios refer to; None: those of the experiment.
        boots: of each kernel at each point; None: what the experiment says.
        seed: of the first boot.
        settings: of all points.
        path: where the results are kept, boot by boot; `-` for stdout.
        anew: whether what the file has is replaced instead of gone on with.
        own_sources: the user's kernel sources.
    """

    experiment: str
    varied: Sequence[str]
    points: int
    kernels: Sequence[KernelId] | None
    boots: int | None
    seed: int
    settings: Sequence[Setting]
    path: str
    anew: bool = False
    own_sources: Sequence[Path] = ()

    def plan(self) -> SweepPlan:
        """Return what is to be run.

        Raises:
            UsageError: see `parse_vary`, or no such experiment.
        """
        vary = parse_vary(self.varied, self.points)
        kernels = self.kernels or load_experiment(self.experiment).kernels
        return SweepPlan(
            experiment=self.experiment,
            vary=vary,
            fixed=self.settings,
            kernels=kernels,
            boots=self.boots,
            seed=self.seed,
            baseline=str(kernels[0]) if self.kernels else "",
        )


@dataclass(frozen=True)
class PointBoots:
    """One point with all of its boots, made or not."""

    settings: Settings
    info: RunInfo
    jobs: Sequence[PointJob]


class Sweeper:
    """One `./mglru sweep`: what it is, what there is of it, and how to make the rest.

    Args:
        plan: what was asked for.
        own: the user's kernel sources.
        cluster: makes the boots; None: this machine does.
        ui: gets the progress.
    """

    def __init__(
        self, plan: SweepPlan, own: Sequence[Path], cluster: Engine | None, ui: Ui
    ) -> None:
        self._plan, self._own, self._ui = plan, own, ui
        self._cluster = cluster
        self._points = load_points(plan)

    def prepare(self) -> list[PointBoots]:
        """Return every point; data and guest programs are made, kernels are not built yet."""
        return [self._point(settings, experiment) for settings, experiment in self._points]

    def _point(self, settings: Settings, experiment: Experiment) -> PointBoots:
        prepared = self._session.prepare(
            experiment,
            boots=self._plan.boots or experiment.boots or 1,
            seed=self._plan.seed,
            parameters=recorded(settings_at(self._plan, settings)),
        )
        jobs = [PointJob(settings, job) for job in prepared.jobs]
        return PointBoots(settings, prepared.info, jobs)

    def engine(self) -> Engine:
        """Return what makes the boots; kernels are built where that is this machine."""
        if self._cluster:
            return self._cluster
        self._session.build()
        return LocalEngine(min(parallel_boots(experiment) for _at, experiment in self._points))

    @functools.cached_property
    def _session(self) -> Session:
        baseline = self._plan.baseline
        return Session(self._plan.kernels, self._own, self._ui, baseline=baseline, build=False)


def old_sweep(path: str, *, anew: bool) -> Sweep | None:
    """Return what a file already has of a sweep, if it shall be gone on with."""
    if anew or path == STDOUT or not Path(path).is_file() or not Path(path).stat().st_size:
        return None
    try:
        return sweep_file.load(path)
    except UsageError as error:
        raise UsageError(
            error.what, next_step="name another file with --json, or replace this one with --anew"
        ) from error


def make_sweep(sweeper: Sweeper, plan: SweepPlan, path: str, old: Sweep | None, ui: Ui) -> Sweep:
    """Make the boots that the file has not, and return the whole."""
    if old:
        check_same_sweep(old, plan, path)
    with SweepFile(path, plan.experiment, plan.vary, [str(each) for each in plan.kernels]) as file:
        jobs: list[PointJob] = []
        points = sweeper.prepare()
        for point in points:
            known = known_boots(old, point.settings, point.info, path) if old else []
            file.begin(point.settings, point.info)
            file.keep(known)
            jobs += missing(point.jobs, known)
        total = sum(len(point.jobs) for point in points)
        if old:
            ui.note(f"{path}: {total - len(jobs)} of {total} boots are there already")
        if jobs:
            run_missing(
                sweeper.engine(),
                jobs,
                total,
                ui,
                lambda each, record: file.add(each.settings, record),
            )
        return file.sweep


def run_sweep(wanted: WantedSweep, cluster: Engine | None, ui: Ui) -> Sweep:
    """Build what a sweep needs, make the boots that its file lacks, and return the whole.

    Args:
        wanted: what is to be run.
        cluster: makes the boots; None: this machine does.
        ui: gets the progress.

    Raises:
        UsageError: see `WantedSweep.plan`, a value that does not fit, or what the file has is of
            something else; before the first boot.
        LabError: no kernel, no data, no boot.
    """
    plan = wanted.plan()
    sweeper = Sweeper(plan, wanted.own_sources, cluster, ui)
    return make_sweep(sweeper, plan, wanted.path, old_sweep(wanted.path, anew=wanted.anew), ui)
