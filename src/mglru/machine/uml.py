# SPDX-License-Identifier: GPL-2.0-only
"""The machine `uml`: the kernel as an ordinary process of the user, in virtual or real time."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from mglru.core import process
from mglru.core.errors import LabError
from mglru.core.paths import cache_dir
from mglru.guest.places import guest_path
from mglru.guest.steps import to_text
from mglru.machine.cpus import one_cpu
from mglru.machine.request import Boot, BootRequest, Lines, check_started, wait

# What UML says when the host forbids it to trace its own child processes.
_NO_PTRACE = re.compile(r"ptrace.*(Operation not permitted|failed)|can't trace", re.IGNORECASE)


def _memory_directory(megabytes: int) -> Path:
    """Choose where UML keeps the guest's memory: /dev/shm, or the cache where that is too small.

    Containers often have a /dev/shm of 64 MB; the guest would die of SIGBUS in its middle.
    """
    shared = Path("/dev/shm")  # noqa: S108
    needed = megabytes << 20
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
        f"mem={request.memory_mb}M",
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
    (directory / "plan").write_text(to_text(request.plan))
    lines = Lines(directory)
    with one_cpu() as cpu, lines.opened() as (console, *others):
        numbers = [file.fileno() for file in others]
        again = " ".join(command_line(request, directory, cpu))
        redirected = f"{again} 3>channel.jsonl 4>samples.jsonl 5>output"
        with process.started(
            command_line(request, directory, cpu, numbers),
            console,
            purpose="boot a guest",
            env={
                "PATH": os.environ.get("PATH", os.defpath),
                "HOME": str(directory),
                "TMPDIR": str(_memory_directory(request.memory_mb)),
            },
            pass_fds=numbers,
            next_step="install util-linux",
        ) as guest:
            result = wait(guest, request, lines, redirected)
    _check_ptrace(result)
    check_started(result)
    return result


def _check_ptrace(result: Boot) -> None:
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
