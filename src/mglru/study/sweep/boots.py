# SPDX-License-Identifier: GPL-2.0-only
"""An experiment at many points: which boots that takes, and which of them a file already has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from mglru.core.errors import UsageError
from mglru.core.ui import Ui
from mglru.experiment.load import load_experiment
from mglru.experiment.settings import Setting, from_record
from mglru.experiment.spec import Experiment
from mglru.results.model import BootRecord, RunInfo
from mglru.run import resume
from mglru.run.boots import failures, run_in_any_order
from mglru.run.jobs import Job
from mglru.source.kernel_id import KernelId
from mglru.study.sweep.file import Sweep
from mglru.study.sweep.points import Settings, Value, combinations, describe


@dataclass(frozen=True)
class SweepPlan:
    """All that a sweep was asked for.

    Attributes:
        experiment: its name.
        vary: every key with its values.
        fixed: settings of all points.
        kernels: in order.
        boots: of each kernel at each point; None: what the experiment says.
        seed: of the first boot of every kernel at every point.
        baseline: what `--kernels` chose for ratios to refer to; empty: nothing.
    """

    experiment: str
    vary: Mapping[str, Sequence[Value]]
    fixed: Sequence[Setting]
    kernels: Sequence[KernelId]
    boots: int | None
    seed: int
    baseline: str = ""


@dataclass(frozen=True)
class PointJob:
    """One boot of a sweep: where it belongs, and what to boot."""

    settings: Settings
    job: Job


Done = Callable[[PointJob, BootRecord], None]


class Engine(Protocol):
    """What makes boots: threads of this machine, or workers of a cluster."""

    def run(self, jobs: Sequence[PointJob], done: Done) -> None:
        """Make all boots and hand over each record, in this thread, in whatever order they end.

        Raises:
            LabError: a guest ran the wrong kernel, or could not start.
        """


def load_points(plan: SweepPlan) -> list[tuple[Settings, Experiment]]:
    """Return every point with the experiment that it is.

    Raises:
        UsageError: no such experiment or key, a value that does not fit, or a key that is both
            set and varied.
    """
    for setting in plan.fixed:
        if setting.name in plan.vary:
            raise UsageError(
                f"'{setting.name}' is both set and varied", next_step="leave out --set or --vary"
            )
    return [
        (settings, load_experiment(plan.experiment, settings_at(plan, settings)))
        for settings in combinations(plan.vary)
    ]


def settings_at(plan: SweepPlan, settings: Settings) -> list[Setting]:
    """Return all settings of a point: what is fixed, and what is varied."""
    return [*plan.fixed, *from_record(settings)]


def check_same_sweep(old: Sweep, plan: SweepPlan, path: str) -> None:
    """Refuse to go on in a file that was made by other arguments.

    Raises:
        UsageError: they differ, with the first difference.
    """
    vary = {key: list(values) for key, values in plan.vary.items()}
    pairs: list[tuple[str, object, object]] = [
        ("experiment", old.experiment, plan.experiment),
        ("--kernels", ",".join(old.kernels), ",".join(map(str, plan.kernels))),
        ("--vary", _vary_text(old.vary), _vary_text(vary)),
    ]
    resume.refuse_differences(path, pairs)


def known_boots(old: Sweep, settings: Settings, info: RunInfo, path: str) -> list[BootRecord]:
    """Return the boots that a file has of a point.

    Args:
        old: the file's content.
        settings: the point.
        info: what would be booted now.
        path: the file, for messages.

    Raises:
        UsageError: they were made of something else.
    """
    run = next((point.run for point in old.points if point.settings == settings), None)
    if run is None:
        return []
    where = f"{path}, point {describe(settings)}"
    resume.refuse_differences(where, [("--boots", run.boots, info.boots)])
    return resume.known_boots(run, info, where)


def _vary_text(vary: Mapping[str, Sequence[Value]]) -> str:
    return " ".join(f"{key}={','.join(map(str, values))}" for key, values in vary.items())


def missing(jobs: Sequence[PointJob], known: Sequence[BootRecord]) -> list[PointJob]:
    """Return the boots of one point that are still to be made."""
    is_missing = resume.missing(known)
    return [each for each in jobs if is_missing(each.job)]


class LocalEngine:
    """Boots on this machine.

    Args:
        parallel: boots at once, of whatever points.
    """

    def __init__(self, parallel: int) -> None:
        self._parallel = parallel

    def run(self, jobs: Sequence[PointJob], done: Done) -> None:
        """Make all boots (see Engine)."""
        points = {id(each.job): each for each in jobs}
        run_in_any_order(
            [each.job for each in jobs],
            self._parallel,
            lambda job, record: done(points[id(job)], record),
        )


def run_missing(engine: Engine, jobs: Sequence[PointJob], total: int, ui: Ui, record: Done) -> None:
    """Make the boots that are missing, with a bar that names the point.

    Args:
        engine: makes them.
        jobs: the missing ones, at least one.
        total: boots of the whole sweep.
        ui: gets the bar.
        record: called with each boot as it ends.

    Raises:
        LabError: see Engine.
    """
    left = list(jobs)
    with ui.bar(f"sweeping {jobs[0].job.experiment.name}", total) as update:

        def show() -> None:
            first = f"{describe(left[0].settings)} on {left[0].job.kernel}" if left else ""
            update(total - len(left), first)

        def done(each: PointJob, boot: BootRecord) -> None:
            record(each, boot)
            left.remove(each)
            show()

        show()
        engine.run(jobs, done)


def sweep_failures(sweep: Sweep) -> list[str]:
    """Say of every boot that went wrong where and how it did."""
    return [
        f"{describe(point.settings)}: {text}"
        for point in sweep.points
        for text in failures(point.run.raw)
    ]
