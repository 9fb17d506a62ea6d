# SPDX-License-Identifier: GPL-2.0-only
"""The configuration of a kernel that a user installs: whose it is, and what it has to have."""

from __future__ import annotations

import gzip
import lzma
import os
import platform
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mglru.build import config as kconfig
from mglru.core import process
from mglru.core.cache import made, scratch
from mglru.core.errors import LabError, UsageError
from mglru.core.paths import cache_dir
from mglru.debian import archive
from mglru.source.kernel_id import KernelId
from mglru.source.trees import SUITES, Note

# Without these the kernel would not have what it is built for.
NEEDED = {"LRU_GEN": "y", "LRU_GEN_ENABLED": "y", "MEMCG": "y"}
# Debug info makes a build much longer and larger.
_NO_DEBUG_INFO = {"DEBUG_INFO_NONE": "y", "DEBUG_INFO_BTF": "n"}
_DEBUG_INFO = (
    *("DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT", "DEBUG_INFO_DWARF4", "DEBUG_INFO_DWARF5"),
    "DEBUG_INFO_NONE",
)
# Debian's certificates are in its own source package only.
_CERTIFICATES = ("SYSTEM_TRUSTED_KEYS", "SYSTEM_REVOCATION_KEYS")
_STREAMLINE = "scripts/kconfig/streamline_config.pl"
_PROC = Path("/proc")
_BOOT = Path("/boot")


@dataclass(frozen=True)
class DebConfiguration:
    """What a configuration starts from.

    Attributes:
        about: whose it is, for the user.
        text: a .config, of whatever version.
        modules: the modules to keep, in the form of `lsmod`; empty: keep all.
        own: the user gave the file: it is built as it is, debug info included.
    """

    about: str
    text: str
    modules: str = ""
    own: bool = False


def from_file(path: Path) -> DebConfiguration:
    """Read the configuration that the user has given; it may be compressed by gzip.

    Raises:
        UsageError: no such file, or nothing is set in it.
    """
    try:
        content = path.read_bytes()
        text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    except (OSError, ValueError, EOFError) as error:
        raise UsageError(
            f"--config {path} cannot be read: {error}", next_step="give a kernel's .config"
        ) from error
    if not kconfig.parse(text):
        raise UsageError(
            f"--config {path} sets no option", next_step="give a kernel's .config, as in /boot"
        )
    return DebConfiguration(f"as in {path}", text, own=True)


def of_this_machine(proc: Path = _PROC, boot: Path = _BOOT) -> DebConfiguration | None:
    """Return the running kernel's configuration, with the modules that are loaded, if it is there.

    Args:
        proc: where /proc is.
        boot: where /boot is.
    """
    release = platform.release()
    for path in (proc / "config.gz", boot / f"config-{release}"):
        if not path.is_file() or not os.access(path, os.R_OK):
            continue
        content = path.read_bytes()
        text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
        modules = proc / "modules"
        loaded = modules.read_text() if modules.is_file() else ""
        how = f", with the {len(loaded.splitlines())} modules that are loaded" if loaded else ""
        return DebConfiguration(f"of the running kernel {release} ({path}){how}", text, loaded)
    return None


def of_debian(base: str, note: Note) -> DebConfiguration:
    """Return Debian's own configuration, with all its modules.

    Args:
        base: `6.12`.
        note: told of the download.

    Raises:
        LabError: no apt, no network, or none for this machine's architecture.
    """
    package = f"linux-config-{base}"
    arch = process.run(
        ["dpkg", "--print-architecture"], purpose="find the architecture of this machine"
    ).strip()
    home = cache_dir("downloads") / package

    def make(staging: Path) -> None:
        note(f"downloading {package} from Debian")
        with scratch("config") as directory:
            deb = archive.fetch(package, SUITES[base], directory)
            process.run(["dpkg-deb", "-x", deb, staging], purpose=f"unpack {deb.name}")

    made(home, make)
    path = home / "usr/src" / package / f"config.{arch}_none_{arch}.xz"
    if not path.is_file():
        raise LabError(
            f"{package} has no configuration for {arch}",
            next_step="give one: --config FILE, as in /boot",
        )
    return DebConfiguration(f"of Debian's {package} for {arch}, all modules", _read_xz(path))


def _read_xz(path: Path) -> str:
    with lzma.open(path, "rt") as file:
        return str(file.read())


