# SPDX-License-Identifier: GPL-2.0-only
"""The lab's machines: what each is for, how it boots, and what its time is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mglru import packages, qemu, uml
from mglru.errors import UsageError
from mglru.experiment import Experiment, Time
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
    """

    name: str
    kernel: str
    boot: Callable[[BootRequest, Path], Boot]
    packages: Mapping[str, str]
    time: Time | None
    slowness: float
    walks: bool

    def fit(self, experiment: Experiment) -> Experiment:
        """Return an experiment as it runs here: its time is the machine's, its limit fits.

        Raises:
            UsageError: it is only for a machine that counts instructions.
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
        }
        return experiment.model_copy(update=changes)


UML = "uml"
KVM = "kvm"
MACHINES = {
    each.name: each
    for each in (
        Machine(UML, "uml", uml.boot, {}, None, 1, walks=False),
        Machine("qemu", "qemu", qemu.boot, packages.QEMU, "instructions", 12, walks=True),
        Machine(KVM, "qemu", qemu.boot, packages.QEMU, "real", 2, walks=True),
    )
}
