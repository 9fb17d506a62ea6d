# SPDX-License-Identifier: GPL-2.0-only
"""Step 3, build: a kernel image out of a recipe, cached by content.

Each kernel has a tree of its own in which it is built, so that after a change of one file only
that file is compiled. A new tree starts as a copy of a built one where there is one. Unchanged
sources are hard links to the pristine tree.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mglru.build import config as kconfig
from mglru.build.recipe import MACHINES, Recipe
from mglru.core import process
from mglru.core.cache import use
from mglru.core.errors import LabError
from mglru.core.paths import cache_dir, locked, require_space, staged
from mglru.core.ui import Ui, Update
from mglru.series.overlay import link_tree
from mglru.series.patched_tree import follow_series
from mglru.source.trees import Source

TREE_BYTES = 600_000_000
BUILD_LIMIT_SECONDS = 3600
# What names of trees do without.
_SPECIAL = re.compile(r"[^A-Za-z0-9.+]")
_OBJECT = re.compile(rb"^  (?:CC|AS|HOSTCC|LD|AR|USER)\b", re.MULTILINE)


@dataclass(frozen=True)
class Build:
    """A kernel that can be booted.

    Attributes:
        recipe: what it was made of.
        directory: holds the image, `config`, `build.log` and `build.json`.
    """

    recipe: Recipe
    directory: Path

    @property
    def image(self) -> Path:
        """The file that boots."""
        return self.directory / Path(MACHINES[self.recipe.machine].image).name

    @property
    def provenance(self) -> dict[str, str]:
        """What a result records about this kernel."""
        recorded: dict[str, str] = json.loads((self.directory / "build.json").read_text())
        return recorded


def planned(recipe: Recipe) -> Build:
    """Return where the build of a recipe is, or will be, in the cache."""
    return Build(recipe, cache_dir("builds") / recipe.key)


def find_build(recipe: Recipe) -> Build | None:
    """Return the cached build of a recipe, if it is complete."""
    build = planned(recipe)
    if not (build.directory / "build.json").is_file():
        return None
    return build


def build_kernel(recipe: Recipe, ui: Ui, jobs: int | None = None) -> Build:
    """Return the build of a recipe, making it if the cache has none.

    Args:
        recipe: what to build.
        ui: gets the progress.
        jobs: parallel compilers; the number of CPUs if None.

    Raises:
        LabError: a patch does not apply, an option cannot be set, no space, or a build error
            (with the end of the log, which is kept).
    """
    with locked(cache_dir("builds") / recipe.key):
        if known := find_build(recipe):
            use(known.directory)
            return known
        tree = _slot(recipe)
        with locked(tree):
            _prepare_tree(tree, recipe, ui)
            started = time.monotonic()
            log = _compile(tree, recipe, ui, jobs or os.cpu_count() or 1)
            return _keep(tree, recipe, log, time.monotonic() - started)


def _slot(recipe: Recipe) -> Path:
    """Return the directory in which this kernel is built, again and again as it changes.

    All starts of a series (`+next:1`, `+next:2`, ...) share one: from one to the next is a patch.
    """
    name = _SPECIAL.sub("_", f"{recipe.kernel.of_any_length}-{recipe.machine}")
    return tree_home(recipe.source) / name


def tree_home(source: Source) -> Path:
    """Return the directory of the trees in which kernels of a source are built."""
    return cache_dir("trees", f"{source.base}-{source.digest[:8]}")


def _prepare_tree(tree: Path, recipe: Recipe, ui: Ui) -> None:
    """Make the tree's sources equal to the pristine ones plus the recipe's patches."""

    def create() -> None:
        require_space(tree.parent, TREE_BYTES, f"the build of {recipe.kernel}")
        _new_tree(tree, recipe, ui)

    follow_series(tree, recipe.source, recipe.patches, note=ui.note, create=create)


def _new_tree(tree: Path, recipe: Recipe, ui: Ui) -> None:
    sibling = next(_built_siblings(tree, recipe.machine), None)
    ui.note(f"preparing a source tree for {recipe.kernel}")
    if sibling is None:
        link_tree(recipe.source.path, tree)
        return
    with locked(sibling), staged(tree) as staging:
        _clone(sibling, recipe.source.path, staging)


def _built_siblings(tree: Path, machine: str) -> Iterator[Path]:
    """Trees of the same source that have been built: same options first, then the newest."""
    pattern = f"*_{_SPECIAL.sub('_', machine)}"
    candidates = [path for path in tree.parent.glob(pattern) if (path / "vmlinux").exists()]

    def rank(path: Path) -> tuple[bool, float]:
        return _options(path) == _options(tree), (path / "vmlinux").stat().st_mtime

    yield from sorted(candidates, key=rank, reverse=True)


def _options(tree: Path) -> str:
    """Return what the name of a tree has after base and series: the kernel's own options."""
    return re.sub(r"^[0-9.]+(\+next(_N)?)?", "", tree.name)


