# SPDX-License-Identifier: GPL-2.0-only
"""The programs that run inside the guest: built static, cached by content."""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mglru.core import process
from mglru.core.cache import made
from mglru.core.errors import LabError, UsageError
from mglru.core.keys import key_of
from mglru.core.paths import GUEST, cache_dir
from mglru.guest import wiredtiger

Note = Callable[[str], None]

# A file for each kind of action.
STRESS = (
    "stress/stress.c",
    *(
        f"stress/stress_{part}.c"
        for part in ("memory", "files", "groups", "machine", "ng", "check")
    ),
)

# With every program.
COMMON = ("lib/lab.c", "lib/child.c")

CFLAGS = ("-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra")
STATIC = ("-static", "-pthread")
SHARED = ("-shared", "-fPIC")
COMPILE_LIMIT_SECONDS = 300


@dataclass(frozen=True)
class Program:
    """One guest program, or a library for LD_PRELOAD.

    Attributes:
        sources: its C files, below guest/; those of COMMON come with every program.
        libraries: what it is linked with, names in LIBRARIES.
        preload: it is a shared library, loaded into programs of a userland.
        defines: macros, for programs that share a source but not all of it.
    """

    sources: tuple[str, ...]
    libraries: tuple[str, ...] = ()
    preload: bool = False
    defines: tuple[str, ...] = ()

    @property
    def flags(self) -> tuple[str, ...]:
        """For the compiler."""
        kind = SHARED if self.preload else STATIC
        return (*CFLAGS, *kind, *(f"-D{name}" for name in self.defines))


@dataclass(frozen=True)
class Library:
    """A library that a program is linked with.

    Attributes:
        flags: for the compiler, after the sources.
        files: what the flags stand for: their content decides whether a build is current.
    """

    flags: tuple[str, ...]
    files: tuple[Path, ...]


def programs() -> dict[str, Program]:
    """Return all guest programs by name."""
    return {
        "init": Program(("init/init.c", "init/machine.c")),
        "pace": Program(("tools/pace.c",)),
        "sampler": Program(("tools/sampler.c",)),
        "recorder": Program(("tools/recorder.c",)),
        "app_launch": Program(("drivers/app_launch.c", "lib/latency.c")),
        "burst": Program(("drivers/burst.c",)),
        "workingset": Program(("drivers/workingset.c", "lib/latency.c")),
        "oom_aging": Program(("drivers/oom_aging.c",)),
        "refault_cost": Program(("drivers/refault_cost.c",)),
        "command": Program(("tools/command.c",)),
        "measure": Program(("tools/measure.c",)),
        "patterns": Program(("drivers/patterns.c", "drivers/patterns_access.c", "lib/latency.c")),
        "no_spin": Program(("tools/no_spin.c",), preload=True),
        "memcg_create": Program(("drivers/memcg_create.c",)),
        "memcg_stress": Program(("stress/memcg_stress.c",)),
        "replay": Program(("drivers/replay.c", "../policies/patterns.c")),
        "retain_stress": Program(("stress/retain_stress.c",)),
        "retain_ways": Program(("stress/retain_ways.c",)),
        "stress": Program(STRESS),
        "swap_writes": Program(("drivers/swap_writes.c",)),
        "tsc_khz": Program(("tools/tsc_khz.c",)),
        "worker_load": Program(("drivers/worker_load.c", "lib/latency.c")),
        "ycsb_wiredtiger": Program(
            ("drivers/ycsb_wiredtiger.c", "lib/trace.c", "lib/latency.c"), libraries=("wiredtiger",)
        ),
        "ycsb_progress": Program(
            ("drivers/ycsb_wiredtiger.c", "lib/progress.c", "lib/trace.c", "lib/latency.c"),
            libraries=("wiredtiger",),
            defines=("LAB_PROGRESS",),
        ),
        "get_scan_leveldb": Program(
            ("drivers/get_scan_leveldb.c", "lib/trace.c", "lib/latency.c"), libraries=("leveldb",)
        ),
    }


