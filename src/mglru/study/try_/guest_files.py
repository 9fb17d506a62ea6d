# SPDX-License-Identifier: GPL-2.0-only
"""Where a guest sees the host's files: at their own paths, but for what its own tmpfs cover."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from mglru.experiment.dataset import WORK
from mglru.guest.places import HOST_ROOT
from mglru.guest.plan import DATA

# Below these a guest has files of its own; /dev, /proc and /sys are those that a program means.
COVERED = ("/tmp", "/var/tmp", "/run", "/mnt", "/dev/shm")  # noqa: S108
WORK_DIRECTORY = f"{DATA}/{WORK}"


def is_covered(path: str) -> bool:
    """Whether a guest has something else at an absolute path of the host."""
    if path == HOST_ROOT or path.startswith(f"{HOST_ROOT}/"):
        return False
    return any(path == root or path.startswith(f"{root}/") for root in COVERED)


def visible(path: str | Path) -> str:
    """Return where a guest sees a file of the host (at HOST_ROOT, if something covers it).

    A symbolic link stays one where that is possible: the Python of a virtual environment
    finds its libraries by the link's own place.
    """
    absolute = os.path.normpath(Path(path).absolute())
    real = os.path.realpath(absolute)
    if is_covered(real):
        return f"{HOST_ROOT}{real}"
    return f"{HOST_ROOT}{absolute}" if is_covered(absolute) else absolute


@dataclass(frozen=True)
class Places:
    """Where words of a command are looked up on the host.

    Attributes:
        here: the directory in which the user gave the command.
        data: the directory whose copy is the guest's working directory, if there is one.
        path: $PATH.
    """

    here: Path
    data: Path | None
    path: str

    def host_file(self, word: str) -> Path | None:
        """Return what a word names: in the data first, as in the guest, else from `here`."""
        # As warnings tell the user to write it.
        if word.startswith(f"{HOST_ROOT}/"):
            word = word.removeprefix(HOST_ROOT)
        for base in (self.data, self.here):
            if base and os.path.lexists(base / word):
                return base / word
        return None

    def in_work(self, file: Path) -> str | None:
        """Return the guest's path of a file of the data's copy, None if it is not one."""
        if self.data is None:
            return None
        root, real = os.path.realpath(self.data), os.path.realpath(file)
        if real != root and not real.startswith(f"{root}/"):
            return None
        return str(Path(WORK_DIRECTORY, os.path.relpath(real, root)))

    def in_guest(self, file: Path) -> str:
        """Return where the guest sees a file of the host."""
        return self.in_work(file) or visible(file)

    def search_path(self) -> str:
        """Return the guest's $PATH: the host's, as the guest sees it."""
        found = [visible(part) for part in self.path.split(":") if part.startswith("/")]
        return ":".join(dict.fromkeys(found))