def _clone(sibling: Path, pristine: Path, target: Path) -> None:
    """Copy a built tree with its time stamps: sources as hard links, the rest as real copies.

    Objects must not be shared: the next build would write through the link.
    """
    for directory, _names, files in os.walk(sibling):
        relative = Path(directory).relative_to(sibling)
        (target / relative).mkdir(exist_ok=True)
        for name in files:
            from_path = sibling / relative / name
            original = pristine / relative / name
            status = from_path.lstat()
            if (
                status.st_nlink > 1
                and original.exists()
                and original.lstat().st_ino == status.st_ino
            ):
                os.link(original, target / relative / name, follow_symlinks=False)
            else:
                shutil.copy2(from_path, target / relative / name, follow_symlinks=False)


def make_command(jobs: int = 1) -> list[str]:
    """Return make with what makes builds repeatable, and with ccache where there is one."""
    # The same source gives the same image, whoever builds it and when.
    command = ["make", f"-j{jobs}", "KBUILD_BUILD_USER=mglru", "KBUILD_BUILD_HOST=lab"]
    command += ["KBUILD_BUILD_TIMESTAMP=1970-01-01", "KBUILD_BUILD_VERSION=1"]
    if shutil.which("ccache"):
        # Depend mode spares a cache miss the preprocessor run.
        command += ["CC=ccache gcc", "CCACHE_DEPEND=1"]
    return command


def _compile(tree: Path, recipe: Recipe, ui: Ui, jobs: int) -> Path:
    machine = MACHINES[recipe.machine]
    _configure(tree, recipe)
    fresh = not (tree / "vmlinux").exists()
    with ui.bar(f"building {recipe.kernel}", machine.objects if fresh else None) as update:
        return _make(tree, recipe, jobs, (machine.image,), update)


def _configure(tree: Path, recipe: Recipe) -> None:
    asked = dict(recipe.options) | {"LOCALVERSION": f'"{recipe.localversion}"'}
    kconfig.configure(tree, MACHINES[recipe.machine].arch, asked, make_command())


def _make(
    tree: Path,
    recipe: Recipe,
    jobs: int,
    targets: Sequence[str],
    update: Update,
) -> Path:
    """Make some targets of a configured tree, and return the log."""
    log = tree / ".mglru-build.log"
    process.run(
        [*make_command(jobs), f"ARCH={MACHINES[recipe.machine].arch}", *targets],
        purpose=f"build {recipe.kernel}",
        cwd=tree,
        log=log,
        limit_seconds=BUILD_LIMIT_SECONDS,
        next_step=f"the whole log is {log}",
        on_tick=lambda: update(len(_OBJECT.findall(log.read_bytes())), "objects"),
    )
    return log


def compile_objects(recipe: Recipe, ui: Ui, objects: Callable[[Path], Sequence[str]]) -> str:
    """Compile some objects of a kernel, without linking it, and return what make said.

    Args:
        recipe: the kernel; it is compiled in the tree in which it would be built.
        ui: gets the progress.
        objects: which, given the configured and prepared tree.

    Raises:
        LabError: as `build_kernel` does.
    """
    tree, jobs = _slot(recipe), os.cpu_count() or 1
    with locked(tree):
        _prepare_tree(tree, recipe, ui)
        _configure(tree, recipe)
        with ui.bar(f"compiling what {recipe.kernel} touches", None) as update:
            _make(tree, recipe, jobs, ("prepare",), update)
            log = _make(tree, recipe, jobs, objects(tree), update)
        return log.read_text(errors="replace")


def _keep(tree: Path, recipe: Recipe, log: Path, seconds: float) -> Build:
    """Put the image and its papers into the cache, all or nothing."""
    image = tree / MACHINES[recipe.machine].image
    release = (tree / "include/config/kernel.release").read_text().strip()
    if release != recipe.release:
        raise LabError(
            f"the build of {recipe.kernel} calls itself {release}, not {recipe.release}",
            next_step=f"remove {tree} and build again",
        )
    provenance = {
        "kernel": str(recipe.kernel),
        "release": release,
        "base_version": recipe.source.version,
        "source": recipe.source.origin,
        "series_sha256": recipe.series.sha256,
        "lab_series_sha256": recipe.lab.sha256,
        "config_sha256": recipe.config_sha256,
        "compiler": recipe.compiler,
        "build_key": recipe.key,
        "build_seconds": f"{seconds:.0f}",
    }
    directory = cache_dir("builds") / recipe.key
    with staged(directory) as staging:
        shutil.copy2(image, staging / image.name)
        shutil.copy2(tree / ".config", staging / "config")
        shutil.copy2(log, staging / "build.log")
        (staging / "build.json").write_text(json.dumps(provenance, indent=1))
    use(directory)
    return Build(recipe, directory)
