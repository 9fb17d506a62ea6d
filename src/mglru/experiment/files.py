# SPDX-License-Identifier: GPL-2.0-only
"""Where experiments lie: `experiments/SUITE/.../NAME.toml`, names unique; some in no suite yet."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from mglru.core.errors import UsageError
from mglru.core.paths import EXPERIMENTS

Table = dict[str, Any]
# Between an experiment's name and that of one of its points.
POINT_MARK = ":"


def find(directory: Path = EXPERIMENTS) -> dict[str, Path]:
    """Return the file of every experiment by its name, in order of names.

    Raises:
        UsageError: two files have one name.
    """
    found: dict[str, Path] = {}
    for path in sorted(directory.rglob("*.toml")):
        if path.stem in found:
            raise UsageError(
                f"two experiments have one name: {found[path.stem]} and {path}",
                next_step="rename one of them",
            )
        found[path.stem] = path
    return dict(sorted(found.items()))


def folder_of(path: Path, directory: Path = EXPERIMENTS) -> str | None:
    """Return the suite in whose folder, or below it, an experiment's file lies; None if in none."""
    inside = path.relative_to(directory).parts
    return inside[0] if len(inside) > 1 else None


def split_name(name: str) -> tuple[str, str]:
    """Return the experiment and the point that a name such as `loop:large` means."""
    family, _mark, point = name.partition(POINT_MARK)
    return family, point


def read(name: str, directory: Path = EXPERIMENTS) -> Table:
    """Return what an experiment's file says, what it extends merged in, and its folder's suite.

    Raises:
        UsageError: no such experiment, a broken file, or one that extends itself.
    """
    return _read(name, find(directory), directory, ())


def _read(name: str, files: dict[str, Path], directory: Path, seen: tuple[str, ...]) -> Table:
    path = files.get(name)
    if path is None:
        raise UsageError(
            f"no experiment '{name}'", next_step="./mglru experiments lists what there is"
        )
    try:
        table = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: {error}", next_step="mend the file") from error
    parent = table.pop("extends", None)
    if parent in (name, *seen):
        raise UsageError(f"{path}: extends itself", next_step="mend the file")
    if parent is not None:
        table = merge(_read(parent, files, directory, (name, *seen)), table)
    return {**table, "folder": folder_of(path, directory)}


def merge(base: Table, changes: Table) -> Table:
    """Return `base` with `changes`: tables are merged, all else (arrays too) is replaced."""
    merged = dict(base)
    for key, value in changes.items():
        old = merged.get(key)
        both = isinstance(old, dict) and isinstance(value, dict)
        merged[key] = merge(old, value) if both and isinstance(old, dict) else value
    return merged
