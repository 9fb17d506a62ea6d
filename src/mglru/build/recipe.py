# SPDX-License-Identifier: GPL-2.0-only
"""What a kernel is made of, and the key under which its build is cached."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass

from mglru.build import config as kconfig
from mglru.core import process
from mglru.core.keys import key_of, sha256_of
from mglru.series.listing import Patch, Series, load_lab_series, load_series
from mglru.source.kernel_id import KernelId
from mglru.source.trees import Source


@dataclass(frozen=True)
class BuildMachine:
    """How a kernel is built for one of the lab's machines.

    Attributes:
        arch: make's ARCH.
        fragments: the fragments of kconfig/ that make its configuration.
        image: the file that boots, relative to the tree.
        objects: about how many objects a full build compiles (for the progress bar).
    """

    arch: str
    fragments: tuple[str, ...]
    image: str
    objects: int


MACHINES = {
    "uml": BuildMachine("um", ("base", "uml"), "linux", 700),
    "qemu": BuildMachine("x86_64", ("base", "qemu"), "vmlinux", 900),
    # Also those of `qemu-threads`.
    "qemu-smp": BuildMachine("x86_64", ("base", "qemu", "smp"), "vmlinux", 1300),
}


@dataclass(frozen=True)
class Recipe:
    """Everything that decides the content of a build.

    Attributes:
        kernel: the kernel to build.
        machine: a name in MACHINES.
        source: the pristine tree.
        series: our patches that this kernel gets, in order.
        lab: the lab-only patches that every kernel of this base gets.
        options: requested kernel options.
        compiler: the compiler's version line.
    """

    kernel: KernelId
    machine: str
    source: Source
    series: Series
    lab: Series
    options: tuple[tuple[str, str], ...]
    compiler: str

    @property
    def patches(self) -> tuple[Patch, ...]:
        """All patches, in the order in which they are applied."""
        return (*self.series.patches, *self.lab.patches)

    @property
    def proofs(self) -> tuple[str, ...]:
        """Symbols that the built kernel must have."""
        return tuple(symbol for patch in self.series.patches for symbol in patch.proofs)

    @property
    def absent(self) -> tuple[str, ...]:
        """Symbols that would prove that the kernel has a patch which it must not have."""
        return tuple(symbol for patch in self.series.left_out for symbol in patch.proofs)

    @property
    def symbols(self) -> tuple[str, ...]:
        """Symbols that tell which kernel this is, by their presence or absence."""
        return (*self.proofs, *self.absent)

    @property
    def config_sha256(self) -> str:
        """Digest of the requested options."""
        return sha256_of(json.dumps(self.options))

    @property
    def key(self) -> str:
        """Digest of everything that decides the build's content."""
        parts = [
            self.machine,
            self.source.digest,
            self.series.sha256,
            self.lab.sha256,
            self.config_sha256,
            self.compiler,
        ]
        return key_of("\n".join(parts))

    @property
    def localversion(self) -> str:
        """The suffix of the kernel's release: says what it is, and the key proves it."""
        mark = "next" if self.series.patches else "stock"
        return f"-{mark}-{self.key}"

    @property
    def release(self) -> str:
        """What `uname -r` must say in the guest."""
        return self.source.version + self.localversion


@functools.cache
def compiler_version(compiler: str = "gcc") -> str:
    """Return the version line of the C compiler that builds kernels."""
    return process.run(
        [compiler, "--version"],
        purpose="find the C compiler",
        next_step=f"install the package that provides {compiler}",
    ).splitlines()[0]


def series_for(kernel: KernelId) -> Series:
    """Return the patches that a kernel has, and those that it has not.

    Raises:
        LabError, UsageError: the series cannot be read, or has not so many patches.
    """
    whole = load_series(kernel.base, required=kernel.series)
    stock = Series(kernel.base, (), left_out=whole.patches)
    return whole.first(kernel.upto) if kernel.series else stock


def make_recipe(kernel: KernelId, source: Source, machine: str = "uml") -> Recipe:
    """Collect what a kernel is made of.

    Raises:
        LabError, UsageError: the series or the configuration cannot be read.
    """
    return Recipe(
        kernel=kernel.built,
        machine=machine,
        source=source,
        series=series_for(kernel),
        lab=load_lab_series(kernel.base),
        options=tuple(sorted(kconfig.requested(kernel, MACHINES[machine].fragments).items())),
        compiler=compiler_version(),
    )
