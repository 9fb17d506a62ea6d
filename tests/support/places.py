# SPDX-License-Identifier: GPL-2.0-only
"""Where recorded logs and the tests' own C programs lie."""

from __future__ import annotations

from mglru.core.paths import REPO

LOGS = REPO / "tests" / "logs"
PROGRAMS = REPO / "tests" / "support" / "c"


def recorded(name: str) -> bytes:
    """Return a recorded log, in whichever folder it lies: `NAME.log` or `NAME.jsonl`."""
    (path,) = LOGS.rglob(name)
    return path.read_bytes()
