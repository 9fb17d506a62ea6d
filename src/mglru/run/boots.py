# SPDX-License-Identifier: GPL-2.0-only
"""From jobs to records: boots made, judged, recorded, interleaved or in any order."""

from __future__ import annotations

import concurrent.futures
import contextlib
import inspect
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from mglru.core import process
from mglru.core.cache import made_file, scratch
from mglru.core.keys import key_of
from mglru.core.paths import cache_dir
from mglru.core.ui import Ui
from mglru.experiment import trace
from mglru.experiment.spec import Experiment
from mglru.guest import channel
from mglru.guest.plan import TRACE_MB, PlanInputs, make_plan
from mglru.guest.programs import guest_program
from mglru.machine.registry import MACHINES
from mglru.machine.request import BootRequest
from mglru.results.model import BootRecord
from mglru.run.jobs import Job
from mglru.run.judge import Expectation
from mglru.run.judged import Judged, boot_and_judge


def output_file(outputs: Path, kernel: str, number: int) -> Path:
    """Return where a boot's output is kept."""
    return outputs / f"{kernel}-{number}.txt"


def run_jobs(
    jobs: Sequence[Job], ui: Ui, record: Callable[[BootRecord], object], parallel: int
) -> None:
    """Make all boots and hand over each record as it comes, in the order of the jobs.

    Args:
        jobs: from `make_jobs`.
        ui: gets the progress.
        record: called in this thread.
        parallel: boots at once.

    Raises:
        LabError: a guest ran the wrong kernel, or could not start.
    """
    with (
        ui.bar(f"running {jobs[0].experiment.name}", len(jobs)) as update,
        _begun(jobs, parallel, run_job) as futures,
    ):
        for number, (future, job) in enumerate(futures.items()):
            update(number, str(job.kernel))
            record(future.result())


def run_in_any_order(
    jobs: Sequence[Job],
    parallel: int,
    done: Callable[[Job, BootRecord], object],
    boot: Callable[[Job], BootRecord] | None = None,
) -> None:
    """Make boots of whatever experiments, and hand over each record as soon as it ends.

    Args:
        jobs: the boots, begun in this order.
        parallel: boots at once.
        done: called in this thread.
        boot: makes one; `run_job` if None.

    Raises:
        LabError: a guest ran the wrong kernel, or could not start.
    """
    with _begun(jobs, parallel, boot or run_job) as futures:
        for future in concurrent.futures.as_completed(futures):
            done(futures[future], future.result())


@contextlib.contextmanager
def _begun(
    jobs: Sequence[Job], parallel: int, boot: Callable[[Job], BootRecord]
) -> Iterator[dict[concurrent.futures.Future[BootRecord], Job]]:
    """Give boots that are being made, in the order of the jobs; if the block fails, all end."""
    with concurrent.futures.ThreadPoolExecutor(parallel) as pool:
        try:
            yield {pool.submit(boot, job): job for job in jobs}
        except BaseException:
            # Ctrl-C or an error: no further boot, and those under way are killed.
            pool.shutdown(wait=False, cancel_futures=True)
            process.cancel_all()
            raise


def trace_file(experiment: Experiment, seed: int) -> Path | None:
    """Return the file of operations for a seed, drawing it if the cache has none."""
    spec = experiment.trace
    if spec is None:
        return None
    recipe = spec.model_dump_json() + inspect.getsource(trace)
    path = cache_dir("traces") / f"{key_of(recipe, length=16)}-{seed}"
    return made_file(path, lambda new: trace.write_trace(new, spec, seed))


def _request(job: Job) -> BootRequest:
    experiment, recipe = job.experiment, job.build.recipe
    inputs = PlanInputs(
        program=guest_program,
        image=job.image,
        trace=trace_file(experiment, job.seed),
        seed=job.seed,
        symbols=recipe.symbols,
        classic=job.kernel.classic,
        userland=job.userland.root if job.userland else None,
        recording=job.recording,
    )
    memory_mb = experiment.guest.memory_mb + (TRACE_MB if job.recording else 0)
    return BootRequest(
        image=job.build.image,
        init=guest_program("init"),
        plan=make_plan(experiment, inputs),
        memory_mb=memory_mb,
        seed=job.seed,
        virtual_time=experiment.time != "real",
        limit_seconds=experiment.limit_seconds,
        cpus=experiment.guest.cpus or 1,
        nodes=experiment.guest.nodes or 1,
        movable_mb=experiment.guest.movable_mb,
        files=_files(experiment, inputs),
        disk=job.image,
        userland=inputs.userland,
        watch=job.watch,
    )


def _files(experiment: Experiment, inputs: PlanInputs) -> tuple[Path, ...]:
    """Return the host's files that a plan names, but for images and trees."""
    programs = [guest_program(name) for name in experiment.programs]
    return (*programs, *([inputs.trace] if inputs.trace else []))


def run_job(job: Job) -> BootRecord:
    """Make one boot and judge it.

    Raises:
        LabError: the guest ran the wrong kernel, or could not start.
    """
    with scratch("boot") as directory:
        guest = job.experiment.guest
        expected = Expectation(
            kernel=job.kernel,
            recipe=job.build.recipe,
            findings=job.experiment.expects,
            walks=MACHINES[job.machine].walks,
            cpus=guest.cpus or 1,
            nodes=guest.nodes or 1,
        )
        judged = boot_and_judge(
            job.experiment.name, _request(job), expected, directory, job.machine
        )
        if job.outputs:
            kept = output_file(job.outputs, str(job.kernel), job.number)
            shutil.copy2(judged.outcome.output, kept)
        return _record(job, judged)


def _record(job: Job, judged: Judged) -> BootRecord:
    report = judged.report
    metrics = channel.metrics_of(report)
    for step in job.experiment.steps:
        if step.metric and (elapsed := metrics.get(f"{step.label}_seconds")) is not None:
            metrics[step.metric] = elapsed
    return BootRecord(
        kernel=str(job.kernel),
        boot=job.number,
        seed=job.seed,
        metrics=metrics,
        problems=judged.problems,
        release=report.kernel.release if report.kernel else "",
        build=job.build.recipe.key,
        real_seconds=round(judged.outcome.real_seconds, 3),
        latency={latency.name: latency.histogram.encode() for latency in report.latencies},
        # One boot of each kernel is enough to look at, and a time line is long.
        timeline=None if job.number else channel.timeline_of(report),
    )


def failures(records: Sequence[BootRecord]) -> Iterator[str]:
    """Say of every boot that went wrong how it did."""
    for record in records:
        for problem in record.problems:
            yield f"{record.kernel}, boot {record.boot} (seed {record.seed}): {problem}"
