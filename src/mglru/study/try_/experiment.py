# SPDX-License-Identifier: GPL-2.0-only
"""An experiment made of a user's command: what `./mglru try` runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from mglru.core.cache import made_file
from mglru.core.errors import UsageError
from mglru.core.keys import key_of
from mglru.core.paths import cache_dir
from mglru.core.sizes import MB, Size, megabytes, parse_size, shown
from mglru.disk.user_files import EMPTY, Content
from mglru.experiment.dataset import TMP, DirectoryDataset
from mglru.experiment.spec import DISK_PRESETS, Disk, Experiment, Guest, Metric, Sample, Step, Swap
from mglru.guest.places import OUTPUT_DEVICE, guest_path
from mglru.guest.plan import DATA
from mglru.study.try_.command import Command
from mglru.study.try_.guest_files import WORK_DIRECTORY

# In less, not even `true` comes to its end.
LEAST_LIMIT = 512 * 1024
# What the guest needs beside its disk, the limit and swap: its kernel, page tables, the rest.
OWN_MB = 384
# Room on the disk beside the data, at least; and for the file system itself.
ROOM_MB = 512
FILE_SYSTEM_MB = 64
# Files that the command may create.
MORE_INODES = 65_536
MOST_MB = 65_536
# What a command prints beyond is passed over.
OUTPUT_LIMIT = 16 * MB
# In virtual time waiting costs nothing: a command gets so much longer by the guest's clock.
VIRTUAL_PATIENCE = 4
# Real time that a boot takes beside the command.
BOOT_SECONDS = 60
COPY_MB_S = 50
# In real time samples take time, too.
SAMPLE_MS = {"virtual": 10, "real": 50}

METRICS = (
    Metric(name="elapsed_seconds", better="lower", label="elapsed seconds"),
    Metric(name="workingset_refault_file", better="lower", label="refaults of file pages"),
    Metric(name="workingset_refault_anon", better="lower", label="refaults of anonymous pages"),
    Metric(name="pgpgin", better="lower", label="kB read from the disk"),
    Metric(name="pgpgout", better="lower", label="kB written to the disk"),
    Metric(name="file_dirty_peak_mb", better="lower", label="dirty, at most (MB)"),
    Metric(name="psi_some_us", better="lower", label="memory pressure, some (us)"),
    Metric(name="psi_full_us", better="lower", label="memory pressure, full (us)"),
    Metric(name="memory_peak_mb", better="lower", label="memory, at most (MB)"),
    Metric(name="oom_kill", better="lower", label="out-of-memory kills"),
    Metric(name="exit_status", better="lower", label="exit status"),
)


@dataclass(frozen=True)
class TryOptions:
    """What the user chose; sizes in bytes.

    Attributes:
        limit: memory.max of the command's cgroup.
        swap: where to, if anywhere.
        disk: the disk's speed.
        disk_size: of the guest's disk; None: the data and as much room again.
        memory: of the guest; None: what the others need.
        time: the guest's clock, simulated or the host's.
        timeout: real seconds for the command.
        environment: further variables.
        preload: a library that every program of the command loads first.
        stdin: the guest's path of the command's standard input.
        name: of the result.
    """

    limit: int
    swap: Swap | None = None
    disk: Literal["nvme", "hdd"] = "nvme"
    disk_size: int | None = None
    memory: int | None = None
    time: Literal["virtual", "real"] = "virtual"
    timeout: float = 300
    environment: Mapping[str, str] = field(default_factory=dict)
    preload: Path | None = None
    stdin: str | None = None
    name: str = "try"


def parse_swap(text: str) -> Swap | None:
    """Read `zram:512M`, `disk:1G` or `none`.

    Raises:
        UsageError: something else.
    """
    if text == "none":
        return None
    kind, colon, size = text.partition(":")
    if kind not in ("zram", "disk") or not colon:
        raise UsageError(
            f"--swap: '{text}' is no swap", next_step="write it as zram:512M, disk:512M or none"
        )
    size_mb = megabytes(parse_size(size, "--swap"))
    if size_mb > MOST_MB:
        raise UsageError(f"--swap: {size} is more than {MOST_MB // 1024}G")
    return Swap(zram_mb=size_mb) if kind == "zram" else Swap(disk_mb=size_mb)


def parse_environment(words: tuple[str, ...], host: Mapping[str, str]) -> dict[str, str]:
    """Read `NAME=VALUE`, and `NAME` for the host's value.

    Raises:
        UsageError: no name, or the host has no such variable.
    """
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name or (not equals and name not in host):
            raise UsageError(
                f"--env: '{word}' is no variable of this shell",
                next_step="write it as NAME=VALUE, or NAME for one that is exported here",
            )
        found[name] = value if equals else host[name]
    return found


def make_experiment(
    command: Command, options: TryOptions, data: Path | None, content: Content = EMPTY
) -> Experiment:
    """Return the experiment that runs a command under a limit.

    Args:
        command: resolved.
        options: what the user chose.
        data: the directory that is copied to the disk, if any.
        content: what it holds.

    Raises:
        UsageError: the data does not fit the disk, or sizes are out of range.
    """
    if options.limit < LEAST_LIMIT:
        raise UsageError(
            f"--limit: {shown(options.limit)} is too small to start any program",
            next_step="begin with 16M, and halve it as long as the command comes to its end",
        )
    disk_mb = _disk_mb(options, content)
    memory_mb = _memory_mb(options, disk_mb)
    virtual = options.time == "virtual"
    return Experiment(
        name=options.name,
        summary=command.shown,
        time=options.time,
        limit_seconds=options.timeout + (0 if virtual else BOOT_SECONDS + disk_mb // COPY_MB_S),
        guest=Guest(memory_mb=memory_mb),
        disk=Disk.model_validate({"preset": options.disk, **DISK_PRESETS[options.disk]}),
        dataset=DirectoryDataset(
            kind="directory",
            path=str(data) if data else None,
            digest=content.digest,
            content_bytes=content.bytes,
            inodes=content.entries + MORE_INODES,
            size_mb=disk_mb,
        ),
        swap=options.swap,
        sample=Sample(interval_ms=SAMPLE_MS[options.time]),
        memcg={"memory.max": Size(options.limit)},
        steps=(_step(command, options),),
        metrics=METRICS,
        # How the command ended is part of the result, see ending.py.
        expects=("memcg_oom", "segfault"),
    )


def memory_needed(experiment: Experiment) -> int:
    """Return how much of the host's memory one boot may take, in bytes."""
    return experiment.guest.memory_mb * MB


