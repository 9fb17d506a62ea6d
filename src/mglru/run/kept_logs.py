# SPDX-License-Identifier: GPL-2.0-only
"""What boots that went wrong leave behind, to be looked at."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from mglru.core.paths import cache_dir, locked

KEPT = 20


def keep_logs(name: str, files: Iterable[Path]) -> Path:
    """Copy a failed boot's files to a directory of their own, and return it.

    Of the boots before it the last KEPT stay.

    Args:
        name: the directory's begins with it.
        files: of the boot.
    """
    home = cache_dir("failed")
    # Of two boots that fail at once, one would look at what the other removes.
    with locked(home):
        for old in sorted(home.iterdir(), key=lambda path: path.stat().st_mtime)[:-KEPT]:
            shutil.rmtree(old, ignore_errors=True)
        target = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=home))
        for path in files:
            shutil.copy2(path, target)
    return target
