# SPDX-License-Identifier: GPL-2.0-only
"""Which boots a run takes, and how many at once: an experiment and kernels in, jobs out."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from mglru.build.build import Build
from mglru.core.errors import LabError
from mglru.debian.userland import Userland
from mglru.experiment.filesystem import check_kernels
from mglru.experiment.spec import Experiment
from mglru.machine.registry import MACHINES, UML
from mglru.source.kernel_id import KernelId


@dataclass(frozen=True)
class Job:
    """One boot to make.

    Attributes:
        experiment: what to run.
        kernel: on which kernel.
        build: that kernel, built.
        image: the disk image, if the experiment has a disk.
        userland: whose programs run, if not the host's.
        number: which boot of this kernel, from 0.
        seed: of this boot; boot i of every kernel has the run's seed + i.
        recording: the directory that gets the accesses to page-cache pages, None to record none.
        outputs: a directory that gets what a user's program printed, see `output_file`.
        machine: a name in `registry.MACHINES`; the experiment is one that fits it.
        watch: called again and again while the guest runs, with its console log.
    """

    experiment: Experiment
    kernel: KernelId
    build: Build
    image: Path | None
    number: int
    seed: int
    userland: Userland | None = None
    recording: Path | None = None
    outputs: Path | None = None
    machine: str = UML
    watch: Callable[[Path], None] | None = None


def make_jobs(
    experiment: Experiment,
    builds: Mapping[KernelId, Build],
    image: Path | None,
    *,
    boots: int,
    seed: int,
    vary_seed: bool = True,
    userland: Userland | None = None,
    machine: str = UML,
) -> list[Job]:
    """Return the boots of a run, kernels interleaved: A B A B.

    Args:
        experiment: what to run.
        builds: the kernels, in order.
        image: the disk image, if the experiment has a disk.
        boots: how many boots of each kernel.
        seed: of the first boot.
        vary_seed: boot i has seed + i; else all have the same, to see whether they agree.
        userland: whose programs run, if not the host's.
        machine: on which machine; limits and time become those that fit it.

    Raises:
        UsageError: a kernel lacks the file system of the experiment's disk, or the machine does
            not fit.
    """
    check_kernels(experiment.disk.filesystem, builds)
    experiment = MACHINES[machine].fit(experiment)
    return [
        Job(
            experiment=experiment,
            kernel=kernel,
            build=build,
            image=image,
            number=number,
            seed=seed + number * vary_seed,
            userland=userland,
            machine=machine,
        )
        for number in range(boots)
        for kernel, build in builds.items()
    ]


def parallel_boots(experiment: Experiment) -> int:
    """Return how many boots may run at once without changing the figures.

    In virtual time the host's speed does not matter, so one for each CPU that has the memory;
    in real time only one.

    Raises:
        LabError: there is not even the memory for one.
    """
    available, wanted = available_bytes() >> 20, experiment.guest.memory_mb
    if wanted > available:
        raise LabError(
            f"a guest of {experiment.name} has {wanted:,} MB of memory, and this machine has "
            f"{available:,} MB free",
            next_step=f"free some, or --set guest.memory_mb={max(256, available // 2)}",
        )
    if experiment.time == "real":
        return 1
    fitting = int(available * 0.8) // wanted
    return max(1, min(len(os.sched_getaffinity(0)), fitting))


def available_bytes() -> int:
    """Return how much memory the host could give without swapping."""
    return psutil.virtual_memory().available
