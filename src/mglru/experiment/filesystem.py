# SPDX-License-Identifier: GPL-2.0-only
"""File systems of the guest's disk: how they are made, and the kernels that have them.

An ext4 is an image, made on the host with its content. The others are made in the guest, by the
host's mkfs, and the content of an ext4 is copied to them: mkfs.xfs cannot fill one by itself (it
spoils what has files larger than an allocation group), and this way, in virtual time, all that
mkfs draws or takes from the clock is the same each time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from mglru.build import config as kconfig
from mglru.core.errors import UsageError
from mglru.source.kernel_id import KernelId

Filesystem = Literal["ext4", "xfs", "btrfs"]

# Any one that stays the same.
UUID = "6d676c72-7500-4000-8000-000000000004"
# What makes the others, in the guest, where there is no PATH.
MKFS: Mapping[Filesystem, Sequence[str]] = {
    "xfs": ("/usr/sbin/mkfs.xfs", "-q", "-f", "-m", f"uuid={UUID}"),
    # Nothing twice: as much room as on the others.
    "btrfs": ("/usr/sbin/mkfs.btrfs", "-q", "-f", "-U", UUID, "-m", "single", "-d", "single"),
}
# The smallest that these make.
LEAST_MB: Mapping[Filesystem, int] = {"xfs": 300, "btrfs": 120}
# What of kconfig/ has all of them.
FRAGMENT = "filesystems"


def mkfs(filesystem: Filesystem, device: str) -> list[str]:
    """Return the command that makes a file system, of any kind but ext4, on a guest's device."""
    return [*MKFS[filesystem], device]


def check_kernels(filesystem: Filesystem, kernels: Iterable[KernelId]) -> None:
    """Make sure that kernels can mount a file system; all can mount ext4.

    Raises:
        UsageError: one cannot; the message names a kernel that can.
        LabError: a kernel's variant has no fragment in kconfig/.
    """
    for kernel in kernels:
        if (able := able_kernel(filesystem, kernel)) != kernel:
            raise UsageError(
                f"the kernel {kernel} has no {filesystem}",
                next_step=f"--kernels {able}, as in kconfig/{FRAGMENT}.config",
            )


def able_kernel(filesystem: Filesystem, kernel: KernelId) -> KernelId:
    """Return a kernel that can mount a file system: this one, or with the options for it.

    Raises:
        LabError: the kernel's variant has no fragment in kconfig/.
    """
    option = f"{filesystem.upper()}_FS"
    if filesystem == "ext4" or kconfig.requested(kernel, ("base",)).get(option) == "y":
        return kernel
    return replace(kernel, options=tuple(sorted((*kernel.options, (FRAGMENT, "")))))
