# SPDX-License-Identifier: GPL-2.0-only
"""The lab's machines: what each is for, how it boots, and what its time is."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mglru import packages, qemu, uml
from mglru.errors import UsageError
from mglru.experiment import Experiment, Guest, Time
from mglru.machine import Boot, BootRequest


@dataclass(frozen=True)
class Machine:
    """One of them.

    Attributes:
        name: on the command line and in results.
        kernel: for which of `recipe.MACHINES` its kernels are built.
        boot: boots a guest and returns when it is gone.
        packages: Debian packages that it needs beside those of all, and what for.
        time: what passes for time, whatever the experiment says; None: as it says.
        slowness: about how many times as long as on User Mode Linux a run takes.
        walks: its processor sets accessed bits, so that aging walks page tables.
        most: processors and memory nodes that it can have.
        usual: those that it has if nobody says how many.
    """

    name: str
    kernel: str
    boot: Callable[[BootRequest, Path], Boot]
    packages: Mapping[str, str]
    time: Time | None
    slowness: float
    walks: bool
    most: tuple[int, int] = (1, 1)
    usual: tuple[int, int] = (1, 1)

    def fit(self, experiment: Experiment) -> Experiment:
        """Return an experiment as it runs here: its time is the machine's, its limit fits.

        Raises:
            UsageError: it is only for a machine that counts instructions, or one with more
                processors or nodes.
        """
        if self.time is None and experiment.time == "instructions":
            raise UsageError(
                f"{experiment.name} is about instructions, which the machine {self.name} does not "
                "count",
                next_step="--machine qemu",
            )
        changes = {
            "time": self.time or experiment.time,
            "limit_seconds": experiment.limit_seconds * self.slowness,
            "guest": self._fit_guest(experiment.guest),
        }
        return experiment.model_copy(update=changes)

    def _fit_guest(self, guest: Guest) -> Guest:
        chosen = {}
        for name, asked, usual, most in zip(
            ("cpus", "nodes"), (guest.cpus, guest.nodes), self.usual, self.most, strict=True
        ):
            chosen[name] = asked or usual
            if chosen[name] > most:
                raise UsageError(
                    f"the machine {self.name} has at most {most} {name}, not {asked}",
                    next_step=f"--set guest.{name}={most}"
                    + ("" if self.name == SMP else f", or --machine {SMP}"),
                )
        return guest.model_copy(update=chosen)


UML = "uml"
SMP = "qemu-smp"
KVM = "kvm"
MACHINES = {
    each.name: each
    for each in (
        Machine(UML, "uml", uml.boot, {}, None, 1, walks=False),
        Machine("qemu", "qemu", qemu.boot, packages.QEMU, "instructions", 12, walks=True),
        Machine(
            *(SMP, SMP, functools.partial(qemu.boot, accelerator=qemu.THREADS), packages.QEMU),
            *("real", 12),
            walks=True,
            most=(qemu.MOST_CPUS, qemu.MOST_NODES),
            usual=(qemu.MOST_CPUS, 2),
        ),
        Machine(
            *(KVM, "qemu", functools.partial(qemu.boot, accelerator=qemu.KVM), packages.QEMU),
            *("real", 2),
            walks=True,
        ),
    )
}
