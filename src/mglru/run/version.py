# SPDX-License-Identifier: GPL-2.0-only
"""What tells one version of the lab from another: a digest of all that decides a result."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

from mglru.core.files import digest
from mglru.core.keys import key_of
from mglru.core.paths import GUEST, KCONFIG, PATCHES, REPO

# Experiments are not among it: a task carries its own.
PARTS = (
    (REPO / "src" / "mglru", "**/*.py"),
    (GUEST, "*/*.[ch]"),
    (KCONFIG, "*.config"),
    (PATCHES, "**/series"),
    (PATCHES, "**/*.patch"),
    (REPO, "requirements.txt"),
)


@functools.cache
def lab_version() -> str:
    """Return the digest of the lab's own files, as they were when first asked for."""
    return key_of(*(f"{path.relative_to(REPO)}\n{digest(path)}" for path in _files()))


def _files() -> Iterator[Path]:
    for directory, pattern in PARTS:
        yield from sorted(directory.glob(pattern))
