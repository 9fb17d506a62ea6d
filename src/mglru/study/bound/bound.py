# SPDX-License-Identifier: GPL-2.0-only
"""How far each kernel is from the optimum: recorded boots, and simulations of what they saw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import TypeVar

from mglru.core.cache import scratch
from mglru.core.errors import LabError, UsageError
from mglru.core.sizes import PAGE_BYTES
from mglru.experiment.spec import RECORDER, Experiment
from mglru.guest.plan import ACCESSES
from mglru.guest.programs import guest_program
from mglru.results.model import BootRecord
from mglru.run.boots import failures
from mglru.run.jobs import Job
from mglru.run.session import Session
from mglru.source.kernel_id import KernelId
from mglru.study.bound import models
from mglru.study.bound.accesses import Accesses, read_accesses
from mglru.study.bound.file import LRU, Bound, KernelOutcome, PolicyOutcome
from mglru.study.bound.simulate import (
    LEARNED,
    POLICIES,
    Simulated,
    simulate,
    write_requests,
)

Seen = TypeVar("Seen")

# Models of policies/ that know all there is to know but the future.
BLIND = {"known rates": "rates", "hazard rates": "hazard"}
# A stock kernel's misses lie within this share of those of LRU in the simulation, or the
# recording does not show what the kernel saw.
MARGIN = 0.1
# With more accesses through page tables than this, most are missing: the processor makes them.
MAPPED_SHARE = 0.05


def check(experiment: Experiment) -> None:
    """Make sure that an experiment's accesses can be recorded.

    Raises:
        UsageError: it has no disk, or is not in virtual time.
    """
    if experiment.dataset is None:
        raise UsageError(
            f"experiment {experiment.name} has no disk, so there are no pages of files to follow",
            next_step="choose one with a [dataset]; ./mglru bound ycsb-b, for example",
        )
    if experiment.time != "virtual":
        raise UsageError(
            f"experiment {experiment.name} runs in real time, which recording would change",
            next_step="choose one in virtual time; ./mglru experiments tells",
        )


def find_bound(
    session: Session,
    jobs: Sequence[Job],
    reference: str,
    *,
    capacity: int | None = None,
    keep: Path | None = None,
    learned: bool = False,
) -> Bound:
    """Record a boot of each kernel, then simulate what one of them saw.

    Args:
        session: boots, and gets the progress.
        jobs: one boot of each kernel, all with the same seed.
        reference: the kernel whose accesses are simulated.
        capacity: of the simulated caches, in pages; None: what that kernel's cgroup had of
            files on average.
        keep: where its accesses are written, in libCacheSim's format oracleGeneral.
        learned: simulate LEARNED as well.

    Raises:
        UsageError: see `check`; or nothing was accessed.
        LabError: a boot failed, or its accesses could not be read.
    """
    recorded = record(session, jobs, read_accesses)
    boot, accesses = recorded[reference]
    pages = capacity or capacity_pages(boot)
    if keep:
        write_requests(keep, accesses.pages)
    policies = POLICIES | LEARNED if learned else POLICIES
    with session.ui.bar(f"simulating {len(policies)} policies", len(policies)) as update:
        outcomes = simulate(accesses, pages, update, policies)
    outcomes |= blind_bounds(accesses, pages)
    return Bound(
        experiment=jobs[0].experiment.name,
        seed=boot.seed,
        recorded_on=reference,
        accesses=len(accesses.measured),
        faults=accesses.faults,
        pages=accesses.distinct,
        first_time=accesses.first_time,
        capacity_pages=pages,
        policies={
            name: PolicyOutcome(misses=outcome.misses, refaults=outcome.refaults)
            for name, outcome in outcomes.items()
        },
        kernels={name: _outcome(record, seen) for name, (record, seen) in recorded.items()},
    )


def blind_bounds(accesses: Accesses, capacity: int) -> dict[str, Simulated]:
    """Return what is left to a policy that cannot see the future; see policies/rates.c, hazard.c.

    Args:
        accesses: the sequence.
        capacity: of the cache, in pages.
    """
    with scratch("accesses") as directory:
        path = directory / "requests.oracleGeneral"
        write_requests(path, accesses.pages[: accesses.end])
        measured = accesses.end - accesses.begin
        found = models.simulate(list(BLIND.values()), [f"{path}:{capacity}:{measured}"])
    misses = {one.policy: one.misses for one in found}
    first = accesses.first_time
    return {
        name: Simulated(misses=misses[model], refaults=misses[model] - first)
        for name, model in BLIND.items()
    }


def record(
    session: Session, jobs: Sequence[Job], read: Callable[[Path], Seen]
) -> dict[str, tuple[BootRecord, Seen]]:
    """Record a boot of each kernel; return its record, and what `read` makes of the recording.

    Raises:
        UsageError: see `check`.
        LabError: a boot failed, or its accesses could not be read.
    """
    check(jobs[0].experiment)
    guest_program(RECORDER, note=session.ui.note)
    recorded: dict[str, tuple[BootRecord, Seen]] = {}
    with scratch("record") as directory:
        homes = {str(job.kernel): directory / str(job.number) / str(job.kernel) for job in jobs}
        for home in homes.values():
            home.mkdir(parents=True)

        def keep(record: BootRecord) -> None:
            _check_worked(record, jobs[0].experiment)
            recorded[record.kernel] = record, read(homes[record.kernel] / ACCESSES)

        recording = [replace(job, recording=homes[str(job.kernel)]) for job in jobs]
        session.boot(recording, keep)
    return recorded


def _check_worked(record: BootRecord, experiment: Experiment) -> None:
    if record.problems:
        raise LabError(
            "a boot that was to be recorded failed",
            log_tail=list(failures([record])),
            next_step=f"see whether it works alone: ./mglru run {experiment.name} "
            f"--kernels {record.kernel}",
        )


def _outcome(record: BootRecord, accesses: Accesses) -> KernelOutcome:
    return KernelOutcome(
        misses=accesses.missed,
        refaults=accesses.missed - accesses.first_time,
        unused=accesses.unused,
        workingset_refault_file=int(record.metrics["workingset_refault_file"]),
        build=record.build,
    )


def capacity_pages(record: BootRecord) -> int:
    """Return how many pages of files the cgroup held: the mean over time, in pages.

    With the classic LRU, whose lists nobody samples, what it held at the end.
    """
    line = record.timeline
    columns = [
        values
        for name, values in (line.figures if line else {}).items()
        if name.startswith("generation_") and name.endswith("_file")
    ]
    if columns:
        return round(fmean(map(sum, zip(*columns, strict=True))))
    return round(record.metrics["file"] / PAGE_BYTES)


def doubts(bound: Bound) -> list[str]:
    """Say why the recording may not show what the kernels saw; nothing if all is well."""
    found = []
    if bound.accesses and bound.faults / bound.accesses > MAPPED_SHARE:
        found.append(
            f"{bound.faults / bound.accesses:.0%} of the accesses are page faults: what programs "
            "do with mapped pages afterwards is not recorded, so the simulations miss hits"
        )
    lru = bound.policies[LRU].misses
    for kernel, outcome in bound.kernels.items():
        off = outcome.misses / lru - 1
        if not KernelId.parse(kernel).series and abs(off) > MARGIN:
            found.append(
                f"{kernel} misses {off:+.1%} of what LRU does in the simulation (expected: within "
                f"{MARGIN:.0%}): the recording lacks accesses, or this kernel is no LRU here"
            )
    return found
