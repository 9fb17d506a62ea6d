# SPDX-License-Identifier: GPL-2.0-only
"""Where things lie: the repository's folders and the user's cache."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import filelock
import platformdirs

from mglru.core.errors import LabError

REPO = Path(__file__).resolve().parents[3]
PATCHES = REPO / "patches"
KCONFIG = REPO / "kconfig"
GUEST = REPO / "guest"
EXPERIMENTS = REPO / "experiments"
RESULTS = REPO / "results"


def cache_root() -> Path:
    """Return the cache directory: $MGLRU_CACHE, else the user's cache directory."""
    chosen = os.environ.get("MGLRU_CACHE")
    return Path(chosen).resolve() if chosen else platformdirs.user_cache_path("mglru")


def cache_dir(*parts: str) -> Path:
    """Create and return a directory below the cache.

    Raises:
        LabError: the cache cannot be written.
    """
    path = cache_root().joinpath(*parts)
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise LabError(
            f"the cache {path} cannot be written: {error.strerror}",
            next_step="make it writable, or set MGLRU_CACHE to a directory that is",
        ) from error
    return path


def require_space(path: Path, needed_bytes: int, purpose: str) -> None:
    """Fail before a long step rather than in its middle, when the disk is too full.

    Raises:
        LabError: less than `needed_bytes` are free on the file system of `path`.
    """
    free = shutil.disk_usage(path).free
    if free < needed_bytes:
        raise LabError(
            f"{purpose} needs {needed_bytes / 2**30:.1f} GiB in {path}, "
            f"but only {free / 2**30:.1f} GiB are free",
            next_step="free some space, run `./mglru kernel clean`, or set MGLRU_CACHE elsewhere",
        )


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file `path`.lock: one process at a time makes or changes `path`."""
    with filelock.FileLock(f"{path}.lock"):
        yield


@contextlib.contextmanager
def staged(target: Path) -> Iterator[Path]:
    """Give a directory to build in, and rename it to `target` only if the block succeeds.

    An interrupt or an error leaves nothing at `target` and nothing half-written beside it.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield staging
        if target.exists():
            shutil.rmtree(target)
        staging.rename(target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
