# SPDX-License-Identifier: GPL-2.0-only
"""A tree of a kernel's source that follows a series: what builds, packages and checks compile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from mglru.core.cache import scratch
from mglru.series.listing import Patch
from mglru.series.overlay import follow_overlay, link_tree, make_overlay
from mglru.source.trees import Source, cached


def follow_series(
    tree: Path,
    source: Source,
    patches: Sequence[Patch],
    *,
    note: Callable[[str], None] | None = None,
    create: Callable[[], None] | None = None,
) -> None:
    """Make a tree's sources equal to the pristine ones plus patches, whatever it followed before.

    Args:
        tree: made if it is not there.
        source: what it is of.
        patches: in order.
        note: told what to know of how they apply.
        create: makes the tree; None: hard links to the source.

    Raises:
        LabError: no space, or a patch neither applies nor can be merged.
    """
    # Debian's source is what the series is made on; on a tree of the user's own, a patch
    # that does not apply is merged with its help, or refused.
    made_on = cached(source.base)
    with scratch("overlay") as directory:
        overlay = make_overlay(
            source.path,
            patches,
            directory,
            three_way=True,
            ancestor=made_on.path if made_on else None,
        )
        # Other lines of the lab's own source are for `series check` to tell, not for who runs it.
        own = made_on is not None and made_on.path == source.path
        if note and not (own and overlay.offsets):
            for line in overlay.notes:
                note(line)
        if not tree.exists():
            if create:
                create()
            else:
                link_tree(source.path, tree)
        follow_overlay(overlay, source.path, tree)
