# SPDX-License-Identifier: GPL-2.0-only
"""From the commits of a git tree back to `patches/<base>/`, or to one file for `git am`.

The same commits always give the same bytes, on any machine and with any git settings.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from mglru.core.errors import UsageError
from mglru.core.files import write_whole
from mglru.core.git import git, succeeds
from mglru.series.listing import SERIES_FILE, Series, load_series, read_series_file
from mglru.series.listing_merge import Exported, merge_series
from mglru.series.patch import read_message
from mglru.source.trees import kernel_version

BASE_TAG = "base"
LEFT_OUT = "mglru.leftOut"
# Settings of a tree: the kernel and series that it was last equal to, and its commit then.
STATE = "mglru.state"
STATE_HEAD = "mglru.stateHead"
COVER = "cover.md"
_BUSY = ("rebase-merge", "rebase-apply", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD")
_UNFINISHED = ("fixup!", "squash!", "amend!")
# What the tree's own settings could change, too.
_FORMAT = (
    *("-c", "diff.noprefix=false", "-c", "diff.mnemonicPrefix=false", "-c", "diff.renames=true"),
    *("-c", "diff.algorithm=default", "-c", "diff.context=3", "-c", "diff.interHunkContext=0"),
    *("-c", "diff.suppressBlankEmpty=false", "-c", "format.notes=false"),
    *("-c", "diff.indentHeuristic=true", "-c", "format.encodeEmailHeaders=true"),
    *("-c", "format.useAutoBase=false", "-c", "format.signOff=false"),
    *("format-patch", "--quiet", "--no-signature", "--zero-commit", "--full-index"),
    *("--no-thread", "--no-attach", "--no-cover-letter", "--no-from", "--no-add-header"),
    *("--no-ext-diff", "--no-textconv", "-O/dev/null", "--stat=72", "--summary"),
    "--filename-max-length=64",
    *("--subject-prefix=PATCH", "--suffix=.patch", "--no-color", "--no-to", "--no-cc"),
)


def export_tree(tree: Path, base: str, directory: Path, mbox: Path | None = None) -> list[str]:
    """Write the commits on top of the tag `base` as patches.

    Args:
        tree: a git tree that `make_tree` has made.
        base: the kernel version that the series is for.
        directory: the series to replace, `patches/<base>`; its `series` file keeps its comments,
            each with the patch (known by its subject, or else by its author's date) that it is
            above, and each patch lies in the folder of its part. All or nothing is written.
        mbox: write this one file for `git am` instead, with `cover.md` and those of the parts in
            its first mail below the `---`, where git am passes over them.

    Returns:
        lines for the user: what changed, and what could not be kept.

    Raises:
        UsageError: not such a tree, or one with uncommitted changes, an unfinished rebase,
            merges, fixups, or fewer patches than the series (a tree of `+next:N`).
        LabError: git failed, or nothing can be written.
    """
    _check_tree(tree, base)
    subjects = _check_commits(tree)
    if mbox:
        return _write_mbox(tree, directory, mbox, len(subjects))
    _check_complete(tree, subjects)
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{directory.name}.", dir=directory.parent) as scratch:
        new = Path(scratch) / "new"
        notices = _stage(tree, base, directory, new)
        _check_messages(tree, load_series(base, new))
        summary = _difference(directory, new)
        if summary != _UNCHANGED:
            _swap(new, directory, Path(scratch) / "old")
    remember_state(tree, load_series(base, directory))
    return [f"{directory}: {summary}", *notices]


def state_of(series: Series) -> str:
    """Return what tells a series from any other, and from another state of it, in one line."""
    return f"{series.kernel} {series.sha256}"


def remember_state(tree: Path, series: Series) -> None:
    """Leave in a tree's settings that its commits are now this series.

    Raises:
        LabError: git failed.
    """
    head = _ask(tree, "rev-parse", "HEAD")
    for name, value in ((STATE, state_of(series)), (STATE_HEAD, head)):
        git("config", name, value, cwd=tree, purpose="set up the tree")


def unfinished(tree: Path) -> tuple[str, str] | None:
    """Return what is begun in a git tree and not committed, and how to end it; None if nothing is.

    Raises:
        LabError: git failed.
    """
    git_dir = Path(_ask(tree, "rev-parse", "--absolute-git-dir"))
    busy = [name for name in _BUSY if (git_dir / name).exists()]
    if busy:
        what = f"is in the middle of a rebase, merge or pick ({busy[0]})"
        return what, "finish it (git status tells how)"
    changes = _ask(tree, "status", "--porcelain", "--untracked-files=normal").splitlines()
    if changes:
        shown = ", ".join(line[3:] for line in changes[:3]) + (" ..." if len(changes) > 3 else "")
        what = f"has uncommitted changes: {shown}"
        return what, "commit them (git commit --amend, or --fixup and rebase)"
    return None


def _ask(tree: Path, *arguments: str) -> str:
    return git(*arguments, cwd=tree, purpose=f"read the git tree {tree}").strip("\n")


def _refuse(what: str, next_step: str) -> None:
    raise UsageError(what, next_step=next_step)


def _check_tree(tree: Path, base: str) -> None:
    """Refuse what is not a tree of this base, or is in the middle of something."""
    if not (tree / ".git").exists() or not succeeds(
        "rev-parse", "--quiet", "--verify", f"{BASE_TAG}^{{commit}}", cwd=tree
    ):
        _refuse(f"{tree} is not a tree of the lab", f"make one: ./mglru kernel tree {base}+next")
    version = kernel_version(tree)
    if not version.startswith(f"{base}."):
        _refuse(f"{tree} is a tree of Linux {version}, not {base}", "name the tree of that kernel")
    if begun := unfinished(tree):
        what, how = begun
        _refuse(f"{tree} {what}", f"{how}, then export again")


def _check_commits(tree: Path) -> list[str]:
    """Return the subjects of the commits on top of the base; refuse what is no plain series."""
    if not succeeds("merge-base", "--is-ancestor", BASE_TAG, "HEAD", cwd=tree):
        _refuse(
            f"{tree}: the tag {BASE_TAG} is not below HEAD", f"git rebase --onto {BASE_TAG} ..."
        )
    commits = f"{BASE_TAG}..HEAD"
    merges = _ask(tree, "log", "--merges", "--format=%h %s", commits).splitlines()
    if merges:
        _refuse(f"{tree} has a merge: {merges[0]}", f"make it straight: git rebase {BASE_TAG}")
    log = _ask(tree, "log", "--reverse", "--format=%H%x00%T%x00%s", commits).splitlines()
    if not log:
        _refuse(f"{tree} has no commit on top of {BASE_TAG}", "commit something, then export")
    before = _ask(tree, "rev-parse", f"{BASE_TAG}^{{tree}}")
    subjects = []
    for line in log:
        commit, content, subject = line.split("\0")
        if content == before:
            _refuse(f"commit {commit[:12]} ({subject}) is empty", f"git rebase -i {BASE_TAG}")
        if subject.startswith(_UNFINISHED):
            _refuse(f"'{subject}' is not squashed", f"git rebase -i --autosquash {BASE_TAG}")
        before = content
        subjects.append(subject)
    return subjects


def _check_complete(tree: Path, subjects: list[str]) -> None:
    """Refuse to lose the patches that a tree of `+next:N` did not get."""
    if not succeeds("config", "--get", LEFT_OUT, cwd=tree):
        return
    left_out = _ask(tree, "config", "--get-all", LEFT_OUT).splitlines()
    missing = [subject for subject in left_out if subject not in subjects]
    if missing:
        _refuse(
            f"{tree} was made without the last {len(left_out)} patches of the series; an export "
            f"would lose {len(missing)} of them, the first: {missing[0]}",
            "apply them on top (git am patches/.../*/NNNN-*.patch), then export; or write --mbox",
        )


def _format_patches(tree: Path, *options: str | Path) -> str:
    return git(*_FORMAT, *options, f"{BASE_TAG}..HEAD", cwd=tree, purpose="write the patches")


def _stage(tree: Path, base: str, directory: Path, new: Path) -> list[str]:
    """Make in `new` what the directory will be; return notices."""
    new.mkdir()
    _format_patches(tree, "--no-numbered", f"--output-directory={new}")
    exported = [_exported(path.name, path.read_bytes()) for path in sorted(new.glob("*.patch"))]
    listing = read_series_file(directory)
    known = [
        _exported(entry.name, (directory / entry.path).read_bytes())
        for entry in listing.entries
        if (directory / entry.path).is_file()
    ]
    merged, notices = merge_series(listing, known, exported)
    for entry in merged.entries:
        (new / entry.folder).mkdir(exist_ok=True)
        (new / entry.name).rename(new / entry.path)
    (new / SERIES_FILE).write_text(merged.render())
    if directory.is_dir():
        _copy_others(directory, new)
        new.chmod(directory.stat().st_mode & 0o777)
    return notices


def _exported(name: str, content: bytes) -> Exported:
    message = read_message(content)
    return Exported(name, message.subject, f"{message.author} {message.date}")


def _copy_others(directory: Path, new: Path) -> None:
    """Take over everything but patches; keep a patch's time if it is the same as before."""
    for path in sorted(directory.rglob("*")):
        target = new / path.relative_to(directory)
        if path.is_dir() and not path.is_symlink():
            target.mkdir(exist_ok=True)
            shutil.copystat(path, target)
        elif path.suffix != ".patch" and path != directory / SERIES_FILE:
            shutil.copy2(path, target, follow_symlinks=False)
        elif target.exists() and target.read_bytes() == path.read_bytes():
            shutil.copy2(path, target)


def _check_messages(tree: Path, series: Series) -> None:
    """Refuse a message that `git am` would cut off, at a line that looks like a patch's."""
    commits = _ask(tree, "rev-list", "--reverse", f"{BASE_TAG}..HEAD").split()
    for commit, patch in zip(commits, series.patches, strict=True):
        body = _ask(tree, "log", "-1", "--format=%b", commit).strip()
        kept = read_message(patch.content).body
        if "\n".join(map(str.rstrip, kept.splitlines())) != "\n".join(
            map(str.rstrip, body.splitlines())
        ):
            last = kept.splitlines()[-1] if kept else patch.subject
            _refuse(
                f"the message of '{patch.subject}' would be cut off after the line '{last}'",
                "indent what follows: a line there looks like '---' or the start of a diff",
            )


_UNCHANGED = "nothing to change"


def _difference(directory: Path, new: Path) -> str:
    """Return in words what an export changes in the directory."""

    def contents(folder: Path) -> dict[str, bytes]:
        names = [*folder.rglob("*.patch"), *folder.glob(SERIES_FILE)]
        return {str(path.relative_to(folder)): path.read_bytes() for path in names}

    before, after = contents(directory), contents(new)
    if before == after:
        return _UNCHANGED
    before.pop(SERIES_FILE, None)
    after.pop(SERIES_FILE, None)
    changed = sum(before[name] != after[name] for name in before.keys() & after.keys())
    return (
        f"{len(after)} patches, {len(after.keys() - before.keys())} new files, {changed} changed, "
        f"{len(before.keys() - after.keys())} removed"
    )


def _swap(new: Path, directory: Path, old: Path) -> None:
    """Put `new` in the place of `directory`; on an error the directory is as before."""
    existed = directory.exists()
    if existed:
        directory.rename(old)
    try:
        new.rename(directory)
    except BaseException:
        if existed:
            old.rename(directory)
        raise


def _write_mbox(tree: Path, directory: Path, mbox: Path, count: int) -> list[str]:
    if not mbox.parent.is_dir():
        raise UsageError(f"{mbox.parent} is not a directory", next_step="make it first")
    cover, notices = _cover(tree, directory)
    with tempfile.TemporaryDirectory(prefix="mglru-mbox-") as scratch:
        log = Path(scratch) / "mbox"
        _format_patches(tree, "--numbered", f"--base={BASE_TAG}", f"--output={log}")
        content = log.read_bytes()
    # The first such line ends the first mail's message: no message may contain one.
    content = content.replace(b"\n---\n", b"\n---\n" + cover.encode(), 1)
    try:
        write_whole(mbox, content)
    except OSError as error:
        raise UsageError(f"{mbox} cannot be written: {error.strerror}") from error
    return [f"{mbox}: {count} patches for `git am`", *notices]


def _cover(tree: Path, directory: Path) -> tuple[str, list[str]]:
    """Return the cover letters as text that `git am` passes over, and notices."""
    origin = _ask(tree, "log", "-1", "--format=%B", BASE_TAG).split("\n\n")
    heading = f"Base: {' - '.join(part.strip() for part in origin if part.strip())}\n\n"
    path = directory / COVER
    if not path.is_file():
        return heading, [f"{path} does not exist: no cover letter"]
    folders = dict.fromkeys(entry.folder for entry in read_series_file(directory).entries)
    parts = [directory / folder / COVER for folder in folders if folder]
    texts = [each.read_text() for each in (path, *parts) if each.is_file()]
    lines = "\n".join(texts).splitlines()
    return heading + "".join(f"{_harmless(line)}\n" for line in lines) + "\n", []


def _harmless(line: str) -> str:
    """Indent a line of the cover letter that would be taken for a mail's or a patch's."""
    return f" {line}" if line.startswith(("From ", "diff ", "--- ", "+++ ", "Index: ")) else line
