# SPDX-License-Identifier: GPL-2.0-only
"""Running git so that it does the same everywhere: without the user's settings, or a hook's."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from mglru.core import process
from mglru.core.errors import LabError

# A setting such as apply.ignoreWhitespace or diff.noprefix would change what a patch means.
_NO_SETTINGS = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}

# Under a hook these name the hook's repository (the list is `git rev-parse --local-env-vars`), or
# they change what a diff looks like.
_OF_A_REPOSITORY = (
    *("GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS"),
    *("GIT_CONFIG_COUNT", "GIT_OBJECT_DIRECTORY", "GIT_DIR", "GIT_WORK_TREE"),
    *("GIT_IMPLICIT_WORK_TREE", "GIT_GRAFT_FILE", "GIT_INDEX_FILE", "GIT_NO_REPLACE_OBJECTS"),
    *("GIT_REPLACE_REF_BASE", "GIT_PREFIX", "GIT_SHALLOW_FILE", "GIT_COMMON_DIR"),
    *("GIT_QUARANTINE_PATH", "GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS"),
)

# For commits that must be the same whoever makes them.
NEUTRAL_NAME = "mglru-next"
NEUTRAL_EMAIL = "mglru-next@localhost"


def identity(name: str, email: str, date: str) -> dict[str, str]:
    """Return the variables that make git record this author and committer at this date."""
    return {
        f"GIT_{role}_{field}": value
        for role in ("AUTHOR", "COMMITTER")
        for field, value in (("NAME", name), ("EMAIL", email), ("DATE", date))
    }


def git(
    *arguments: str | Path,
    cwd: Path,
    purpose: str,
    env: Mapping[str, str] | None = None,
    next_step: str = "",
    ok: Sequence[int] = (0,),
    limit_seconds: float = 600,
    log: Path | None = None,
    users_settings: bool = False,
) -> str:
    """Run git in `cwd` and return what it printed.

    Only a repository whose top is `cwd` itself is found: in any other directory git acts as
    outside of a repository, even if there is one further up (where `git apply` would take
    names as relative to that one's top and skip the patch without a word).

    Args:
        arguments: git's arguments.
        cwd: where to run.
        purpose: as in "cannot <purpose>".
        env: variables added to the environment.
        next_step: advice for the error message.
        ok: exit statuses that are not an error.
        limit_seconds: real time after which git is killed.
        log: file that keeps the output, also when git fails.
        users_settings: let the user's and the system's git settings count.

    Raises:
        LabError: git is missing, failed, or ran out of time.
    """
    ceiling = str(cwd.resolve().parent)
    variables = {"GIT_CEILING_DIRECTORIES": ceiling, **(env or {})}
    if not users_settings:
        variables |= _NO_SETTINGS
    forget = [f"--unset={name}" for name in _OF_A_REPOSITORY if name in os.environ]
    return process.run(
        [*(["env", *forget] if forget else []), "git", *arguments],
        purpose=purpose,
        cwd=cwd,
        env=variables,
        next_step=next_step,
        ok=ok,
        limit_seconds=limit_seconds,
        log=log,
    )


def succeeds(*arguments: str | Path, cwd: Path) -> bool:
    """Return whether git exits with 0; for questions such as `apply --check`."""
    try:
        git(*arguments, cwd=cwd, purpose="ask git")
    except LabError:
        return False
    return True
