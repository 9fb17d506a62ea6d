# SPDX-License-Identifier: GPL-2.0-only
"""Running a suite: every point on every kernel with every seed, as far as a file lacks it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mglru.core.errors import GuestDiedError
from mglru.core.ui import Ui
from mglru.experiment.settings import recorded
from mglru.experiment.spec import Experiment
from mglru.machine.registry import MACHINES
from mglru.results.model import BootRecord, RunResult
from mglru.run import resume
from mglru.run.boots import run_in_any_order, run_job
from mglru.run.jobs import Job, parallel_boots
from mglru.run.session import Prepared, Session
from mglru.study.suite.file import SuiteFile, load_old
from mglru.study.suite.plan import SuitePlan, WantedSuite


@dataclass(frozen=True)
class BegunSuite:
    """A suite as far as its file has it.

    Attributes:
        runs: of every point, by its name, with the boots that there are.
        total: boots of the whole suite.
        jobs: the boots that are missing.
    """

    runs: Mapping[str, RunResult]
    total: int
    jobs: Sequence[Job]


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
) -> BegunSuite:
    """Put every point into the file with the boots that it has; return these, and what is missing.

    Raises:
        UsageError: the file's boots were made of something else; not with `renew`.
    """
    names = {point.info.experiment for point in points}
    file.keep_others([run for name, run in old.items() if name not in names])
    runs: dict[str, RunResult] = {}
    jobs: list[Job] = []
    for point in points:
        name = point.info.experiment
        if name not in old:
            known = []
        elif renew:
            known = resume.unchanged_boots(old[name], point.info)
        else:
            known = resume.known_boots(old[name], point.info, f"{path}, {name}")
        runs[name] = file.begin(point.info, known)
        jobs += filter(resume.missing(known), point.jobs)
    return BegunSuite(runs, sum(len(point.jobs) for point in points), jobs)


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


def run_missing(begun: BegunSuite, file: SuiteFile, ui: Ui, title: str) -> list[RunResult]:
    """Make the boots that are missing, as many at once as fit, and return all runs.

    Args:
        begun: what there is, and what is missing.
        file: keeps each boot as it ends.
        ui: gets the bar, and a line for each point that is complete.
        title: of the bar.

    Raises:
        LabError: see `boot`, or the file cannot be written.
    """
    groups: dict[int, list[Job]] = {}
    for job in begun.jobs:
        groups.setdefault(parallel_boots(job.experiment), []).append(job)
    _tell_of_memory(groups.get(1, []), ui)
    runs, total, left = dict(begun.runs), begun.total, len(begun.jobs)
    with ui.bar(title, total) as update:

        def done(job: Job, record: BootRecord) -> None:
            nonlocal left
            left -= 1
            run = runs[job.experiment.name] = file.add(job.experiment.name, record)
            update(total - left, run.experiment)
            if len(run.raw) == run.boots * len(run.kernels):
                ui.note(f"{run.experiment}: complete; {left} of {total} boots to go")

        for parallel, group in sorted(groups.items(), reverse=True):
            run_in_any_order(group, parallel, done, boot)
    return list(runs.values())


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


def run_suite(wanted: WantedSuite, ui: Ui) -> list[RunResult]:
    """Build what a suite needs, make the boots that its file lacks, and return a run a point.

    Args:
        wanted: what is to be run.
        ui: gets the progress.

    Raises:
        UsageError: see `WantedSuite.plan`, or what the file has is of something else.
        LabError: no kernel, no data, no boot.
    """
    plan = wanted.plan()
    old = load_old(wanted.path, anew=wanted.anew)
    with SuiteFile(wanted.path) as file:
        ui.note(f"{len(plan.families)} families, {len(plan.points)} points of {wanted.suite}")
        session = Session(plan.needed, wanted.own_sources, ui, machine=plan.machine)
        begun = begin(prepare(plan, session), file, old, wanted.path, renew=plan.renew)
        if old:
            there = begun.total - len(begun.jobs)
            ui.note(f"{wanted.path}: {there} of {begun.total} boots are there already")
        if not begun.jobs:
            return list(begun.runs.values())
        return run_missing(begun, file, ui, f"running the suite {wanted.suite}")
