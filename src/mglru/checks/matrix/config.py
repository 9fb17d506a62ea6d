# SPDX-License-Identifier: GPL-2.0-only
"""The configurations under which a whole series is compiled: kconfig/matrix.config and matrix/."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mglru.build import config as kconfig
from mglru.core.errors import LabError, UsageError
from mglru.core.paths import KCONFIG
from mglru.debian import packages

_ARCH = re.compile(r"^# arch: (\S+)$", re.MULTILINE)
_FROM = re.compile(r"^# from: (\S+)$", re.MULTILINE)
_ABOUT = re.compile(r"^# (?!SPDX)(.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Arch:
    """An architecture of the kernel.

    Attributes:
        hosts: machines, as `uname -m` says, whose own compiler makes its code.
        prefix: of the cross compiler's programs, on others.
        package: of Debian, that has the cross compiler.
    """

    hosts: tuple[str, ...]
    prefix: str
    package: str


ARCHES = {
    "x86_64": Arch(("x86_64",), "x86_64-linux-gnu-", "gcc-x86-64-linux-gnu"),
    "i386": Arch(("x86_64", "i686"), "i686-linux-gnu-", "gcc-i686-linux-gnu"),
    "arm64": Arch(("aarch64",), "aarch64-linux-gnu-", "gcc-aarch64-linux-gnu"),
}


# Where not everything is off that can be.
EVERYTHING = {name: packages.DEB[name] for name in ("libelf-dev", "libssl-dev")}


@dataclass(frozen=True)
class MatrixConfiguration:
    """One of them.

    Attributes:
        name: of its fragment.
        about: what it stands for, from the fragment's first comment.
        arch: make's ARCH.
        options: the requested kernel options.
        start: make's target that sets all others.
    """

    name: str
    about: str
    arch: str
    options: tuple[tuple[str, str], ...]
    start: str = kconfig.NOTHING

    @property
    def cross(self) -> str:
        """The prefix of the compiler; empty for the machine's own."""
        known = ARCHES[self.arch]
        return "" if platform.machine() in known.hosts else known.prefix

    @property
    def packages(self) -> Mapping[str, str]:
        """The Debian packages that it needs: a cross compiler, what all of a kernel takes."""
        package = ARCHES[self.arch].package
        cross = {package: f"compiles kernels for {self.arch}"} if self.cross else {}
        return cross if self.start == kconfig.NOTHING else {**cross, **EVERYTHING}


def load_configurations(
    only: Sequence[str] = (), directory: Path = KCONFIG
) -> tuple[MatrixConfiguration, ...]:
    """Read the configurations, in the order of their names.

    Args:
        only: their names; all if empty.
        directory: holds `matrix/`, and `matrix.config`, which all share that start with nothing.

    Raises:
        UsageError: there is no configuration of such a name.
        LabError: a fragment does not say for which architecture it is.
    """
    files = {path.stem: path for path in sorted((directory / "matrix").glob("*.config"))}
    if unknown := [name for name in only if name not in files]:
        raise UsageError(
            f"no configuration '{unknown[0]}'", next_step="there are " + ", ".join(files)
        )
    common = kconfig.parse((directory / "matrix.config").read_text())
    return tuple(_read(files[name], common) for name in files if not only or name in only)


def _read(path: Path, common: Mapping[str, str]) -> MatrixConfiguration:
    text = path.read_text()
    arch = _ARCH.search(text)
    if not arch or arch[1] not in ARCHES:
        raise LabError(
            f"{path} names no architecture that the lab compiles for",
            next_step="add a line '# arch: NAME'; known are " + ", ".join(ARCHES),
        )
    about = _ABOUT.search(text)
    start = found[1] if (found := _FROM.search(text)) else kconfig.NOTHING
    shared = common if start == kconfig.NOTHING else {}
    options = {**shared, **kconfig.parse(text)}
    return MatrixConfiguration(
        path.stem, about[1] if about else "", arch[1], tuple(sorted(options.items())), start
    )
