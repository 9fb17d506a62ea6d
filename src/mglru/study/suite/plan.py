# SPDX-License-Identifier: GPL-2.0-only
"""What a suite is to be: what was asked for in; points, their kernels and boots out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mglru.core.errors import UsageError
from mglru.experiment.filesystem import able_kernel
from mglru.experiment.settings import Setting
from mglru.experiment.spec import Experiment
from mglru.machine.registry import MACHINES
from mglru.source.kernel_id import KernelId
from mglru.study.suite.families import Family, families
from mglru.study.suite.harm import judged_kernel


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
    own = [set(each.options) for each in point.kernels]
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


@dataclass(frozen=True, kw_only=True)
class WantedSuite:
    """What whoever runs a suite says of it.

    Attributes:
        suite: its name.
        kernels: the last is the one that is judged.
        machine: a name in `registry.MACHINES`.
        seeds: boots of each kernel; None: what each experiment says.
        seed: of the first boot.
        settings: of all points.
        path: where the results are kept, boot by boot; `-` for stdout.
        baseline: whether the first of the kernels was chosen for ratios to refer to.
        quick: only the points marked so.
        only: families or points that are run; none: all.
        leave_out: families or points that are not run.
        anew: whether what the file has is replaced instead of gone on with.
        renew: whether boots of kernels that have changed are made again, instead of refused.
        own_sources: the user's kernel sources.
    """

    suite: str
    kernels: Sequence[KernelId]
    machine: str
    seeds: int | None
    seed: int
    settings: Sequence[Setting]
    path: str
    baseline: bool = False
    quick: bool = False
    only: Sequence[str] = ()
    leave_out: Sequence[str] = ()
    anew: bool = False
    renew: bool = False
    own_sources: Sequence[Path] = ()

    def plan(self) -> SuitePlan:
        """Return what is to be run.

        Raises:
            UsageError: no such suite, a family with no point left, no stock kernel to compare
                with, or a point that the machine cannot run.
        """
        plan = SuitePlan(
            families=families(
                self.suite,
                quick=self.quick,
                only=self.only,
                leave_out=self.leave_out,
                settings=self.settings,
            ),
            kernels=self.kernels,
            seeds=self.seeds,
            seed=self.seed,
            settings=self.settings,
            machine=self.machine,
            baseline=self.baseline,
            renew=self.renew,
        )
        judged_kernel([str(kernel) for kernel in plan.kernels])
        check_machine(plan)
        return plan
