# SPDX-License-Identifier: GPL-2.0-only
"""What all machines have in common: a request to boot, and what came of it."""

from __future__ import annotations

import contextlib
import functools
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from mglru.core import process
from mglru.core.errors import GuestDiedError
from mglru.guest.steps import PlanStep


@dataclass(frozen=True)
class BootRequest:
    """What to boot and what it shall do.

    Attributes:
        image: the kernel.
        init: the guest's first process (a host path).
        plan: what it shall do.
        memory_mb: the guest's memory.
        seed: makes all of the kernel's randomness, on virtual time.
        virtual_time: the guest's clock is not the host's; on User Mode Linux computing is free
            then, and only waiting takes time.
        limit_seconds: real time after which the guest is killed.
        cpus: its processors.
        nodes: its memory nodes, each with an equal part of the memory.
        movable_mb: how much of the memory is in the movable zone, spread over the nodes.
        options: further words for the kernel's command line.
        files: what the plan names of the host's files, for a machine that does not see them.
        disk: the image that the plan copies to the guest's disk, likewise.
        userland: the tree that the plan makes the guest's root, likewise.
        watch: called about ten times a second while the guest runs, with its console log.
    """

    image: Path
    init: Path
    plan: tuple[PlanStep, ...]
    memory_mb: int
    seed: int
    virtual_time: bool
    limit_seconds: float
    cpus: int = 1
    nodes: int = 1
    movable_mb: int = 0
    options: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    disk: Path | None = None
    userland: Path | None = None
    watch: Callable[[Path], None] | None = None


@dataclass(frozen=True)
class Boot:
    """How a boot went.

    Attributes:
        console: the guest's console log.
        channel: what the guest reported, JSON lines.
        samples: what its sampler reported, JSON lines.
        output: what a user's program printed, see guest/tools/command.c; else empty.
        timed_out: it was killed at its limit.
        exit_status: of the kernel's process; 0 after a power-off.
        real_seconds: how long it took.
        command: the shell command that boots it again.
    """

    console: Path
    channel: Path
    samples: Path
    output: Path
    timed_out: bool
    exit_status: int
    real_seconds: float
    command: str

    @property
    def reported(self) -> bytes:
        """All that the guest reported; what comes last on the channel comes last here, too."""
        return self.samples.read_bytes() + b"\n" + self.channel.read_bytes()


class Lines:
    """The files that get what a guest says, in the directory of its boot.

    Args:
        directory: of the boot.
    """

    def __init__(self, directory: Path) -> None:
        self.console = directory / "console.log"
        self.channel = directory / "channel.jsonl"
        self.samples = directory / "samples.jsonl"
        self.output = directory / "output"

    @contextlib.contextmanager
    def opened(self) -> Iterator[list[BinaryIO]]:
        """Open all of them to append to, the console first."""
        with contextlib.ExitStack() as stack:
            paths = (self.console, self.channel, self.samples, self.output)
            yield [stack.enter_context(path.open("ab")) for path in paths]


def wait(
    guest: subprocess.Popen[bytes],
    request: BootRequest,
    lines: Lines,
    command: str,
) -> Boot:
    """Return when a guest is gone, at its limit if not before.

    Args:
        guest: its process, just started, the leader of a group of its own.
        request: what is booted.
        lines: where the guest's lines go.
        command: the shell command that boots it again.
    """
    started = time.monotonic()
    watch = functools.partial(request.watch, lines.console) if request.watch else None
    finished = process.wait(guest, limit_seconds=request.limit_seconds, on_tick=watch)
    return Boot(
        console=lines.console,
        channel=lines.channel,
        samples=lines.samples,
        output=lines.output,
        timed_out=not finished,
        exit_status=guest.returncode,
        real_seconds=time.monotonic() - started,
        command=command,
    )


def check_started(result: Boot) -> None:
    """Tell a guest that never came to its first process from one that failed.

    Raises:
        GuestDiedError: it ended before it reported anything.
    """
    if result.channel.stat().st_size or result.timed_out:
        return
    raise GuestDiedError(
        f"the guest ended before its first process could report (exit status {result.exit_status})",
        command=result.command,
        log_tail=process.tail(result.console),
        next_step="read the end of the console log above",
    )
