# SPDX-License-Identifier: GPL-2.0-only
"""What tells one version of the lab from another: a digest of all that decides a result."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from pathlib import Path

from mglru.core import files
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
LENGTH = 12


@functools.cache
def lab_version() -> str:
    """Return the digest of the lab's own files, as they were when first asked for."""
    digest = hashlib.sha256()
    for path in _files():
        digest.update(f"{path.relative_to(REPO)}\n".encode())
        digest.update(files.digest(path).encode())
    return digest.hexdigest()[:LENGTH]


def _files() -> Iterator[Path]:
    for directory, pattern in PARTS:
        yield from sorted(directory.glob(pattern))
