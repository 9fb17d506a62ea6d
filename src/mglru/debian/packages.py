# SPDX-License-Identifier: GPL-2.0-only
"""The Debian packages that the lab uses, what for, and their installation."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping

from mglru.core.errors import LabError
from mglru.core.ui import Ui
from mglru.debian import archive

KERNEL_BUILD = {
    "gcc": "compiles kernels and guest programs",
    "libc6-dev": "the C library, static too",
    "make": "builds kernels",
    "flex": "builds kernels (kconfig)",
    "bison": "builds kernels (kconfig)",
    "bc": "builds kernels",
    "perl": "builds kernels, checks patches",
    "xz-utils": "unpacks kernel sources",
    "patch": "applies the series",
    "git": "kernel trees, the series as commits",
    "util-linux": "setarch and taskset, for boots that repeat; mkswap",
}
GUEST_BUILD = {
    "g++": "links LevelDB",
    "cmake": "builds WiredTiger",
    "ninja-build": "builds WiredTiger",
    "libleveldb-dev": "LevelDB, the database of get-scan",
    "libsnappy-dev": "used by LevelDB",
    "e2fsprogs": "makes the guest's disks",
}
ALL = {**KERNEL_BUILD, **GUEST_BUILD}
# A user's own program needs none of the databases.
TRY = {**KERNEL_BUILD, "e2fsprogs": GUEST_BUILD["e2fsprogs"]}
# What makes the file systems of the guest's disk, by name; all machines have ext4's.
FILESYSTEMS: Mapping[str, Mapping[str, str]] = {
    "ext4": {},
    "xfs": {"xfsprogs": "makes xfs in the guest"},
    "btrfs": {"btrfs-progs": "makes btrfs in the guest"},
}
# Only for the machines on QEMU: `qemu`, `qemu-smp`, `qemu-threads` and `kvm`.
QEMU = {
    "qemu-system-x86": "emulates the x86 machine",
    "libelf-dev": "builds kernels for x86 (objtool)",
}
# `kernel deb`, beside KERNEL_BUILD.
DEB = {
    "dpkg-dev": "makes Debian packages",
    "debhelper": "makes Debian packages",
    "rsync": "the package of kernel headers",
    "kmod": "lists what modules need",
    "cpio": "the package of kernel headers",
    "libelf-dev": QEMU["libelf-dev"],
    "libssl-dev": "signs modules",
    "openssl": "makes the key that signs modules",
}
# `series check --matrix`; the cross compilers are in checks/matrix/config.py.
MATRIX = {
    **KERNEL_BUILD,
    "libelf-dev": QEMU["libelf-dev"],
    "sparse": "checks kernel sources (address spaces, locks, endianness)",
}
# `mglru test` looks at the report's page; to make one needs no browser.
TEST = {
    **ALL,
    **MATRIX,
    **FILESYSTEMS["xfs"],
    **FILESYSTEMS["btrfs"],
    "chromium": "shows the report's page, as a reader's browser does",
    "quilt": "the series is for it, too",
}
# Programs whose presence shows, on a machine without dpkg, that the package is there.
_PROGRAMS = (
    "gcc",
    "make",
    "flex",
    "bison",
    "bc",
    "perl",
    "xz",
    "patch",
    "git",
    "setarch",
    "taskset",
)


def ensure(needed: Mapping[str, str], ui: Ui) -> None:
    """Install the packages that are missing, after telling the user which and what for.

    Raises:
        LabError: they cannot be installed, or $MGLRU_NO_INSTALL forbids it.
    """
    if not archive.available() or not shutil.which("dpkg-query"):
        _check_programs()
        return
    missing = archive.missing(list(needed))
    if not missing:
        return
    command = archive.install_command(missing)
    if os.environ.get("MGLRU_NO_INSTALL"):
        raise LabError(
            f"{len(missing)} Debian packages are missing and MGLRU_NO_INSTALL is set",
            log_tail=[f"{name}: {needed[name]}" for name in missing],
            next_step=shlex.join(command),
        )
    ui.note("The lab needs these Debian packages, which are not installed yet:")
    for name in missing:
        ui.note(f"  {name:16} {needed[name]}")
    ui.note(f"Installing them: {shlex.join(command)}")
    _install(command)


def _install(command: list[str]) -> None:
    """Run apt with the terminal, so that sudo can ask for a password."""
    update = [*command[: command.index("install")], "update"]
    for step in (update, command):
        try:
            status = subprocess.run(
                step,
                check=False,
                stdout=2,
                env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            ).returncode
        except OSError as error:
            raise LabError(
                f"cannot install packages: {step[0]}: {error.strerror}",
                next_step="as root: " + shlex.join(word for word in command if word != "sudo"),
            ) from error
        if status:
            raise LabError(
                f"cannot install packages: exit status {status}",
                command=shlex.join(step),
                next_step="see apt's message above",
            )


def _check_programs() -> None:
    missing = [name for name in _PROGRAMS if not shutil.which(name)]
    if missing:
        raise LabError(
            f"these programs are missing: {', '.join(missing)}",
            next_step="install them with this system's package manager",
        )
