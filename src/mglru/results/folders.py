# SPDX-License-Identifier: GPL-2.0-only
"""Files of results by the folders they lie in: `results/SUITE/EXPERIMENT.json`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mglru.core.errors import UsageError

# Folders of results/ that are not of experiments' suites: what is in them is asked for by itself.
APART = ("bound", "suites", "sweep", "waterfall")


def result_files(given: Iterable[str | Path]) -> list[str | Path]:
    """Return the result files that are meant: a file is itself, a directory all that are in it.

    They come in the order of their names, whatever folder below the directory they lie in. What
    is in a folder of the names APART counts only if that folder is given.

    Raises:
        UsageError: there is none in a directory.
    """
    return [file for path in given for file in _files(path)]


def _files(path: str | Path) -> list[str | Path]:
    directory = Path(path)
    if not directory.is_dir():
        return [path]
    files = [
        file
        for file in directory.rglob("*.json")
        if not set(APART) & set(file.relative_to(directory).parts[:-1])
    ]
    if not files:
        raise UsageError(
            f"{path} has no result files",
            next_step=f"name files, or one of its folders: {', '.join(APART)} are not looked into",
        )
    files.sort(key=lambda file: (file.name, file))
    return [*files]
