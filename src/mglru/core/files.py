# SPDX-License-Identifier: GPL-2.0-only
"""Files: written as a whole or not at all, and their digests."""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Give a path to make a file at, and rename it to `target` only if the block succeeds.

    Raises:
        OSError: it cannot be written there.
    """
    # On the same file system, so that the last step is a rename.
    with tempfile.TemporaryDirectory(prefix=".new-", dir=target.parent) as scratch:
        new = Path(scratch) / target.name
        yield new
        new.replace(target)


def write_whole(target: Path, content: str | bytes) -> None:
    """Replace a file with some content; readers see the old one or the new one.

    Raises:
        OSError: it cannot be written.
    """
    with replacing(target) as new:
        if isinstance(content, str):
            new.write_text(content, encoding="utf-8")
        else:
            new.write_bytes(content)


def digest(path: Path) -> str:
    """Return the sha256 of a file's content.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
