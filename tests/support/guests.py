# SPDX-License-Identifier: GPL-2.0-only
"""A guest of a test: its plan, a kernel to boot, what it reported."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mglru.build.build import Build, find_build
from mglru.build.recipe import make_recipe
from mglru.guest import channel, console
from mglru.guest.places import guest_path
from mglru.guest.programs import guest_program
from mglru.guest.steps import (
    NO_CGROUP,
    MakeDirectory,
    MakeDisk,
    Mount,
    PlanStep,
    ReportLruGen,
    Run,
)
from mglru.machine.request import Boot, BootRequest
from mglru.machine.uml import boot
from mglru.source.kernel_id import KernelId
from mglru.source.trees import cached


@dataclass(frozen=True)
class Line(PlanStep):
    """A line of a plan as guest/init/init.c reads it, whatever it says."""

    text: str

    def words(self) -> list[str]:
        return [self.text]

    def __post_init__(self) -> None:
        """Anything goes."""


CGROUP = "/sys/fs/cgroup/work"
ENABLED = "/sys/kernel/mm/lru_gen/enabled"


def held_disk(size_mb: int) -> tuple[str, str]:
    """A disk of 80 us; its page cache lasts as long as somebody has it open."""
    timer = "irqmode=2\tcompletion_nsec=80000"
    return (
        f"disk\tdata\tsize={size_mb}\tmemory_backed=1\tblocksize=4096\t{timer}",
        "spawn\thold\t-\t/bin/sh\t-c\texec sleep 1000 < /dev/data",
    )


DISK = held_disk(200)
DATA = "/mnt/data"


def file_system(size_mb: int, completion_us: int | None = None) -> tuple[PlanStep, ...]:
    """A disk with ext4 on DATA."""
    return (
        MakeDisk("data", size_mb, completion_us),
        Run("mkfs", NO_CGROUP, ("/sbin/mkfs.ext4", "-qF", "/dev/data")),
        MakeDirectory(DATA),
        Mount("ext4", "/dev/data", DATA),
    )


def script_with_groups(label: str, script: str, disk_mb: int) -> list[str | PlanStep]:
    """Return a plan: a script beside a held disk that makes groups of its own in $MGLRU_CGROUP."""
    return [
        *held_disk(disk_mb),
        "cgroup\t2",
        f"mkdir\t{CGROUP}",
        f"env\tMGLRU_CGROUP\t{CGROUP}",
        f"step\t{label}\t-\t/bin/sh\t-c\t{script}",
    ]


def kernel_build(name: str) -> Build:
    kernel = KernelId.parse(name)
    source = cached(kernel.base)
    assert source, f"the source of {kernel.base} is missing: run ./mglru test"
    build = find_build(make_recipe(kernel, source))
    assert build, f"{name} is not built: run ./mglru test"
    return build


def as_steps(plan: Iterable[str | PlanStep]) -> tuple[PlanStep, ...]:
    """A plan some of whose steps are written as init reads them."""
    return tuple(Line(step) if isinstance(step, str) else step for step in plan)


def request(
    build: Build, *plan: str | PlanStep, limit: float = 60, virtual: bool = True
) -> BootRequest:
    return BootRequest(
        image=build.image,
        init=guest_program("init"),
        plan=(ReportLruGen(), *as_steps(plan)),
        memory_mb=512,
        seed=1,
        virtual_time=virtual,
        limit_seconds=limit,
    )


def memcg(limit: str) -> tuple[str, ...]:
    return (
        "cgroup\t2",
        f"mkdir\t{CGROUP}",
        f"env\tMGLRU_CGROUP\t{CGROUP}",
        f"write\t{CGROUP}/memory.max\t{limit}",
    )


def step(label: str, script: str) -> str:
    return f"step\t{label}\t{CGROUP}\t/bin/sh\t-c\t{script}"


def program_step(name: str, *arguments: str, cgroup: str = "-") -> Run:
    """The step of a plan that starts a guest program as the step `run`."""
    return Run("run", cgroup, (guest_path(guest_program(name)), *arguments))


def run_plan(tmp_path: Path, *plan: str | PlanStep) -> channel.GuestReport:
    """Carry out a plan on stock 6.12, in a directory of its own."""
    directory = Path(tempfile.mkdtemp(dir=tmp_path))
    return read_report(boot(request(kernel_build("6.12"), *plan), directory))


def read_report(outcome: Boot) -> channel.GuestReport:
    return channel.parse(outcome.reported)


def plan_metrics(tmp_path: Path, kernel: str, *plan: str | PlanStep) -> dict[str, float]:
    """Return the counters of a plan on a kernel, all of whose steps have to do their work."""
    directory = tmp_path / kernel
    directory.mkdir()
    outcome = boot(request(kernel_build(kernel), "strict", *plan, limit=300), directory)
    report = read_report(outcome)
    assert not outcome.timed_out
    assert report.done
    assert [(done.label, done.failed) for done in report.steps if done.failed] == []
    assert console.scan(outcome.console.read_bytes()) == []
    return channel.metrics_of(report)


def refaults(
    name: str, switch: str, where: Path, before: Sequence[str], counted: Sequence[str]
) -> float:
    """Run commands in a cgroup of 16 MiB; return the file refaults of those that are counted."""
    plan = [
        f"write\t{ENABLED}\t{switch}",
        *DISK,
        *memcg("16M"),
        *(step(f"before{i}", command) for i, command in enumerate(before)),
        "counters\tbegin",
        *(step(f"counted{i}", command) for i, command in enumerate(counted)),
        "counters\tend",
    ]
    report = read_report(boot(request(kernel_build(name), *plan), where))
    assert not [step for step in report.steps if step.failed]
    return channel.metrics_of(report)["workingset_refault_file"]
