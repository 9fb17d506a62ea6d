# SPDX-License-Identifier: GPL-2.0-only
"""From patches to files: the touched files alone, and build trees that follow them.

An overlay holds the files that the patches change, patched. A build tree consists of hard links
to the pristine source, except for the files of the overlay. The pristine source is never changed.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mglru.core import process
from mglru.core.errors import LabError, UsageError
from mglru.core.files import replacing, write_whole
from mglru.core.paths import require_space, staged
from mglru.series.apply import PatchError, apply_patch
from mglru.series.listing import Patch
from mglru.series.merge import merge_patches
from mglru.series.patch import read_changes
from mglru.source.trees import UNPACKED_BYTES, kernel_version

_TOUCHED = ".mglru-touched.json"


@dataclass(frozen=True)
class Overlay:
    """What a list of patches makes of a source.

    Attributes:
        root: holds the changed and added files, at their names.
        changed: names of files that differ from the source or are not in it.
        deleted: names of files of the source that are gone.
        offsets: hunks that were found at another line than their patch says.
        notes: lines for the user: offsets in short, three-way merges.
    """

    root: Path
    changed: tuple[str, ...]
    deleted: tuple[str, ...]
    offsets: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def make_overlay(
    source: Path,
    patches: Sequence[Patch],
    into: Path,
    *,
    three_way: bool = False,
    ancestor: Path | None = None,
) -> Overlay:
    """Apply patches to copies of the files that they touch, with zero fuzz.

    Args:
        source: the pristine tree; only read.
        patches: in order.
        into: the directory to make; may exist if it is empty. On an error it is left as it was.
        three_way: if a patch does not apply, merge it with git's help.
        ancestor: the tree that the series was made for; a merge needs it.

    Raises:
        PatchError: a patch does not apply: names it, the file and the hunk.
        LabError: a patch names a file behind a symbolic link, or git cannot be run.
    """
    if into.exists() and any(into.iterdir()):
        raise LabError(f"{into} is not empty", next_step="give a directory that is empty")
    touched = touched_files(patches)
    where = describe_tree(source)
    offsets: tuple[str, ...] = ()
    with staged(into) as root:
        copy_touched(source, touched, root)
        try:
            offsets = tuple(_apply_all(patches, root, where))
            notes = _summary(offsets)
        except PatchError as error:
            if not three_way:
                raise
            notes = _merge(error, patches, touched, source, ancestor, root)
        changed, deleted = _compare(source, touched, root)
    return Overlay(into, changed, deleted, offsets, notes)


def describe_tree(tree: Path) -> str:
    """Return what to call a source in a message: its version, or its path."""
    try:
        return f"Linux {kernel_version(tree)}"
    except UsageError:
        return str(tree)


def touched_files(patches: Sequence[Patch]) -> tuple[str, ...]:
    """Return the names of all files that the patches name, sorted."""
    changes = [change for patch in patches for change in read_changes(patch.content)]
    return tuple(sorted({name for change in changes for name in (change.old, change.new) if name}))


def copy_touched(source: Path, touched: Sequence[str], root: Path) -> None:
    """Copy those of the files that the source has."""
    top = source.resolve()
    for name in touched:
        parent = (source / name).parent
        if parent.resolve() != top.joinpath(name).parent:
            raise LabError(
                f"{name} lies behind a symbolic link in {source}",
                next_step="make the patch touch the file that the link points to",
            )
        if os.path.lexists(source / name):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, root / name, follow_symlinks=False)


def _apply_all(patches: Sequence[Patch], root: Path, where: str) -> Iterator[str]:
    for patch in patches:
        for offset in apply_patch(patch, root, where=where):
            yield f"{patch.name}: {offset}"


def _summary(offsets: Sequence[str]) -> tuple[str, ...]:
    if not offsets:
        return ()
    names = {offset.partition(":")[0] for offset in offsets}
    patches = f"{len(names)} patches" if len(names) > 1 else names.pop()
    return (
        f"{len(offsets)} hunk{'s' * (len(offsets) > 1)} of {patches} found at other lines than "
        "written there; all of the context matches",
    )


def _merge(
    error: PatchError,
    patches: Sequence[Patch],
    touched: Sequence[str],
    source: Path,
    ancestor: Path | None,
    root: Path,
) -> tuple[str, ...]:
    """Replace what is in `root` by the result of a three-way merge; return notes."""
    if ancestor is None or ancestor.resolve() == source.resolve():
        error.next_step += (
            " (no three-way merge: the source that the series was made for is not at hand)"
        )
        raise error
    with tempfile.TemporaryDirectory(prefix="mglru-sides-") as scratch:
        ours, base = Path(scratch) / "ours", Path(scratch) / "base"
        for side, tree in ((ours, source), (base, ancestor)):
            side.mkdir()
            copy_touched(tree, touched, side)
        for entry in list(root.iterdir()):
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        return merge_patches(patches, base, ours, root, where=describe_tree(source))


def _compare(
    source: Path, touched: Sequence[str], root: Path
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of changed and of deleted files; drop copies that ended up unchanged."""
    changed, deleted = [], []
    for name in touched:
        here, there = os.path.lexists(root / name), os.path.lexists(source / name)
        if here and there and _same(root / name, source / name):
            (root / name).unlink()
        elif here:
            changed.append(name)
        elif there:
            deleted.append(name)
    return tuple(changed), tuple(deleted)


