# SPDX-License-Identifier: GPL-2.0-only
"""Running a suite: every point on every kernel with every seed, as far as a file lacks it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mglru.core.errors import GuestDiedError, UsageError
from mglru.core.ui import Ui
from mglru.experiment.filesystem import able_kernel
from mglru.experiment.settings import Setting, recorded
from mglru.experiment.spec import Experiment
from mglru.machine.registry import MACHINES
from mglru.results.model import BootRecord, RunResult
from mglru.run import resume
from mglru.run.boots import Job, parallel_boots, run_in_any_order, run_job
from mglru.run.session import Prepared, Session
from mglru.source.kernel_id import KernelId
from mglru.study.suite.families import Family
from mglru.study.suite.file import SuiteFile


@dataclass(frozen=True)
class SuitePlan:
    """All that a suite's run was asked for.

    Attributes:
        families: what to run.
        kernels: on which kernels; the last is the one that is judged.
        seeds: boots of each kernel; None: what each experiment says.
        seed: of the first boot.
        settings: of all points.
        machine: on which machine.
        baseline: whether the first of the kernels was chosen for ratios to refer to.
        renew: whether boots of kernels that have changed are made again, instead of refused.
    """

    families: Sequence[Family]
    kernels: Sequence[KernelId]
    seeds: int | None
    seed: int
    settings: Sequence[Setting]
    machine: str
    baseline: bool = False
    renew: bool = False

    @property
    def points(self) -> list[Experiment]:
        """Every point of every family, in order."""
        return [point for family in self.families for point in family.points]

    def kernels_of(self, point: Experiment) -> list[KernelId]:
        """Return the kernels of a point: with its file system, and with what its own have."""
        return [
            able_kernel(point.disk.filesystem, _with_options(kernel, point))
            for kernel in self.kernels
        ]

    @property
    def needed(self) -> list[KernelId]:
        """Every kernel that some point needs."""
        return list(dict.fromkeys(k for point in self.points for k in self.kernels_of(point)))


def _with_options(kernel: KernelId, point: Experiment) -> KernelId:
    """Return a kernel with the options that all kernels of an experiment's file have."""
    own = [set(KernelId.parse(name).options) for name in point.kernels]
    common = set.intersection(*own) if own else set()
    return replace(kernel, options=tuple(sorted({*kernel.options, *common})))


def check_machine(plan: SuitePlan) -> None:
    """Make sure that the machine can run every point.

    Raises:
        UsageError: it cannot; the message names each that it cannot run, and why.
    """
    reasons: dict[str, UsageError] = {}
    for point in plan.points:
        try:
            MACHINES[plan.machine].fit(point)
        except UsageError as error:
            reasons[point.name] = error
    if reasons:
        first = next(iter(reasons.values()))
        left_out = " ".join(f"--leave-out {name}" for name in reasons)
        raise UsageError(
            f"the machine {plan.machine} cannot run {', '.join(reasons)}: {first.what}",
            next_step=f"{left_out}; or {first.next_step}",
        )


def prepare(plan: SuitePlan, session: Session) -> list[Prepared]:
    """Return every point with its boots, when all that they need has been made."""
    return [_prepare(plan, point, session) for point in plan.points]


def _prepare(plan: SuitePlan, experiment: Experiment, session: Session) -> Prepared:
    own = plan.kernels_of(experiment)
    return session.prepare(
        experiment,
        boots=plan.seeds or MACHINES[plan.machine].fit(experiment).usual_boots,
        seed=plan.seed,
        parameters=recorded(plan.settings),
        kernels=own,
        baseline=str(own[0]) if plan.baseline else "",
    )


