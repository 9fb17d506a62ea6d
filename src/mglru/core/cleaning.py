# SPDX-License-Identifier: GPL-2.0-only
"""Freeing space in the cache: what there is, how large and how old, and removing what is unused."""

from __future__ import annotations

import contextlib
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import filelock

from mglru.core import cache
from mglru.core.paths import cache_root

SECONDS_A_DAY = 86_400


@dataclass(frozen=True)
class CacheKind:
    """One kind of things in the cache.

    Attributes:
        name: of its directory, or the pattern of names at the top.
        what: for people.
        pattern: of its entries, from the top.
        only_all: it goes only with everything, however old: it is dear to get again.
        keep: it is never removed: it may be somebody's work.
    """

    name: str
    what: str
    pattern: str
    only_all: bool = False
    keep: bool = False


KINDS = (
    CacheKind("apt", "Debian's package lists", "apt/*"),
    CacheKind("builds", "kernels", "builds/*"),
    CacheKind("commands", "commands of `try`", "commands/*"),
    CacheKind("datasets", "disk images", "datasets/*"),
    CacheKind("debs", "Debian packages of kernels", "debs/*"),
    CacheKind("downloads", "archives from the network", "downloads/*", only_all=True),
    CacheKind("failed", "logs of boots that went wrong", "failed/*"),
    CacheKind("git", "git trees of `kernel tree`: yours", "git/*", keep=True),
    CacheKind("guest", "guest programs", "guest/*"),
    CacheKind("matrix", "messages of compilers", "matrix/*"),
    CacheKind("memory", "memory of guests", "memory/*"),
    CacheKind("policies", "models of policies", "policies/*"),
    CacheKind("selftests", "the kernel's selftests, compiled", "selftests/*"),
    CacheKind("sources", "kernel sources", "sources/*/*", only_all=True),
    CacheKind("tested", "kernel sources of other releases", "tested/*/*"),
    CacheKind("tmp", "left behind by what was killed", "tmp/*"),
    CacheKind("traces", "operations of databases", "traces/*"),
    CacheKind("trees", "trees in which kernels are built", "trees/*/*"),
    CacheKind("userlands", "programs of guests", "userlands/*"),
    CacheKind("venv-*", "Python packages", "venv-*"),
)
# Made by the cache itself, and small.
OWN = {cache.LEASES}


@dataclass(frozen=True)
class CacheEntry:
    """One thing in the cache.

    Attributes:
        path: where.
        kind: which kind it is.
        age: seconds since it was last used.
    """

    path: Path
    kind: CacheKind
    age: float

    @property
    def bytes(self) -> int:
        """What removing it frees; a file with further links frees nothing."""
        files = self.path.rglob("*") if self.path.is_dir() else [self.path]
        with contextlib.suppress(FileNotFoundError):
            statuses = (file.lstat() for file in files)
            return sum(status.st_blocks * 512 for status in statuses if status.st_nlink == 1)
        return 0


@dataclass(frozen=True)
class Cleaned:
    """What came of cleaning.

    Attributes:
        bytes: freed.
        in_use: what was kept, as somebody makes or uses it now.
    """

    bytes: int
    in_use: tuple[Path, ...]


def entries() -> Iterator[CacheEntry]:
    """Return everything in the cache, kind by kind."""
    root = cache_root()
    for kind in KINDS:
        for path in sorted(root.glob(kind.pattern)):
            # Locks stay, as somebody may wait for one; records go with what they are of.
            if path.suffix == ".lock" or _is_record(path):
                continue
            with contextlib.suppress(FileNotFoundError):
                yield CacheEntry(path, kind, time.time() - path.lstat().st_mtime)


def unknown() -> list[Path]:
    """Return what lies in the cache and is none of the kinds."""
    root = cache_root()
    known = {Path(kind.pattern).parts[0] for kind in KINDS} | OWN
    return [
        path
        for path in (sorted(root.iterdir()) if root.is_dir() else [])
        if path.suffix != ".lock" and not any(path.match(name) for name in known)
    ]


def clean(*, everything: bool, days: float) -> Cleaned:
    """Remove what can be made again and nobody uses.

    Args:
        everything: all of it, not only what is old.
        days: what was used within so many days is kept.
    """
    freed, kept = 0, []
    for entry in entries():
        kind = entry.kind
        old = entry.age >= days * SECONDS_A_DAY and not kind.only_all
        if kind.keep or not (everything or old):
            continue
        size = entry.bytes
        if remove_unused(entry.path):
            freed += size
        else:
            kept.append(entry.path)
    return Cleaned(freed, tuple(kept))


def remove_unused(path: Path) -> bool:
    """Remove something, unless somebody makes it or uses it; return whether it is gone."""
    with contextlib.ExitStack() as stack:
        try:
            # Builders hold the lock of what they make, or of the directory that it comes to.
            for lock in (Path(f"{path}.lock"), Path(f"{path.parent}.lock")):
                if lock.exists():
                    stack.enter_context(filelock.FileLock(lock, blocking=False))
        except filelock.Timeout:
            return False
        if path in {*cache.in_use(), Path(sys.prefix)}:
            return False
        with contextlib.suppress(FileNotFoundError):
            if path.is_dir() and not path.is_symlink():
                _remove_tree(path)
            else:
                path.unlink()
        path.with_name(f"{path.name}.json").unlink(missing_ok=True)
    return True


def _is_record(path: Path) -> bool:
    """Whether a file says what the source beside it is."""
    return path.suffix == ".json" and path.with_suffix("").is_dir()


def _remove_tree(path: Path) -> None:
    if path.parent == cache_root() / "tmp":
        shutil.rmtree(path)
    else:
        cache.remove(path)
