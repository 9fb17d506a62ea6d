# SPDX-License-Identifier: GPL-2.0-only
"""The machine `uml`: the kernel as an ordinary process of the user, in virtual or real time."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mglru import process
from mglru.cpus import one_cpu
from mglru.errors import LabError
from mglru.paths import cache_dir

HOST_ROOT = "/run/host"  # guest/init.c binds the host's root there
# The guest's serial line for what a user's program prints.
OUTPUT_DEVICE = "/dev/ttyS2"
_SIZE = re.compile(r"(\d+)([MG])")
# What UML says when the host forbids it to trace its own child processes.
_NO_PTRACE = re.compile(r"ptrace.*(Operation not permitted|failed)|can't trace", re.IGNORECASE)


@dataclass(frozen=True)
class BootRequest:
    """What to boot and what it shall do.

    Attributes:
        image: the kernel.
        init: the guest's first process (a host path).
        plan: lines for it, see guest/init.c.
        memory: the guest's memory, as `2G`.
        seed: makes all of the kernel's randomness, on virtual time.
        virtual_time: computing is free and only waiting takes time; else the host's clock.
        limit_seconds: real time after which the guest is killed.
        options: further words for the kernel's command line.
    """

    image: Path
    init: Path
    plan: tuple[str, ...]
    memory: str
    seed: int
    virtual_time: bool
    limit_seconds: float
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Boot:
    """How a boot went.

    Attributes:
        console: the guest's console log.
        channel: what the guest reported, JSON lines.
        samples: what its sampler reported, JSON lines.
        output: what a user's program printed, see guest/command.c; else empty.
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


def guest_path(path: Path | str) -> str:
    """Return the path of a host file as the guest sees it, whatever its tmpfs cover."""
    return f"{HOST_ROOT}{Path(path).resolve()}"


def size_bytes(text: str) -> int:
    """Read a size such as `512M` or `2G`.

    Raises:
        LabError: not a size.
    """
    match = _SIZE.fullmatch(text)
    if not match:
        raise LabError(f"'{text}' is not a size", next_step="write it as 512M or 2G")
    return int(match[1]) << {"M": 20, "G": 30}[match[2]]


def _memory_directory(memory: str) -> Path:
    """Choose where UML keeps the guest's memory: /dev/shm, or the cache where that is too small.

    Containers often have a /dev/shm of 64 MB; the guest would die of SIGBUS in its middle.
    """
    shared = Path("/dev/shm")  # noqa: S108
    needed = size_bytes(memory)
    if shared.is_dir() and os.access(shared, os.W_OK) and shutil.disk_usage(shared).free > needed:
        return shared
    return cache_dir("memory")


def command_line(
    request: BootRequest, directory: Path, cpu: int = 0, lines: Sequence[int] = (3, 4, 5)
) -> list[str]:
    """Return the command that boots a request.

    Args:
        request: what to boot.
        directory: where its plan lies.
        cpu: the host's CPU that it runs on.
        lines: the file descriptors that are the guest's serial lines: the result channel,
            that of the sampler, and that of what a user's program prints.
    """
    time_options = (
        [
            "time-travel=inf-cpu",
            # The guest's wall clock starts at the same moment in every boot.
            "time-travel-start=1700000000",
            f"lab_seed={request.seed}",
        ]
        if request.virtual_time
        else []
    )
    return [
        *("taskset", "-c", str(cpu)),
        # Without address space randomisation, two boots get the same layout.
        "setarch",
        "-R",
        str(request.image),
        f"mem={request.memory}",
        "root=/dev/root",
        "rootfstype=hostfs",
        "ro",
        "con=null",
        "con0=null,fd:1",
        "ssl=null",
        *(f"ssl{number}=null,fd:{line}" for number, line in enumerate(lines)),
        "null_blk.nr_devices=0",
        f"uml_dir={directory}",
        "umid=guest",
        *time_options,
        *request.options,
        f"init={request.init}",
        "--",
        guest_path(directory / "plan"),
    ]


def boot(request: BootRequest, directory: Path) -> Boot:
    """Boot a guest, let it carry out its plan, and return when it is gone.

    Args:
        request: what to boot.
        directory: an empty directory for the plan, the console log and the channel.

    Raises:
        LabError: the guest could not start at all (no ptrace, no memory).
    """
    (directory / "plan").write_text("".join(f"{line}\n" for line in request.plan))
    console, channel = directory / "console.log", directory / "channel.jsonl"
    samples, output = directory / "samples.jsonl", directory / "output"
    started = time.monotonic()
    with (
        one_cpu() as cpu,
        console.open("wb") as console_file,
        channel.open("ab") as channel_file,
        samples.open("ab") as samples_file,
        output.open("ab") as output_file,
    ):
        lines = (channel_file.fileno(), samples_file.fileno(), output_file.fileno())
        guest = subprocess.Popen(
            command_line(request, directory, cpu, lines),
            stdin=subprocess.DEVNULL,
            stdout=console_file,
            stderr=subprocess.STDOUT,
            pass_fds=lines,
            env={
                "PATH": os.environ.get("PATH", os.defpath),
                "HOME": str(directory),
                "TMPDIR": str(_memory_directory(request.memory)),
            },
            start_new_session=True,
        )
        finished = process.wait(guest, limit_seconds=request.limit_seconds)
    result = Boot(
        console,
        channel,
        samples,
        output,
        timed_out=not finished,
        exit_status=guest.returncode,
        real_seconds=time.monotonic() - started,
        command=" ".join(command_line(request, directory, cpu))
        + " 3>channel.jsonl 4>samples.jsonl 5>output",
    )
    _check_started(result)
    return result


def _check_started(result: Boot) -> None:
    """Tell a host that cannot run guests from a guest that failed."""
    if result.channel.stat().st_size:
        return
    log = process.tail(result.console)
    if any(_NO_PTRACE.search(line) for line in log):
        raise LabError(
            "this machine does not let a program trace its own children, which User Mode Linux "
            "needs",
            command=result.command,
            log_tail=log,
            next_step="in a container, allow it with --cap-add SYS_PTRACE (or a seccomp profile "
            "that allows ptrace); otherwise check kernel.yama.ptrace_scope",
        )
    if result.timed_out:
        return
    raise LabError(
        f"the guest ended before its first process could report (exit status {result.exit_status})",
        command=result.command,
        log_tail=log,
        next_step="read the end of the console log above",
    )
