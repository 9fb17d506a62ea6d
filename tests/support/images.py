# SPDX-License-Identifier: GPL-2.0-only
"""What is in images, and in the cache of them."""

from __future__ import annotations

import subprocess
from pathlib import Path


def dump(image: Path, command: str) -> str:
    """What debugfs says of an image."""
    return subprocess.run(
        ["debugfs", "-R", command, image], check=True, capture_output=True, text=True
    ).stdout


def left_behind(cache: Path) -> list[str]:
    """What is in the cache of datasets, but for lock files."""
    return [path.name for path in (cache / "datasets").glob("*") if path.suffix != ".lock"]
