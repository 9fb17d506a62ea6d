# SPDX-License-Identifier: GPL-2.0-only
"""The lab's machines: what each is for, how it boots, and what its time is."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mglru.core.errors import UsageError
from mglru.debian import packages
from mglru.experiment.spec import Experiment, Guest, Time
from mglru.machine import qemu, uml
from mglru.machine.request import Boot, BootRequest

# What has to be left to the kernel beside the movable zone.
LEAST_KERNEL_MB = 64
# With less the kernel would make fewer nodes than it is told to, or find no room in one.
LEAST_NODE_MB = 128


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
        zones: it can have a movable zone beside the others.
        most_mb: memory that it can have; None: as much as the host has.
        emulator: tells which version of what program carries out the guest's instructions.
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
    zones: bool = False
    most_mb: int | None = None
    emulator: Callable[[], str] | None = None

    def fit(self, experiment: Experiment) -> Experiment:
        """Return an experiment as it runs here: its time is the machine's, its limit fits.

        Raises:
            UsageError: it is only for a machine that counts instructions, or one with more
                processors, nodes or memory, or has too little memory for its nodes.
        """
        if self.time in (None, "real") and experiment.time == "instructions":
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
                    + ("" if self.most == MOST else f", or --machine {SMP}"),
                )
        self._check_memory(guest.memory_mb, chosen["nodes"])
        self._check_movable(guest)
        return guest.model_copy(update=chosen)

    def _check_memory(self, memory_mb: int, nodes: int) -> None:
        if self.most_mb is not None and memory_mb > self.most_mb:
            raise UsageError(
                f"the machine {self.name} has at most {self.most_mb} MB of memory, not {memory_mb}",
                next_step=f"--set guest.memory_mb={self.most_mb}, or --machine {UML}",
            )
        if nodes > 1 and memory_mb < nodes * LEAST_NODE_MB:
            raise UsageError(
                f"{nodes} memory nodes need {nodes * LEAST_NODE_MB} MB, not {memory_mb}",
                next_step=f"--set guest.memory_mb={nodes * LEAST_NODE_MB}, or fewer guest.nodes",
            )

    def _check_movable(self, guest: Guest) -> None:
        if guest.movable_mb and not self.zones:
            raise UsageError(
                f"the machine {self.name} has one zone of memory, and no movable one",
                next_step=f"--machine {QEMU}, or --set guest.movable_mb=0",
            )
        if guest.movable_mb > guest.memory_mb - LEAST_KERNEL_MB:
            raise UsageError(
                f"{guest.movable_mb} of {guest.memory_mb} MB movable leave the kernel too little",
                next_step=f"--set guest.movable_mb={guest.memory_mb - LEAST_KERNEL_MB}, or less",
            )


UML = "uml"
QEMU = "qemu"
# Several processors, counted; and each a thread of the host.
SMP = "qemu-smp"
THREADS = "qemu-threads"
KVM = "kvm"
MOST = (qemu.MOST_CPUS, qemu.MOST_NODES)


def _qemu(
    name: str, *, kernel: str, accelerator: qemu.Accelerator, slowness: float, several: bool = False
) -> Machine:
    return Machine(
        name=name,
        kernel=kernel,
        boot=functools.partial(qemu.boot, accelerator=accelerator),
        packages=packages.QEMU,
        time="instructions" if accelerator.virtual_time else "real",
        slowness=slowness,
        walks=True,
        most=MOST if several else (1, 1),
        usual=(qemu.MOST_CPUS, 2) if several else (1, 1),
        zones=True,
        most_mb=qemu.LOW_MB,
        emulator=qemu.version,
    )


MACHINES = {
    each.name: each
    for each in (
        Machine(
            name=UML, kernel=UML, boot=uml.boot, packages={}, time=None, slowness=1, walks=False
        ),
        _qemu(QEMU, kernel=QEMU, accelerator=qemu.COUNTED, slowness=12),
        _qemu(SMP, kernel=SMP, accelerator=qemu.COUNTED, slowness=24, several=True),
        _qemu(THREADS, kernel=SMP, accelerator=qemu.THREADS, slowness=12, several=True),
        _qemu(KVM, kernel=QEMU, accelerator=qemu.KVM, slowness=2),
    )
}
