# SPDX-License-Identifier: GPL-2.0-only
"""What may be recorded into results/: only what a commit of this repository makes again."""

from __future__ import annotations

from pathlib import Path

from mglru.core import process
from mglru.core.errors import LabError, UsageError
from mglru.core.paths import REPO, RESULTS
from mglru.series.state import is_of_another_state

# What decides a result. Cover letters and other prose in these folders do not.
DECISIVE = (
    "patches",
    "experiments",
    "guest",
    "src",
    "kconfig",
    "requirements.txt",
    ":(exclude)*.md",
)
SHOWN = 3


def changed_files() -> list[str] | None:
    """Return the files that decide a result and differ from the commit; None outside of git."""
    try:
        status = process.run(
            ["git", "status", "--porcelain", "--", *DECISIVE], purpose="ask git", cwd=REPO
        )
    except LabError:
        return None
    return [line[3:] for line in status.splitlines() if line.strip()]


def is_reference(path: Path) -> bool:
    """Whether a file is one of the reference results."""
    return RESULTS in path.resolve().parents


def check_clean(path: Path) -> None:
    """Refuse to record from a tree that no commit has; other files may be written any time.

    Raises:
        UsageError: files differ from the commit, or there is no git to tell.
    """
    if not is_reference(path):
        return
    changed = changed_files()
    if changed is None:
        raise UsageError(
            f"{path}: results/ takes only what a commit makes, and git does not say which this is",
            next_step="record from a clone, or name a file elsewhere with --json",
        )
    if changed:
        more = f" and {len(changed) - SHOWN} more" if len(changed) > SHOWN else ""
        raise UsageError(
            f"{path}: results/ takes only what a commit makes, and these files differ from it: "
            f"{', '.join(changed[:SHOWN])}{more}",
            next_step="commit them, or name a file elsewhere with --json",
        )


def check_state(path: Path, series: dict[str, str | None]) -> None:
    """Refuse to record results of another state of the series than the checkout's.

    Args:
        path: of the file.
        series: digests of the series by kernel; None: a stock kernel.

    Raises:
        UsageError: there is such a kernel.
    """
    if not is_reference(path):
        return
    others = [kernel for kernel, sha256 in series.items() if is_of_another_state(kernel, sha256)]
    if others:
        raise UsageError(
            f"{path}: {', '.join(others)} is of another state of the series than this checkout",
            next_step="name a file elsewhere with --json, or start anew",
        )
