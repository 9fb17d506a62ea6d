# SPDX-License-Identifier: GPL-2.0-only
"""A boot made, proved and judged: a request in; out: what the guest said and what went wrong.

The one way in which the lab boots a kernel, for experiments and for everything else.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mglru.build.build import Build
from mglru.core.errors import LabError
from mglru.guest import channel
from mglru.guest.channel import GuestReport
from mglru.guest.programs import guest_program
from mglru.guest.steps import PlanStep, ReportSymbol
from mglru.machine.registry import MACHINES, UML
from mglru.machine.request import Boot, BootRequest
from mglru.run.judge import Expectation, problems, prove
from mglru.run.kept_logs import keep_logs


@dataclass(frozen=True)
class Judged:
    """What came of a boot of the kernel that was asked for.

    Attributes:
        outcome: how it went.
        report: what the guest said.
        problems: what went wrong, one sentence each, and last where the logs are kept.
    """

    outcome: Boot
    report: GuestReport
    problems: list[str]


def boot_and_judge(
    name: str, request: BootRequest, expected: Expectation, directory: Path, machine: str = UML
) -> Judged:
    """Boot a kernel and judge it; the logs of a boot that went wrong are kept.

    Args:
        name: of what runs, for the kept logs.
        request: what to boot.
        expected: what the boot must show.
        directory: an empty one for the boot's files.
        machine: a name in `registry.MACHINES`.

    Raises:
        LabError: the guest could not start, or it ran another kernel.
    """
    outcome = MACHINES[machine].boot(request, directory)
    report = channel.parse(outcome.reported)
    name = f"{name}-{expected.kernel}"
    try:
        prove(report, expected)
    except LabError:
        _keep(name, outcome)
        raise
    found = problems(outcome, report, expected, request.limit_seconds)
    if found:
        found.append(f"logs: {_keep(name, outcome)}")
    return Judged(outcome, report, found)


@dataclass(frozen=True)
class PlainBoot:
    """A boot that is no experiment's.

    Attributes:
        plan: what the guest does after it has told which kernel it is.
        memory_mb: its memory.
        limit_seconds: real time after which it is killed.
        virtual_time: see `BootRequest`, as of the next three.
        options: words for the kernel's command line.
        files: of the host, that the plan names.
        disk: the image that the plan copies to the guest's disk.
        movable_mb: see `BootRequest`.
        findings: kinds of trouble in the console log that are no problem.
    """

    plan: tuple[PlanStep, ...]
    memory_mb: int
    limit_seconds: float
    virtual_time: bool = True
    options: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    disk: Path | None = None
    movable_mb: int = 0
    findings: tuple[str, ...] = ()


def boot_plain(
    name: str, build: Build, plain: PlainBoot, directory: Path, machine: str = UML
) -> Judged:
    """Boot a kernel without an experiment and judge it.

    Args:
        name: of what runs, for the kept logs.
        build: the kernel.
        plain: what to boot.
        directory: an empty one for the boot's files.
        machine: a name in `registry.MACHINES`.

    Raises:
        LabError: the guest could not start, or it ran another kernel.
    """
    recipe = build.recipe
    request = BootRequest(
        image=build.image,
        init=guest_program("init"),
        plan=(*map(ReportSymbol, recipe.symbols), *plain.plan),
        memory_mb=plain.memory_mb,
        seed=1,
        virtual_time=plain.virtual_time,
        limit_seconds=plain.limit_seconds,
        options=plain.options,
        files=plain.files,
        disk=plain.disk,
        movable_mb=plain.movable_mb,
    )
    expected = Expectation(recipe.kernel, recipe, plain.findings, MACHINES[machine].walks)
    return boot_and_judge(name, request, expected, directory, machine)


def _keep(name: str, outcome: Boot) -> Path:
    plan = outcome.console.with_name("plan")
    files = (outcome.console, outcome.channel, outcome.samples, outcome.output, plan)
    target = keep_logs(name, (file for file in files if file.exists()))
    (target / "command").write_text(outcome.command + "\n")
    return target
