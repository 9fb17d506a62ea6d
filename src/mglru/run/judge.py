# SPDX-License-Identifier: GPL-2.0-only
"""Judging a boot: was it the kernel asked for, and did all go well?"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from signal import SIGKILL

from mglru.build.recipe import Recipe
from mglru.core.errors import LabError
from mglru.guest import console
from mglru.guest.channel import GuestReport, ProblemKind
from mglru.machine.request import Boot
from mglru.source.kernel_id import KernelId

# The bit of lru_gen/enabled that says that aging walks page tables.
WALKS = 0x2
# The driver of an experiment without counters of its own need not report all of these.
_HARMLESS = {ProblemKind.OUT_OF_RANGE}


@dataclass(frozen=True)
class Expectation:
    """What a boot must show.

    Attributes:
        kernel: the kernel asked for.
        recipe: what that kernel was built from.
        findings: kinds of trouble in the console log that the experiment expects.
        walks: the machine sets accessed bits, so that the multi-gen LRU walks page tables.
        cpus: its processors.
        nodes: its memory nodes.
    """

    kernel: KernelId
    recipe: Recipe
    findings: Collection[str]
    walks: bool = False
    cpus: int = 1
    nodes: int = 1


def prove(report: GuestReport, expected: Expectation) -> None:
    """Make sure that the guest ran the kernel that was asked for, before anything is counted.

    Raises:
        LabError: it ran another one, the multi-gen LRU was not switched as asked, or there were
            other processors or nodes.
    """
    if report.kernel is None:
        return
    wrong = []
    if report.kernel.release != expected.recipe.release:
        wrong.append(f"release {report.kernel.release}, not {expected.recipe.release}")
    wrong += [f"no symbol {name}" for name in expected.recipe.proofs if not _has(report, name)]
    wrong += [f"a symbol {name}" for name in expected.recipe.absent if _has(report, name)]
    if problem := _lru_gen_problem(report.lru_gen, expected):
        wrong.append(problem)
    if wrong:
        raise LabError(
            f"the guest does not run {expected.kernel}: it has {'; '.join(wrong)}",
            next_step=f"./mglru kernel clean --days 0, then ./mglru kernel build {expected.kernel}",
        )
    if (report.kernel.cpus, report.kernel.nodes) != (expected.cpus, expected.nodes):
        raise LabError(
            f"the guest has {report.kernel.cpus} processors and {report.kernel.nodes} memory nodes,"
            f" not {expected.cpus} and {expected.nodes}",
            next_step=f"does {expected.kernel} have SMP and NUMA? Else its console log tells",
        )


def _has(report: GuestReport, symbol: str) -> bool:
    return report.symbols.get(symbol, False)


def _lru_gen_problem(enabled: str | None, expected: Expectation) -> str | None:
    """Compare /sys/kernel/mm/lru_gen/enabled (`0x0001`, or `absent`) with what was asked for."""
    kernel = expected.kernel
    if enabled is None:
        return None  # the guest died before; that is reported elsewhere
    compiled_out = ("LRU_GEN", "n") in kernel.options
    if compiled_out or enabled == "absent":
        return None if compiled_out and enabled == "absent" else f"lru_gen {enabled}"
    bits = int(enabled, 16)
    fine = not bits if kernel.classic else bits and bool(bits & WALKS) == expected.walks
    return None if fine else f"lru_gen/enabled {enabled}"


def problems(boot: Boot, report: GuestReport, expected: Expectation, limit: float) -> list[str]:
    """List all that went wrong in a boot, one sentence each; empty for a good one."""
    found = []
    if boot.timed_out:
        found.append(f"the guest was killed after its limit of {limit:.0f} s of real time")
    seen = console.scan(boot.console.read_bytes())
    findings = console.unexpected(seen, expected.findings)
    found += [f"console: {finding}" for finding in findings]
    found += [str(problem) for problem in report.problems if problem.kind not in _HARMLESS]
    found += [
        f"step {step.label} {step.how}"
        for step in report.steps
        if step.failed and not (step.signal == SIGKILL and _kill_is_expected(seen, expected))
    ]
    return found


def _kill_is_expected(seen: list[console.ConsoleFinding], expected: Expectation) -> bool:
    """Whether an out-of-memory kill is a result of the experiment, and there was one."""
    kind = console.Trouble.MEMCG_OOM
    return kind in expected.findings and any(finding.kind == kind for finding in seen)
