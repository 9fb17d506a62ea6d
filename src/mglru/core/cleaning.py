# SPDX-License-Identifier: GPL-2.0-only
"""Freeing space in the cache."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from mglru.core.paths import cache_root, locked

SECONDS_A_DAY = 86_400
# Made again from the rest at any time. `git` is not among them: it may hold somebody's work.
EVERYTHING = (
    *("apt", "builds", "commands", "datasets", "debs", "guest", "matrix", "memory"),
    *("overlays", "selftests", "sources", "tested", "tmp", "trees", "userlands"),
)


def _size(path: Path) -> int:
    """Bytes that removing a directory frees; a file with further links frees nothing."""
    statuses = (file.lstat() for file in path.rglob("*"))
    return sum(status.st_blocks * 512 for status in statuses if status.st_nlink == 1)


def _unused(days: int) -> Iterator[Path]:
    """Builds, and trees to build in, that were not used for so many days."""
    root = cache_root()
    limit = time.time() - days * SECONDS_A_DAY
    for path in [*root.glob("builds/*"), *root.glob("debs/*"), *root.glob("trees/*/*")]:
        if path.is_dir() and path.stat().st_mtime < limit:
            yield path


def clean(*, everything: bool, days: int) -> int:
    """Remove what can be made again and return the bytes freed.

    Args:
        everything: all of it, not only what is old. Git trees are kept: they may hold work.
        days: builds used within so many days are kept.
    """
    root = cache_root()
    paths = [root / name for name in EVERYTHING] if everything else list(_unused(days))
    freed = 0
    for path in paths:
        if path.is_dir():
            with locked(path):
                freed += _size(path)
                shutil.rmtree(path)
    return freed
