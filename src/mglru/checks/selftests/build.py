# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own selftests, compiled from its source, patched as the kernel is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from mglru.build.recipe import Recipe
from mglru.core import process
from mglru.core.cache import made, scratch
from mglru.core.errors import LabError
from mglru.core.keys import key_of
from mglru.core.paths import cache_dir
from mglru.core.ui import Ui
from mglru.series.patched_tree import follow_series

SELFTESTS = Path("tools/testing/selftests")
LIMIT_SECONDS = 1800
# Programs are made anew when this module makes them differently.
FORMAT = 1


def selftest_programs(recipe: Recipe, names: Sequence[str], ui: Ui) -> dict[str, Path]:
    """Return the programs of a kernel that its source has and that compile, by name.

    Args:
        recipe: of the kernel; the programs are of its source with its series.
        names: as `cgroup/test_core`.
        ui: told what takes long.

    Raises:
        LabError: no compiler, no space, or the kernel's headers cannot be made.
    """
    target = cache_dir("selftests") / _key(recipe, names)

    def make(staging: Path) -> None:
        with (
            ui.bar(f"compiling the selftests of {recipe.kernel}", None),
            scratch("selftests") as directory,
        ):
            _compile(recipe, names, directory, staging)

    made(target, make)
    return {name: path for name in names if (path := target / name).is_file()}


def _key(recipe: Recipe, names: Sequence[str]) -> str:
    parts = [str(FORMAT), recipe.source.digest, recipe.series.sha256, recipe.compiler, *names]
    return key_of("\n".join(parts))


def _compile(recipe: Recipe, names: Sequence[str], scratch: Path, target: Path) -> None:
    tree, build = scratch / "source", scratch / "build"
    follow_series(tree, recipe.source, recipe.series.patches)
    build.mkdir()
    jobs = f"-j{os.cpu_count() or 1}"
    process.run(
        ["make", jobs, f"--directory={tree}", f"O={build}", "headers"],
        purpose="make the headers that selftests are compiled with",
        limit_seconds=LIMIT_SECONDS,
    )
    for collection in sorted({name.split("/")[0] for name in names}):
        wanted = [
            name
            for name in names
            if name.startswith(f"{collection}/") and (tree / SELFTESTS / f"{name}.c").is_file()
        ]
        _make(collection, wanted, tree, build, target)


def _make(collection: str, names: Sequence[str], tree: Path, build: Path, target: Path) -> None:
    """Make the programs of a collection; what does not compile is not there afterwards."""
    output = build / collection
    output.mkdir()
    command = [
        *("make", "--keep-going", f"-j{os.cpu_count() or 1}"),
        f"--directory={tree / SELFTESTS / collection}",
        f"OUTPUT={output}",
        f"KHDR_INCLUDES=-isystem {build / 'usr/include'}",
        "LDFLAGS=-static",
    ]
    log = target / f"{collection}.log"
    process.run(
        [*command, *(output / Path(name).name for name in names)],
        purpose=f"compile the selftests of {collection}",
        log=log,
        ok=(0, 1, 2),
        limit_seconds=LIMIT_SECONDS,
    )
    (target / collection).mkdir()
    made = [path for name in names if (path := output / Path(name).name).is_file()]
    if names and not made:
        raise LabError(
            f"none of the selftests of {collection} compiles",
            command=" ".join(command),
            log_tail=process.tail(log),
            next_step="install gcc and libc6-dev; see the compiler's messages above",
        )
    for path in made:
        shutil.copy2(path, target / collection / path.name)