def choose(given: Path | None, base: str, note: Note) -> DebConfiguration:
    """Return the given configuration, else the running kernel's, else Debian's own."""
    if given:
        return from_file(given)
    return of_this_machine() or of_debian(base, note)


def requested(
    kernel: KernelId, configuration: DebConfiguration, localversion: str
) -> dict[str, str]:
    """Return the options that the kernel must have, whatever the configuration says.

    Raises:
        UsageError: the kernel's name has a variant of the lab's, or a switch of a run.
    """
    variants = [name for name, value in kernel.options if not value]
    if variants or kernel.classic:
        raise UsageError(
            f"'{kernel}' is for the lab's own runs",
            next_step=f"name {kernel.base}+next, {kernel.base}, or one with %OPTION=y",
        )
    asked = dict(NEEDED) | dict(kernel.options)
    asked |= {"LOCALVERSION": f'"{localversion}"', "LOCALVERSION_AUTO": "n"}
    return asked if configuration.own else asked | _NO_DEBUG_INFO


def configure(
    build: Path,
    source: Path,
    configuration: DebConfiguration,
    asked: Mapping[str, str],
    make: Sequence[str],
) -> str:
    """Write `build`/.config and return its text; new options get their defaults.

    Args:
        build: the directory to build in, which is not the source.
        source: the kernel's source.
        configuration: what to start from.
        asked: what the kernel must have.
        make: the make command, for this source and directory.

    Raises:
        LabError: an option that is asked for is not in the result; it is named.
    """
    scratch = build / ".config.mglru"
    try:
        text = _answered(scratch, source, configuration, asked, make)
    finally:
        for path in build.glob(f"{scratch.name}*"):
            path.unlink()
    if problems := kconfig.unmet(asked, kconfig.parse(text)):
        raise LabError(
            f"the configuration {configuration.about} cannot have what this kernel needs: "
            + ", ".join(line.partition(":")[0] for line in problems),
            log_tail=problems,
            next_step="another option forbids it, or one that it needs is missing: "
            "see its Kconfig entry, then give a changed configuration with --config",
        )
    target = build / ".config"
    if not target.exists() or target.read_text() != text:
        target.write_text(text)
    return text


def _answered(
    scratch: Path,
    source: Path,
    configuration: DebConfiguration,
    asked: Mapping[str, str],
    make: Sequence[str],
) -> str:
    """Let kconfig complete a configuration in a file, and return it."""
    _write(scratch, configuration.text, {}, source)
    command = [*make, f"KCONFIG_CONFIG={scratch.name}", "olddefconfig"]
    if configuration.modules:
        process.run(command, purpose="take over the configuration")
        _only_loaded(scratch, source, configuration.modules)
    _write(scratch, scratch.read_text(), asked, source)
    process.run(command, purpose="configure the kernel")
    return scratch.read_text()


def _write(path: Path, text: str, asked: Mapping[str, str], source: Path) -> None:
    """Write a configuration with options replaced, and without files that are not there."""
    gone = {*asked, *(_DEBUG_INFO if "DEBUG_INFO_NONE" in asked else ())}
    known = {name: value for name, value in kconfig.parse(text).items() if name not in gone}
    for name in _CERTIFICATES:
        file = known.get(name, "").strip('"')
        if file and not (source / file).is_file():
            known[name] = '""'
    path.write_text(kconfig.render(known | dict(asked)))


def _only_loaded(config: Path, source: Path, modules: str) -> None:
    """Switch off the modules that are not loaded, as `make localmodconfig` does."""
    with tempfile.TemporaryDirectory(prefix="localmod-") as name:
        scratch = Path(name)
        (scratch / "lsmod").write_text(modules)
        (scratch / ".config").write_text(config.read_text())
        text = process.run(
            ["perl", source / _STREAMLINE, "--localmodconfig", source, "Kconfig"],
            purpose="find the options of the modules that are loaded",
            cwd=scratch,  # whose .config it reads
            env={"LSMOD": str(scratch / "lsmod"), "SRCARCH": _srcarch()},
        )
    config.write_text(text)


def _srcarch() -> str:
    """Return the directory of arch/ for this machine."""
    machine = platform.machine()
    return {"x86_64": "x86", "aarch64": "arm64"}.get(machine, machine)
