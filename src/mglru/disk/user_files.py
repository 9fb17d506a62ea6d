# SPDX-License-Identifier: GPL-2.0-only
"""A directory of the user's, as it is copied to the guest's disk: what it holds, and its digest."""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mglru.core.cleaning import SECONDS_A_DAY, remove_unused
from mglru.core.errors import LabError, UsageError
from mglru.core.files import digest as digest_file
from mglru.core.keys import sha256_of
from mglru.core.sizes import PAGE_BYTES, shown

# Copies of directories are kept for the next run, those not used for a day only so many.
KEPT_COPIES = 3


@dataclass(frozen=True)
class Content:
    """What a directory holds.

    Attributes:
        digest: of names, modes, times (in seconds), contents and targets of links.
        bytes: on a disk, in whole blocks.
        entries: files, directories and links.
        skipped: sockets, pipes and devices, which are not copied.
    """

    digest: str
    bytes: int
    entries: int
    skipped: tuple[str, ...] = ()


EMPTY = Content(digest="", bytes=0, entries=0)


def read(root: Path, most_bytes: int) -> Content:
    """Read all of a directory.

    Args:
        root: the directory.
        most_bytes: more than this cannot be copied.

    Raises:
        UsageError: no directory, more than `most_bytes`, or something in it cannot be read.
    """
    entries, total = _list(root, most_bytes)
    kept: list[bytes] = []
    skipped = []
    for path, status in entries:
        name = str(path.relative_to(root))
        if _is_special(status.st_mode):
            skipped.append(name.encode(errors="replace").decode())
            continue
        fields = [name, oct(status.st_mode), str(int(status.st_mtime)), _fingerprint(path, status)]
        kept.append("\0".join(fields).encode("utf-8", "surrogateescape") + b"\0\0")
    return Content(sha256_of(*kept), total, len(kept), tuple(skipped))


def copy(root: Path, target: Path, digest: str) -> None:
    """Copy a directory with its times and modes, and make sure that it is what was read.

    Args:
        root: the directory.
        target: must not exist.
        digest: of `read`.

    Raises:
        LabError: it has changed since, or a file cannot be copied.
    """
    try:
        shutil.copytree(root, target, symlinks=True, ignore=_special_names)
        # Of a directory itself the copy keeps the time, but only if nothing came after.
        found = read(target, 1 << 62).digest
    except (shutil.Error, OSError, UsageError) as error:
        raise LabError(
            f"{root} cannot be copied: {error}", next_step="stop what writes there, then try again"
        ) from error
    if found != digest:
        raise LabError(
            f"{root} has changed while it was copied",
            next_step="stop what writes there (a server shuts down cleanly), then try again",
        )


def forget_old(copies: Path, pattern: str) -> None:
    """Remove images that nobody uses and nobody used for a day, all but KEPT_COPIES.

    Args:
        copies: the directory in the cache that has them.
        pattern: of their names.
    """
    paths = [path for path in copies.glob(pattern) if path.is_dir()]
    paths.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in paths[KEPT_COPIES:]:
        if path.stat().st_mtime < time.time() - SECONDS_A_DAY:
            remove_unused(path)


def _is_special(mode: int) -> bool:
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))


def _special_names(directory: str, names: list[str]) -> set[str]:
    return {name for name in names if _is_special(Path(directory, name).lstat().st_mode)}


def _list(root: Path, most_bytes: int) -> tuple[list[tuple[Path, os.stat_result]], int]:
    """Return all below a directory by name, and their size; stops early where it is too much."""
    _check_root(root)
    entries, total = [], 0
    try:
        for path, status in _walk(root):
            entries.append((path, status))
            total += -(-status.st_size // PAGE_BYTES) * PAGE_BYTES
            if total > most_bytes:
                raise _too_large(root, most_bytes)
    except OSError as error:
        raise _unreadable(error) from error
    return entries, total


def _check_root(root: Path) -> None:
    if not str(root).isprintable():
        raise UsageError(f"--data: {str(root)!r} is no name of a directory", next_step="rename it")
    if not root.is_dir():
        problem = "is no directory" if root.exists() else "does not exist"
        raise UsageError(
            f"--data: {root} {problem}",
            next_step="name the directory whose files the command works on, or leave --data out",
        )


def _walk(directory: Path) -> Iterator[tuple[Path, os.stat_result]]:
    with os.scandir(directory) as found:
        children = sorted(found, key=lambda entry: entry.name)
    for entry in children:
        status = entry.stat(follow_symlinks=False)
        if "\n" in entry.name:
            raise UsageError(
                f"--data: {entry.path!r} has a line break in its name", next_step="rename it"
            )
        yield Path(entry.path), status
        if stat.S_ISDIR(status.st_mode):
            yield from _walk(Path(entry.path))


def _fingerprint(path: Path, status: os.stat_result) -> str:
    if stat.S_ISLNK(status.st_mode):
        return str(path.readlink())
    if not stat.S_ISREG(status.st_mode):
        return ""
    try:
        return digest_file(path)
    except OSError as error:
        raise _unreadable(error) from error


def _unreadable(error: OSError) -> UsageError:
    return UsageError(
        f"--data: {error.filename} cannot be read: {error.strerror}",
        next_step="make it readable, or name a directory with only what the command needs",
    )


def _too_large(root: Path, most_bytes: int) -> UsageError:
    return UsageError(
        f"--data: {root} holds more than {shown(most_bytes)}, and the guest's disk lies in memory",
        next_step="name a smaller directory; keep the ratio of --limit to the data",
    )
