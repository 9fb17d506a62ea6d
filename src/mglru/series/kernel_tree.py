# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru kernel tree` and `export`: from a kernel's name to its git tree, and back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mglru.core import paths
from mglru.core.errors import UsageError
from mglru.core.ui import Ui
from mglru.debian import packages
from mglru.series.listing import Series, load_lab_series, load_series
from mglru.series.worktree import export_tree, make_tree, reuse_tree
from mglru.source.kernel_id import SERIES_BASES, KernelId
from mglru.source.trees import get_source, import_sources


def usual_path(kernel: KernelId) -> Path:
    """Return where the git tree of a kernel is if nobody says where."""
    return paths.cache_dir("git") / str(kernel)


def tree_of(kernel: KernelId, into: Path | None, own: Sequence[Path], ui: Ui) -> Path:
    """Return the git tree of a kernel, made if there is none.

    Args:
        kernel: whose.
        into: where; None: `usual_path`.
        own: the user's kernel sources.
        ui: gets the progress, and what is to be told of a tree that is there.

    Raises:
        UsageError: there is another tree, or no such source or series.
        PatchError: a patch does not apply.
        LabError: no source, no space, or git failed.
    """
    packages.ensure(packages.KERNEL_BUILD, ui)
    target = into or usual_path(kernel)
    if target.exists() and own:
        raise UsageError(
            f"{target} exists, and may be of another source",
            next_step=f"work in it: cd {target}; or name another directory with --into",
        )
    series = _series_of(kernel)
    if target.exists():
        ui.note(reuse_tree(target, series))
        return target
    sources = import_sources(own, note=ui.note)
    source = sources.get(kernel.base) or get_source(kernel.base, note=ui.note)
    with ui.bar(f"making a git tree of {kernel}", None):
        return make_tree(source, series, load_lab_series(kernel.base), target)


def export_kernel(kernel: KernelId, origin: Path | None, mbox: Path | None) -> list[str]:
    """Write the commits of a kernel's git tree back to the series of its base.

    Args:
        kernel: whose.
        origin: the tree; None: `usual_path`.
        mbox: write this one file for `git am` instead.

    Returns:
        lines for the user, see `export_tree`.

    Raises:
        UsageError: there is no series for the base, no such tree, or see `export_tree`.
        LabError: see `export_tree`.
    """
    if kernel.base not in SERIES_BASES:
        raise UsageError(f"there is no series for {kernel.base}")
    source = origin or usual_path(kernel)
    if not source.is_dir():
        raise UsageError(f"{source}: no such tree", next_step=f"./mglru kernel tree {kernel}")
    return export_tree(source, kernel.base, paths.PATCHES / kernel.base, mbox)


def _series_of(kernel: KernelId) -> Series:
    """Return the patches that a kernel has; none for a stock kernel."""
    series = load_series(kernel.base) if kernel.series else Series(kernel.base, ())
    return series if kernel.upto is None else series.first(kernel.upto)
