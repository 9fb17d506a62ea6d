# SPDX-License-Identifier: GPL-2.0-only
"""What is made once and kept: the way to make it in, its place in the cache out.

Everything in the cache is made under a lock of its own name, and who uses it says so in a lease:
a file that the process holds locked as long as it lives. `kernel clean` asks both.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

from mglru.core.files import replacing
from mglru.core.paths import cache_dir, cache_root, locked, staged

LEASES = "leases"
TRASH = "removed-"
_guard = threading.Lock()


class _Lease:
    """What this process uses of a cache."""

    def __init__(self, root: Path) -> None:
        self.owner = (os.getpid(), root)
        self._said: set[Path] = set()
        with _leases_still() as home:
            handle, name = tempfile.mkstemp(prefix=f"{os.getpid()}-", dir=home)
            fcntl.flock(handle, fcntl.LOCK_EX)
        self._file = os.fdopen(handle, "a", encoding="utf-8")
        # At the end of the process, too; what was killed leaves it to `in_use`.
        weakref.finalize(self, Path(name).unlink, missing_ok=True)
        self.add(Path(sys.prefix))
        if Path(sys.prefix).parent == root:
            os.utime(sys.prefix)

    def add(self, path: Path) -> None:
        if path in self._said:
            return
        self._file.write(f"{path}\n")
        self._file.flush()
        self._said.add(path)


_lease: _Lease | None = None


@contextlib.contextmanager
def _leases_still() -> Iterator[Path]:
    """Give the directory of leases; nobody takes one, or removes a stale one, meanwhile."""
    home = cache_dir(LEASES)
    with locked(home):
        yield home


def use(path: Path) -> None:
    """Say that this process uses something in the cache from now on, and that it is not old."""
    global _lease  # noqa: PLW0603
    with _guard:
        if _lease is None or _lease.owner != (os.getpid(), cache_root()):
            _lease = _Lease(cache_root())
        _lease.add(path)
    os.utime(path)


def in_use() -> set[Path]:
    """Return what the processes that run use; leases of those that are gone are removed."""
    found: set[Path] = set()
    with _leases_still() as home:
        for lease in home.iterdir():
            with lease.open(encoding="utf-8") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    found |= {Path(line) for line in file.read().splitlines()}
                    continue
                lease.unlink()
    return found


def made(target: Path, make: Callable[[Path], object]) -> Path:
    """Return a directory in the cache, in use from now on, made first if it is not there.

    Args:
        target: its place; the name tells the content.
        make: makes the content in the directory that it is given; if that fails, nothing is left.
    """
    with locked(target):
        if not target.is_dir():
            with staged(target) as staging:
                make(staging)
        use(target)
    return target


def made_file(target: Path, make: Callable[[Path], object]) -> Path:
    """Return a file in the cache, as `made` does a directory; `make` is given a path to write."""
    with locked(target):
        if not target.is_file():
            with replacing(target) as new:
                make(new)
        use(target)
    return target


@contextlib.contextmanager
def scratch(name: str) -> Iterator[Path]:
    """Give a directory in the cache for the time of the block, whose name begins with `name`."""
    home = cache_dir("tmp")
    with contextlib.ExitStack() as stack:
        with locked(home):
            directory = Path(
                stack.enter_context(tempfile.TemporaryDirectory(prefix=f"{name}-", dir=home))
            )
            use(directory)
        yield directory


def remove(path: Path) -> None:
    """Remove something so that an interrupt leaves no half of it under its name."""
    with tempfile.TemporaryDirectory(
        prefix=TRASH, dir=cache_dir("tmp"), ignore_cleanup_errors=True
    ) as trash:
        path.rename(Path(trash) / path.name)