def disk_bytes(experiment: Experiment) -> int:
    """Return the size of the guest's disk."""
    return experiment.dataset.size_mb * MB if experiment.dataset else 0


def _disk_mb(options: TryOptions, content: Content) -> int:
    held = megabytes(content.bytes)
    least = held + held // 16 + FILE_SYSTEM_MB
    if options.disk_size is None:
        return least + max(ROOM_MB, held)
    chosen = megabytes(options.disk_size)
    if chosen < least:
        raise UsageError(
            f"--disk-size: {shown(options.disk_size)} is too small for {held}M of data",
            next_step=f"give at least {least}M, and what the command writes",
        )
    return chosen


def _memory_mb(options: TryOptions, disk_mb: int) -> int:
    swap = options.swap
    swap_mb = (swap.zram_mb or swap.disk_mb or 0) if swap else 0
    least = disk_mb + megabytes(options.limit) + swap_mb + OWN_MB
    chosen = megabytes(options.memory) if options.memory else least
    if chosen < least:
        raise UsageError(
            f"--memory: {shown(chosen * MB)} is too small: the disk ({disk_mb}M), the limit "
            f"({shown(options.limit)}), swap ({swap_mb}M) and {OWN_MB}M of the guest's own",
            next_step="leave --memory out, or give a smaller --disk-size",
        )
    if max(chosen, disk_mb) > MOST_MB:
        raise UsageError(
            f"the guest would need {shown(chosen * MB)} of memory; "
            f"the lab's guests have at most {MOST_MB // 1024}G",
            next_step="give a smaller --limit, --swap, --disk-size or --data",
        )
    return chosen


def _step(command: Command, options: TryOptions) -> Step:
    # The path may have braces in it, which stand for something in an experiment's words.
    file = guest_path(_command_file(command, options)).replace("{", "{{").replace("}", "}}")
    return Step(label="command", argv=("{program:command}", file), join="program")


def _command_file(command: Command, options: TryOptions) -> Path:
    """Write what guest/tools/command.c reads, named by its content."""
    text = "".join(f"{key}\0{value}\0" for key, value in _fields(command, options))
    content = text.encode("utf-8", "surrogateescape")
    path = cache_dir("commands") / key_of(content, length=16)
    return made_file(path, lambda new: new.write_bytes(content))


def _fields(command: Command, options: TryOptions) -> list[tuple[str, str]]:
    virtual = options.time == "virtual"
    patience = VIRTUAL_PATIENCE if virtual else 1
    environment = {
        "PATH": command.search_path,
        "HOME": "/tmp",  # noqa: S108
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
        **({"LD_PRELOAD": guest_path(options.preload)} if options.preload else {}),
        **options.environment,
    }
    return [
        ("program", command.program),
        *(("argument", word) for word in command.arguments),
        *(("env", f"{name}={value}") for name, value in environment.items()),
        ("directory", WORK_DIRECTORY),
        ("tmp", f"{DATA}/{TMP}"),
        *([("input", options.stdin)] if options.stdin else []),
        ("output", OUTPUT_DEVICE),
        ("output_limit", str(OUTPUT_LIMIT)),
        ("limit_ms", str(int(options.timeout * patience * 1000))),
        ("give_way", str(int(virtual))),
    ]