def begin(
    points: Sequence[Prepared],
    file: SuiteFile,
    old: Mapping[str, RunResult],
    path: str,
    *,
    renew: bool = False,
) -> list[Job]:
    """Put every point into the file with the boots that it has; return those that are missing.

    Raises:
        UsageError: the file's boots were made of something else; not with `renew`.
    """
    names = {point.info.experiment for point in points}
    file.keep_others([run for name, run in old.items() if name not in names])
    jobs: list[Job] = []
    for point in points:
        name = point.info.experiment
        if name not in old:
            known = []
        elif renew:
            known = resume.unchanged_boots(old[name], point.info)
        else:
            known = resume.known_boots(old[name], point.info, f"{path}, {name}")
        file.begin(point.info, known)
        jobs += filter(resume.missing(known), point.jobs)
    return jobs


def boot(job: Job) -> BootRecord:
    """Make a boot; that a kernel with patches does not come up is a result, not an error.

    Raises:
        LabError: a guest ran the wrong kernel, or stock could not start.
    """
    try:
        return run_job(job)
    except GuestDiedError as error:
        if not job.kernel.series:
            raise
        return BootRecord(
            kernel=str(job.kernel),
            boot=job.number,
            seed=job.seed,
            metrics={},
            problems=[error.what, *error.log_tail[-3:]],
            build=job.build.recipe.key,
        )


def run_missing(jobs: Sequence[Job], total: int, file: SuiteFile, ui: Ui, title: str) -> None:
    """Make the boots that are missing, as many at once as fit, and keep each as it ends.

    Args:
        jobs: the missing ones.
        total: boots of the whole suite.
        file: keeps them.
        ui: gets the bar, and a line for each point that is complete.
        title: of the bar.

    Raises:
        LabError: see `boot`, or the file cannot be written.
    """
    groups: dict[int, list[Job]] = {}
    for job in jobs:
        groups.setdefault(parallel_boots(job.experiment), []).append(job)
    _tell_of_memory(groups.get(1, []), ui)
    left = len(jobs)
    with ui.bar(title, total) as update:

        def done(job: Job, record: BootRecord) -> None:
            nonlocal left
            left -= 1
            run = file.add(job.experiment.name, record)
            update(total - left, run.experiment)
            if len(run.raw) == run.boots * len(run.kernels):
                ui.note(f"{run.experiment}: complete; {left} of {total} boots to go")

        for parallel, group in sorted(groups.items(), reverse=True):
            run_in_any_order(group, parallel, done, boot)


def _tell_of_memory(jobs: Sequence[Job], ui: Ui) -> None:
    """Say which points run one boot at a time though time is virtual: for want of memory."""
    names = dict.fromkeys(
        job.experiment.name
        for job in jobs
        if job.experiment.time != "real" and parallel_boots(_in_least_memory(job.experiment)) > 1
    )
    if names:
        ui.warn(f"too little memory for two boots at once, so one at a time: {', '.join(names)}")


def _in_least_memory(experiment: Experiment) -> Experiment:
    """Return an experiment with the smallest guest, to ask what memory changes."""
    return experiment.model_copy(
        update={"guest": experiment.guest.model_copy(update={"memory_mb": 64})}
    )


def make_missing(
    plan: SuitePlan,
    suite: str,
    own: Sequence[Path],
    file: SuiteFile,
    old: Mapping[str, RunResult],
    path: str,
    ui: Ui,
) -> None:
    """Build what a suite needs, and make the boots that its file lacks.

    Args:
        plan: what to run.
        suite: its name.
        own: the user's kernel sources.
        file: gets the boots.
        old: what it had before, by run.
        path: the file, as the user named it.
        ui: gets the progress.

    Raises:
        UsageError: what is there is of something else.
        LabError: no kernel, no data, no boot.
    """
    ui.note(f"{len(plan.families)} families, {len(plan.points)} points of {suite}")
    points = prepare(plan, Session(plan.needed, own, ui, machine=plan.machine))
    total = sum(len(point.jobs) for point in points)
    jobs = begin(points, file, old, path, renew=plan.renew)
    if old:
        ui.note(f"{path}: {total - len(jobs)} of {total} boots are there already")
    if jobs:
        run_missing(jobs, total, file, ui, f"running the suite {suite}")
