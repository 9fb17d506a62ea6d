# SPDX-License-Identifier: GPL-2.0-only
"""Applying one patch to a directory with zero fuzz, and saying exactly why when that fails."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mglru.core.errors import LabError
from mglru.core.git import git, succeeds
from mglru.series.listing import Patch
from mglru.series.patch import FileChange, Hunk, read_changes

# All lines of context must match (git apply never takes less); only their place may differ.
APPLY = ("apply", "--verbose", "--whitespace=nowarn")
GUIDE = "see 'When the series does not apply' in docs/series/patches.md"

_CHECKING = re.compile(r"Checking patch (?:.* => )?(?P<file>.+?)\.\.\.")
_OFFSET = re.compile(
    r"Hunk #(?P<number>\d+) succeeded at (?P<line>\d+) \((?P<offset>offset .+)\)\."
)
_APPLYING = re.compile(r"Applying patch (?:.* => )?(?P<file>.+?) with \d+ rejects?\.\.\.")
_REJECTED = re.compile(r"Rejected hunk #(?P<number>\d+)\.")


@dataclass(frozen=True)
class FailedHunk:
    """Where a patch does not fit.

    Attributes:
        file: the file in the tree.
        number: which hunk of the file, from 1; 0 means the file as a whole.
        count: how many hunks the patch has for this file.
        header: the hunk's `@@` line.
        reason: why, in a few words.
    """

    file: str
    number: int
    count: int
    header: str
    reason: str

    def __str__(self) -> str:
        if not self.number:
            return f"{self.file}: {self.reason}"
        return f"{self.file}, hunk {self.number} of {self.count} ({self.header}): {self.reason}"


class PatchError(LabError):
    """A patch that does not apply.

    Attributes:
        patch: the patch.
        hunks: every place where it does not fit.
        already_applied: the source contains the patch's change already.
    """

    def __init__(
        self, patch: Patch, hunks: Sequence[FailedHunk], *, already_applied: bool, where: str
    ) -> None:
        if already_applied:
            what = f"{patch.name}: this change is already in {where} (the patch applies in reverse)"
            next_step = f"leave this patch out for this source: {GUIDE}"
        else:
            more = f" (and {len(hunks) - 1} more)" if len(hunks) > 1 else ""
            what = f"{patch.name} does not apply to {where}: {hunks[0]}{more}"
            next_step = f"use a source that the series was made for, or port the patch: {GUIDE}"
        super().__init__(
            what,
            next_step=next_step,
            command=f"git apply {patch.path}",
            log_tail=[str(hunk) for hunk in hunks],
        )
        self.patch = patch
        self.hunks = tuple(hunks)
        self.already_applied = already_applied


def require_unchanged(patch: Patch) -> None:
    """Make sure that the file still holds what was read (and hashed) before.

    Raises:
        LabError: it was changed meanwhile.
    """
    if not patch.path.is_file() or patch.path.read_bytes() != patch.content:
        raise LabError(f"{patch.path} was changed while it was being used", next_step="start again")


def apply_patch(
    patch: Patch, root: Path, *, where: str, options: Sequence[str] = ()
) -> tuple[str, ...]:
    """Apply a patch to the files in `root`: all of it, or nothing.

    Args:
        patch: the patch.
        root: a directory that holds at least the files that the patch touches.
        where: what the user calls this source, as in "does not apply to <where>".
        options: more options for `git apply`.

    Returns:
        one line for each hunk that was found at another line than the patch says.

    Raises:
        PatchError: it does not apply with zero fuzz.
        LabError: git cannot be run.
    """
    require_unchanged(patch)
    try:
        output = git(*APPLY, *options, patch.path, cwd=root, purpose=f"apply {patch.name}")
    except LabError:
        hunks = tuple(_failures(patch, root))
        reverse = succeeds("apply", "--reverse", "--check", patch.path, cwd=root)
        if not hunks and not reverse:
            raise
        raise PatchError(patch, hunks, already_applied=reverse, where=where) from None
    return tuple(_offsets(output))


def _offsets(output: str) -> Iterator[str]:
    file = ""
    for line in output.splitlines():
        if match := _CHECKING.fullmatch(line):
            file = match["file"]
        elif match := _OFFSET.fullmatch(line):
            yield f"{file}, hunk {match['number']}: at line {match['line']}, {match['offset']}"


def _failures(patch: Patch, root: Path) -> Iterator[FailedHunk]:
    """Find every place where the patch does not fit, by trying on a copy."""
    rejected = _rejected(patch, root)
    for change in read_changes(patch.content):
        if whole := _whole_file_failure(change, root):
            yield whole
        for number in rejected.get(change.name, ()):
            hunk = change.hunks[number - 1]
            reason = _reason(change, hunk, root)
            yield FailedHunk(change.name, number, len(change.hunks), hunk.header, reason)


def _whole_file_failure(change: FileChange, root: Path) -> FailedHunk | None:
    reason = ""
    if change.old is None and (root / change.name).exists():
        reason = "the patch adds this file, but the source has it already"
    if change.old is not None and not (root / change.old).exists():
        reason = f"the source has no file {change.old}"
    return FailedHunk(change.name, 0, len(change.hunks), "", reason) if reason else None


def _rejected(patch: Patch, root: Path) -> dict[str, list[int]]:
    """Return the numbers of the hunks that `git apply --reject` refuses, by file."""
    with tempfile.TemporaryDirectory(prefix="mglru-reject-") as scratch:
        copy = Path(scratch) / "copy"
        shutil.copytree(root, copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        log = Path(scratch) / "log"
        try:
            git(*APPLY, "--reject", patch.path, cwd=copy, purpose="try hunk by hunk", log=log)
        except LabError:
            output = log.read_text(errors="replace")
        else:
            output = ""
    rejected: dict[str, list[int]] = {}
    file = ""
    for line in output.splitlines():
        if match := _APPLYING.fullmatch(line):
            file = match["file"]
        elif match := _REJECTED.fullmatch(line):
            rejected.setdefault(file, []).append(int(match["number"]))
    return rejected


def _reason(change: FileChange, hunk: Hunk, root: Path) -> str:
    """Say whether a hunk does not fit because its change has been made already."""
    with tempfile.NamedTemporaryFile(prefix="mglru-hunk-", suffix=".patch") as file:
        text = f"--- a/{change.old}\n+++ b/{change.old}\n{hunk.text}"
        file.write(text.encode(errors="surrogateescape"))
        file.flush()
        if change.old and succeeds("apply", "--reverse", "--check", file.name, cwd=root):
            return "this hunk's change is already in the source"
    return "the source has other lines here"