def _same(one: Path, other: Path) -> bool:
    """Return whether two files are equal in kind, content and executable bit."""
    first, second = one.lstat(), other.lstat()
    if stat.S_IFMT(first.st_mode) != stat.S_IFMT(second.st_mode):
        return False
    if stat.S_ISLNK(first.st_mode):
        return one.readlink() == other.readlink()
    executable = stat.S_IXUSR & (first.st_mode ^ second.st_mode)
    return not executable and one.read_bytes() == other.read_bytes()


def sync_overlay(
    overlay: Overlay, source: Path, tree: Path, previously: Collection[str]
) -> tuple[str, ...]:
    """Make a build tree equal to the source plus the overlay.

    A file that is right already is left alone, so that make does not compile it again; one
    that is not is replaced by a new file with the time of now, also when it goes back to what
    the source has: objects that were made from the other content are older than that.

    Args:
        overlay: what the tree is to have.
        source: the pristine tree; only read.
        tree: the build tree, hard links to `source` in general.
        previously: names that an earlier overlay of this tree has changed or deleted. An
            interrupted call must be repeated with the names of both overlays.

    Returns:
        names of the files that were replaced, added or removed.
    """
    changed = set(overlay.changed)
    names = sorted({*previously, *overlay.changed, *overlay.deleted})
    replaced = []
    for name in names:
        wanted = (overlay.root if name in changed else source) / name
        exists = os.path.lexists(wanted) and name not in overlay.deleted
        if exists and not (os.path.lexists(tree / name) and _same(wanted, tree / name)):
            _put(wanted, tree / name)
        elif not exists and os.path.lexists(tree / name):
            _remove(tree, name, source)
        else:
            continue
        replaced.append(name)
    return tuple(replaced)


def follow_overlay(overlay: Overlay, source: Path, tree: Path) -> None:
    """Make a build tree equal to the source plus the overlay, whatever it followed before.

    The tree remembers which files differ from the source; the names are written down before the
    first one changes, so that an interrupt is mended by the next call.
    """
    record = tree / _TOUCHED
    before = json.loads(record.read_text()) if record.exists() else []
    touched = sorted({*before, *overlay.changed, *overlay.deleted})
    write_whole(record, json.dumps(touched))
    sync_overlay(overlay, source, tree, before)
    write_whole(record, json.dumps(sorted({*overlay.changed, *overlay.deleted})))


def _put(wanted: Path, place: Path) -> None:
    """Write a new file and rename it into place: writing into `place` would go through the link."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with replacing(place) as new:
        shutil.copy(wanted, new, follow_symlinks=False)


def _remove(tree: Path, name: str, source: Path) -> None:
    """Remove a file, and the directories that only it was in."""
    (tree / name).unlink()
    for parent in Path(name).parents:
        if (source / parent).exists() or any((tree / parent).iterdir()):
            break
        (tree / parent).rmdir()


def link_tree(source: Path, target: Path) -> None:
    """Make a copy of a source tree out of hard links (real copies on another file system).

    Repository data (`.git`) is left out. `target` appears only when it is complete.

    Raises:
        LabError: no space, or the copy failed.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    same_disk = source.stat().st_dev == target.parent.stat().st_dev
    if not same_disk:
        require_space(target.parent, UNPACKED_BYTES, f"a copy of {source}")
    with staged(target) as staging:
        copy_entries(source, staging, "-al" if same_disk else "-a")


def copy_entries(source: Path, target: Path, how: str) -> None:
    """Copy what is in a source tree, except `.git`, with `cp <how>`.

    Raises:
        LabError: the copy failed.
    """
    entries = sorted(entry for entry in source.iterdir() if entry.name != ".git")
    if entries:
        process.run(
            ["cp", how, "--reflink=auto", f"--target-directory={target}", "--", *entries],
            purpose=f"copy {source}",
            next_step="check the free space of the cache",
        )
