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


def proof_steps(build: Build) -> tuple[PlanStep, ...]:
    """Return the steps of a plan that report which kernel this is."""
    return tuple(map(ReportSymbol, build.recipe.symbols))


def plain_request(
    build: Build,
    plan: tuple[PlanStep, ...],
    *,
    memory_mb: int,
    limit_seconds: float,
    virtual_time: bool = True,
) -> BootRequest:
    """Return the request of a boot that is no experiment's; what else it has can be replaced."""
    return BootRequest(
        image=build.image,
        init=guest_program("init"),
        plan=plan,
        memory_mb=memory_mb,
        seed=1,
        virtual_time=virtual_time,
        limit_seconds=limit_seconds,
    )


def _keep(name: str, outcome: Boot) -> Path:
    plan = outcome.console.with_name("plan")
    files = (outcome.console, outcome.channel, outcome.samples, outcome.output, plan)
    target = keep_logs(name, (file for file in files if file.exists()))
    (target / "command").write_text(outcome.command + "\n")
    return target
