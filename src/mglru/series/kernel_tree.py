# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru kernel tree`: a kernel's name in, the path of its git tree out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mglru.core.errors import UsageError
from mglru.core.paths import cache_dir
from mglru.core.ui import Ui
from mglru.debian import packages
from mglru.series.listing import Series, load_lab_series, load_series
from mglru.series.worktree import make_tree, reuse_tree
from mglru.source.kernel_id import KernelId
from mglru.source.trees import get_source, import_sources


def usual_path(kernel: KernelId) -> Path:
    """Return where the git tree of a kernel is if nobody says where."""
    return cache_dir("git") / str(kernel)


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


def _series_of(kernel: KernelId) -> Series:
    """Return the patches that a kernel has; none for a stock kernel."""
    series = load_series(kernel.base) if kernel.series else Series(kernel.base, ())
    return series if kernel.upto is None else series.first(kernel.upto)
