# SPDX-License-Identifier: GPL-2.0-only
"""A git tree of a kernel, with the series as commits, to work in; `export_tree` is the way back.

Branches and tags: the tag `base` is the source as it came; a branch named after the kernel
(`6.12+next`) has one commit for each patch; the branch `lab` has the lab-only patches, which
are not part of the series, on top of `base`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from mglru.core import paths
from mglru.core.errors import LabError, UsageError
from mglru.core.git import NEUTRAL_EMAIL, NEUTRAL_NAME, git, identity, succeeds
from mglru.core.paths import require_space, staged
from mglru.series.export import (
    BASE_TAG,
    LEFT_OUT,
    STATE,
    STATE_HEAD,
    export_tree,
    remember_state,
    state_of,
    unfinished,
)
from mglru.series.listing import Series
from mglru.series.overlay import copy_entries, make_overlay
from mglru.source.trees import Source

__all__ = ["branch_name", "export_tree", "make_tree", "reuse_tree"]

TREE_BYTES = 2_500_000_000
# The base commit has to have the same name wherever it is made: the date of Linux 6.12 will do.
BASE_DATE = "2024-11-17T22:15:08+00:00"
_LIMIT_SECONDS = 1800
# Many small blobs into one pack, compressed lightly: half the time and a third of the space of
# loose objects. (`git add` streams every file over the threshold straight into a pack.)
_FAST = ("-c", "core.bigFileThreshold=1", "-c", "core.compression=1", "-c", "gc.auto=0")


def branch_name(series: Series) -> str:
    """Return the branch for a kernel: its name, without what git does not allow in one."""
    return str(series.kernel).replace(":", "-")


def make_tree(source: Source, series: Series | None, lab_series: Series, target: Path) -> Path:
    """Make a git repository of a kernel with the series as commits.

    The same source, series and committer give the same commits.

    Args:
        source: the pristine tree; only read.
        series: the patches that become commits; None for the stock kernel.
        lab_series: lab-only patches; they go on a branch of their own, `lab`.
        target: the directory to make.

    Returns:
        `target`.

    Raises:
        UsageError: `target` exists.
        PatchError: a patch does not apply with zero fuzz; nothing is made.
        LabError: no space, or git failed.
    """
    series = series or Series(source.base, ())
    if target.exists():
        raise UsageError(f"{target} exists", next_step="work in it, or choose another directory")
    for patches in (series.patches, lab_series.patches):
        with tempfile.TemporaryDirectory(prefix="mglru-try-") as scratch:
            make_overlay(source.path, patches, Path(scratch))
    target.parent.mkdir(parents=True, exist_ok=True)
    require_space(target.parent, TREE_BYTES, f"a git tree of {series.kernel}")
    with staged(target) as staging:
        copy_entries(source.path, staging, "-a")
        _notice_new_files(staging)
        _commit_base(source, staging)
        _commit_series("lab", lab_series, staging)
        _commit_series(branch_name(series), series, staging)
        _remember(series, staging)
    return target


def reuse_tree(tree: Path, series: Series) -> str:
    """Return what to tell of a tree that is there and may be worked in like one just made.

    Nothing in it is changed. It may have commits that are not exported yet.

    Args:
        tree: what is there.
        series: what its commits are to be; without patches for the stock kernel.

    Raises:
        UsageError: it is no tree of the lab, is of another kernel or of another state of the
            series, or something in it is not committed.
        LabError: git failed.
    """
    kept = _settings(tree) if (tree / ".git").is_dir() else {}
    begun = unfinished(tree) if kept else None
    fault = ""
    if kept.get(STATE) != state_of(series):
        fault = f"is not a tree of {series.kernel} with the patches as they are here"
    elif begun:
        fault = begun[0]
    if fault:
        raise UsageError(
            f"{tree} exists and {fault}",
            next_step=f"work in it: cd {tree}; or remove it with all that is in it: rm -r {tree}",
        )
    origin, head = (
        git(*words, cwd=tree, purpose=f"read the git tree {tree}").strip()
        for words in (("log", "-1", "--format=%s", BASE_TAG), ("rev-parse", "HEAD"))
    )
    own = "" if head == kept.get(STATE_HEAD) else ", with commits that are not exported"
    return f"{tree} exists already: {series.kernel} on {origin}{own}"


def _settings(tree: Path) -> dict[str, str]:
    """Return what `remember_state` left in a tree; nothing if it never did."""
    return {
        name: git("config", "--get", name, cwd=tree, purpose="read the tree's settings").strip()
        for name in (STATE, STATE_HEAD)
        if succeeds("config", "--get", name, cwd=tree)
    }


def _notice_new_files(tree: Path) -> None:
    """Take out of .gitignore the line by which Debian hides everything.

    With it, `git add` and `git status` would pass over every file that a patch adds, silently.
    """
    ignore = tree / ".gitignore"
    if ignore.is_file() and not ignore.is_symlink():
        lines = ignore.read_text().splitlines(keepends=True)
        ignore.write_text("".join(line for line in lines if line.strip() != "/*"))


def _commit_base(source: Source, tree: Path) -> None:
    shipped = source.origin.startswith("linux-source-")
    title = f"Linux {source.version}" + (" as Debian ships it" if shipped else "")
    body = source.origin if shipped else "From a source tree of the user's own."
    who = identity(NEUTRAL_NAME, NEUTRAL_EMAIL, BASE_DATE)
    git("init", "--quiet", "--template=", "--initial-branch=stock", cwd=tree, purpose="make a tree")
    git(
        *(*_FAST, "add", "--all", "--force"),
        cwd=tree,
        purpose="add the source to git",
        limit_seconds=_LIMIT_SECONDS,
    )
    git(
        *(*_FAST, "commit", "--quiet", f"--message={title}\n\n{body}"),
        cwd=tree,
        purpose="commit the source",
        env=who,
    )
    git("tag", BASE_TAG, cwd=tree, purpose="tag the source")


def _commit_series(branch: str, series: Series, tree: Path) -> None:
    """Put patches as commits on a new branch that starts at the base, and check it out."""
    if not series.patches and branch == "lab":
        return
    git("checkout", "--quiet", "-B", branch, BASE_TAG, cwd=tree, purpose=f"start branch {branch}")
    if series.patches:
        git(
            *("-c", "gc.auto=0", "am", "--quiet", "--committer-date-is-author-date"),
            "--whitespace=nowarn",
            *(patch.path for patch in series.patches),
            cwd=tree,
            purpose=f"commit the patches of {branch}",
            # The date only has to be there: git takes the author's.
            env=identity(*(_own_identity() or (NEUTRAL_NAME, NEUTRAL_EMAIL)), BASE_DATE),
            limit_seconds=_LIMIT_SECONDS,
        )


def _own_identity() -> tuple[str, str] | None:
    """Return name and address that this repository commits with, if git knows them."""
    try:
        name, email = (
            git(
                *("config", f"user.{field}"),
                cwd=paths.REPO,
                purpose="read git's identity",
                users_settings=True,
            ).strip()
            for field in ("name", "email")
        )
    except LabError:
        return None
    return (name, email) if name and email else None


def _remember(series: Series, tree: Path) -> None:
    """Leave in the tree's settings what a later export has to know."""
    settings = {"feature.manyFiles": "true"}
    if own := _own_identity():
        settings |= {"user.name": own[0], "user.email": own[1]}
    for name, value in settings.items():
        git("config", name, value, cwd=tree, purpose="set up the tree")
    for patch in series.left_out:
        git("config", "--add", LEFT_OUT, patch.subject, cwd=tree, purpose="set up the tree")
    remember_state(tree, series)
