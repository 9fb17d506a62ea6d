# SPDX-License-Identifier: GPL-2.0-only
"""Places of a guest that both sides know: where it sees the host's files, and where it prints."""

from __future__ import annotations

from pathlib import Path

HOST_ROOT = "/run/host"  # guest/init/init.c binds the host's root there
# The guest's serial line for what a user's program prints.
OUTPUT_DEVICE = "/dev/ttyS2"


def is_guest_path(path: str) -> bool:
    """Whether `guest_path` made a path: what lies there is named to the guest one by one."""
    return path.startswith(f"{HOST_ROOT}/")


def guest_path(path: Path | str) -> str:
    """Return the path of a host file as the guest sees it, whatever its tmpfs cover."""
    return f"{HOST_ROOT}{Path(path).resolve()}"
