# SPDX-License-Identifier: GPL-2.0-only
"""Steps of a plan as values in, the text that guest/init/init.c carries out, out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import ClassVar, Literal

from mglru.core.errors import UsageError

# What init has room for, its MAX_FIELDS.
MOST_WORDS = 64
# For the programs that init itself starts: outside of all cgroups but the root.
NO_CGROUP = "-"


@dataclass(frozen=True)
class PlanStep:
    """One line of a plan; a kind's fields come in the order in which init reads them."""

    verb: ClassVar[str]

    def __post_init__(self) -> None:
        """Refuse what cannot be written.

        Raises:
            UsageError: a tab in a field, or too many of them.
        """
        words = self.words()
        name = words[min(1, len(words) - 1)]
        if any("\t" in word for word in words):
            raise UsageError(
                f"a tab in the argv of '{name}' would end the argument",
                next_step="write it with spaces",
            )
        if len(words) > MOST_WORDS:
            raise UsageError(
                f"'{name}' has {len(words)} words, and a plan's line has room for {MOST_WORDS}",
                next_step="make them one line of the shell: /bin/sh -c",
            )

    def words(self) -> list[str]:
        """Return the fields of the line; what is None is left out."""
        values = (getattr(self, field.name) for field in fields(self))
        return [self.verb, *(word for value in values for word in _words(value))]


def _words(value: object) -> Iterator[str]:
    if isinstance(value, tuple):
        yield from map(str, value)
    elif value is not None:
        yield str(value)


def to_text(plan: Iterable[PlanStep]) -> str:
    """Return a plan as init reads it: tabs between fields, a vertical one for a newline."""
    lines = ("\t".join(step.words()).replace("\n", "\v") for step in plan)
    return "".join(f"{line}\n" for line in lines)


@dataclass(frozen=True)
class UseUserland(PlanStep):
    """From now on a directory is the root: its programs, its libraries."""

    verb: ClassVar[str] = "userland"
    root: str


@dataclass(frozen=True)
class ReportSymbol(PlanStep):
    """Report whether the kernel has a symbol."""

    verb: ClassVar[str] = "symbol"
    name: str


@dataclass(frozen=True)
class ReportLruGen(PlanStep):
    """Report lru_gen/enabled."""

    verb: ClassVar[str] = "lru_gen"


@dataclass(frozen=True)
class Cgroup(PlanStep):
    """Mount the memory controller, version 1 or 2."""

    verb: ClassVar[str] = "cgroup"
    version: int


@dataclass(frozen=True)
class MakeDisk(PlanStep):
    """Make a null_blk disk /dev/NAME in the guest's memory.

    Attributes:
        name: of the device.
        size_mb: its size.
        completion_us: each request completes by a timer, after exactly this long; None: at once.
        mbps: its bandwidth, 0 for no bound.
    """

    verb: ClassVar[str] = "disk"
    name: str
    size_mb: int
    completion_us: int | None = None
    mbps: int = 0

    def words(self) -> list[str]:
        """Return the line: the name, and null_blk's attributes."""
        attributes = {"size": self.size_mb, "memory_backed": 1, "blocksize": 4096}
        if self.completion_us is not None:
            timer = {"irqmode": 2, "completion_nsec": self.completion_us * 1000}
            attributes |= {**timer, "mbps": self.mbps}
        return [self.verb, self.name, *(f"{key}={value}" for key, value in attributes.items())]


@dataclass(frozen=True)
class RemoveDisk(PlanStep):
    """Take a disk away, with the memory that it has."""

    verb: ClassVar[str] = "undisk"
    name: str


@dataclass(frozen=True)
class Delay(PlanStep):
    """Make /dev/mapper/NAME, which is a device whose requests come so many ms later."""

    verb: ClassVar[str] = "delay"
    name: str
    device: str
    read_ms: int
    write_ms: int


@dataclass(frozen=True)
class Fill(PlanStep):
    """Write all of a device, so that it has all of its memory."""

    verb: ClassVar[str] = "fill"
    device: str


@dataclass(frozen=True)
class SwapOn(PlanStep):
    """Make a device swap space."""

    verb: ClassVar[str] = "swap"
    device: str


@dataclass(frozen=True)
class Load(PlanStep):
    """Copy a disk image to a device; holes are skipped."""

    verb: ClassVar[str] = "load"
    image: str
    device: str


@dataclass(frozen=True)
class Save(PlanStep):
    """Copy a device to a disk image; zeros become holes."""

    verb: ClassVar[str] = "save"
    device: str
    image: str


@dataclass(frozen=True)
class Mount(PlanStep):
    """Mount a file system, its directory made; `ro` as options: read-only."""

    verb: ClassVar[str] = "mount"
    type: str
    source: str
    target: str
    options: str | None = None


@dataclass(frozen=True)
class Unmount(PlanStep):
    """Unmount a file system."""

    verb: ClassVar[str] = "umount"
    target: str


@dataclass(frozen=True)
class MakeDirectory(PlanStep):
    """Make a directory and those above it."""

    verb: ClassVar[str] = "mkdir"
    path: str


@dataclass(frozen=True)
class Write(PlanStep):
    """Write a value to a file."""

    verb: ClassVar[str] = "write"
    path: str
    value: str


@dataclass(frozen=True)
class WriteIfThere(PlanStep):
    """Write a value to a file, if this kernel has it."""

    verb: ClassVar[str] = "write_if_there"
    path: str
    value: str


@dataclass(frozen=True)
class Environment(PlanStep):
    """Set a variable for the programs that follow."""

    verb: ClassVar[str] = "env"
    name: str
    value: str


@dataclass(frozen=True)
class ReportCounters(PlanStep):
    """Send a snapshot of the counters."""

    verb: ClassVar[str] = "counters"
    phase: Literal["begin", "end"]


@dataclass(frozen=True)
class DropCaches(PlanStep):
    """Write back what is dirty, then drop the page cache."""

    verb: ClassVar[str] = "drop_caches"


@dataclass(frozen=True)
class Strict(PlanStep):
    """From now on the plan ends with a program that fails."""

    verb: ClassVar[str] = "strict"


@dataclass(frozen=True)
class Run(PlanStep):
    """Run a program to its end, and report how it ended.

    Attributes:
        label: names it in the report.
        cgroup: the directory of the one it is put into before it starts.
        argv: the program's path and its arguments.
    """

    verb: ClassVar[str] = "step"
    label: str
    cgroup: str
    argv: tuple[str, ...]


@dataclass(frozen=True)
class Spawn(Run):
    """Start a program in the background."""

    verb: ClassVar[str] = "spawn"


@dataclass(frozen=True)
class Stop(PlanStep):
    """End a background program and what it started, and report it."""

    verb: ClassVar[str] = "stop"
    label: str