def guest_program(name: str, note: Note | None = None) -> Path:
    """Return the static binary of a guest program, building it and its libraries if need be.

    Args:
        name: one of `programs()`.
        note: called with one line when something long starts.

    Raises:
        UsageError: no such program.
        LabError: a compiler or library is missing, or the build failed.
    """
    known = programs()
    if name not in known:
        raise UsageError(
            f"no guest program '{name}'", next_step=f"there are {', '.join(sorted(known))}"
        )
    say = note or (lambda _text: None)
    program = known[name]
    libraries = [LIBRARIES[library](say) for library in program.libraries]
    target = cache_dir("guest") / f"{name}-{_key(program, libraries)}"
    return made(target, lambda staging: _build(staging / name, program, libraries)) / name


def _sources(program: Program) -> list[Path]:
    common = () if program.preload else COMMON
    return [GUEST / source for source in (*program.sources, *common)]


def _headers(program: Program) -> list[Path]:
    """What decides the content, beside the sources: libraries have nothing to do with the lab."""
    if program.preload:
        return []
    beside = {GUEST / source for source in program.sources}
    return sorted(
        {*GUEST.glob("*/*.h"), *(path for each in beside for path in each.parent.glob("*.h"))}
    )


def _key(program: Program, libraries: list[Library]) -> str:
    parts: list[str | bytes] = ["\n".join([compiler_version(), *program.flags])]
    parts += [_read(path) for path in [*_sources(program), *_headers(program)]]
    for library in libraries:
        parts.append("\n".join(flag for flag in library.flags if "/" not in flag))
        parts += [path.read_bytes() for path in library.files]
    return key_of(*parts)


def _read(source: Path) -> bytes:
    try:
        return source.read_bytes()
    except OSError as error:
        raise LabError(
            f"cannot read {source}: {error.strerror}",
            next_step=f"get it back: git checkout -- guest/{source.relative_to(GUEST)}",
        ) from error


def _build(binary: Path, program: Program, libraries: list[Library]) -> None:
    flags = [flag for library in libraries for flag in library.flags]
    command: list[str | Path] = [
        _compiler(),
        *program.flags,
        f"-I{GUEST / 'lib'}",
        *_sources(program),
        *flags,
    ]
    process.run(
        [*command, "-lm", "-o", binary],
        purpose=f"build the guest program {binary.name}",
        limit_seconds=COMPILE_LIMIT_SECONDS,
        next_step="install gcc and libc6-dev; see the compiler's messages above",
    )


def _compiler() -> str:
    return os.environ.get("CC") or "gcc"


@functools.cache
def compiler_version() -> str:
    """Return the first line of the C compiler's --version."""
    text = process.run([_compiler(), "--version"], purpose="find the C compiler")
    return text.splitlines()[0]


def _wiredtiger(note: Note) -> Library:
    directory = wiredtiger.library(compiler_version(), note)
    archive, header = directory / "libwiredtiger.a", directory / "wiredtiger.h"
    return Library((f"-I{directory}", str(archive)), (archive, header))


def _leveldb(_note: Note) -> Library:
    """LevelDB is C++ with an interface in C: the C++ library comes after it."""
    archives = tuple(_system_archive(name) for name in ("leveldb", "snappy", "stdc++"))
    return Library(("-lleveldb", "-lsnappy", "-lstdc++"), archives)


def _system_archive(name: str) -> Path:
    """Find a static library where the compiler would."""
    file = f"lib{name}.a"
    found = Path(
        process.run([_compiler(), f"-print-file-name={file}"], purpose=f"look for {file}").strip()
    )
    if not found.is_file():
        packages = "libleveldb-dev libsnappy-dev g++"
        apt = f"sudo apt-get install {packages}" if shutil.which("apt-get") else packages
        raise LabError(f"the static library {file} is missing", next_step=f"install it: {apt}")
    return found


LIBRARIES: dict[str, Callable[[Note], Library]] = {
    "wiredtiger": _wiredtiger,
    "leveldb": _leveldb,
}
