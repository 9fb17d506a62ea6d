# SPDX-License-Identifier: GPL-2.0-only
"""Carrying a series over to another point release by three-way merges, as git does.

The series is committed on the source that it was made for (the ancestor), in a temporary
repository that holds only the touched files; then each commit is picked onto the other source.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from mglru.core.errors import LabError
from mglru.core.git import NEUTRAL_EMAIL, NEUTRAL_NAME, git, identity, succeeds
from mglru.series.apply import FailedHunk, PatchError, apply_patch, require_unchanged
from mglru.series.listing import Patch

_IDENTITY = identity(NEUTRAL_NAME, NEUTRAL_EMAIL, "@0 +0000")
_CONFLICT = re.compile(r"^<<<<<<< ")


def merge_patches(
    patches: Sequence[Patch], ancestor_files: Path, source_files: Path, root: Path, *, where: str
) -> tuple[str, ...]:
    """Merge a series into a source that it was not made for.

    Args:
        patches: the series, in order.
        ancestor_files: the touched files as in the source that the series was made for.
        source_files: the same files as in the source to merge into.
        root: an empty directory that receives the merged files.
        where: what the user calls this source.

    Returns:
        one line for each patch that needed a merge, or that the source contains already.

    Raises:
        PatchError: a conflict; nothing is left in `root`.
    """
    with tempfile.TemporaryDirectory(prefix="mglru-merge-") as scratch:
        repository = Path(scratch) / "repository"
        repository.mkdir()
        git("init", "--quiet", "--template=", cwd=repository, purpose="make a repository")
        _commit_files(ancestor_files, repository)
        commits = [_commit_patch(patch, repository) for patch in patches]
        git("checkout", "--quiet", "--detach", cwd=repository, purpose="leave the series")
        _commit_files(source_files, repository)
        notes = [
            note
            for patch, commit in zip(patches, commits, strict=True)
            if (note := _pick(patch, commit, repository, where))
        ]
        shutil.copytree(
            repository,
            root,
            symlinks=True,
            dirs_exist_ok=True,
            ignore=lambda folder, _: [".git"] if Path(folder) == repository else [],
        )
    return tuple(notes)


def _commit(repository: Path, *options: str) -> None:
    git(
        *("-c", "gc.auto=0", "commit", "--quiet", "--no-verify", "--allow-empty", *options),
        cwd=repository,
        purpose="commit in the temporary repository",
        env=_IDENTITY,
    )


def _commit_files(files: Path, repository: Path) -> None:
    """Make the repository's next commit hold exactly these files."""
    for entry in repository.iterdir():
        if entry.name != ".git":
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    shutil.copytree(files, repository, symlinks=True, dirs_exist_ok=True)
    git("add", "--all", "--force", cwd=repository, purpose="add the files")
    _commit(repository, "--message=files")


def _commit_patch(patch: Patch, repository: Path) -> str:
    where = "the source that the series was made for"
    apply_patch(patch, repository, where=where, options=["--index"])
    _commit(repository, f"--message={patch.name}")
    return git("rev-parse", "HEAD", cwd=repository, purpose="name the commit").strip()


def _pick(patch: Patch, commit: str, repository: Path, where: str) -> str:
    """Pick one commit; return a note if the patch would not have applied as it is."""
    require_unchanged(patch)
    plain = succeeds("apply", "--check", patch.path, cwd=repository)
    try:
        git(
            *("-c", "gc.auto=0", "cherry-pick", "--allow-empty", "--keep-redundant-commits"),
            commit,
            cwd=repository,
            purpose=f"merge {patch.name}",
            env=_IDENTITY,
        )
    except LabError:
        hunks = tuple(_conflicts(repository))
        if not hunks:
            raise
        raise PatchError(patch, hunks, already_applied=False, where=where) from None
    if succeeds("diff", "--quiet", "HEAD~", "HEAD", cwd=repository):
        return f"{patch.name}: its change is already in {where}"
    return "" if plain else f"{patch.name}: merged three-way into {where}"


def _conflicts(repository: Path) -> Iterator[FailedHunk]:
    unmerged = git(
        *("diff", "--name-only", "--diff-filter=U"), cwd=repository, purpose="list conflicts"
    )
    for name in unmerged.splitlines():
        path = repository / name
        text = path.read_text(errors="replace") if path.is_file() else ""
        lines = [
            number for number, line in enumerate(text.splitlines(), 1) if _CONFLICT.match(line)
        ]
        for index, number in enumerate(lines, 1):
            place = f"line {number} of the merged file"
            yield FailedHunk(name, index, len(lines), place, "both sides changed these lines")
        if not lines:
            yield FailedHunk(name, 0, 0, "", "one side removed or renamed what the other changed")
