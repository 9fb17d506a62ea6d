# SPDX-License-Identifier: GPL-2.0-only
"""Debian packages: fetch them without root from any suite, install what the lab needs.

Fetching uses package lists of its own below the cache, so the machine's apt configuration
stays as it is; mirrors are the machine's own. apt checks the signatures.
"""

from __future__ import annotations

import os
import re
import shutil
import urllib.parse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mglru.core import process
from mglru.core.errors import LabError, UsageError
from mglru.core.files import write_whole
from mglru.core.paths import cache_dir, locked

DOWNLOAD_LIMIT_SECONDS = 1800
CHECK_APT = "check the network and the machine's apt configuration"
OWN_SOURCE = "or give a kernel source tree of your own: --source DIR|TARBALL"
# One package in the output of `apt-get --print-uris`: 'ADDRESS' FILE BYTES [CHECKSUM]
_PACKAGE = re.compile(r"^'[^']+' (?P<file>\S+_\S+_\S+\.deb) (?P<bytes>\d+)", re.MULTILINE)
_NO_PACKAGE = re.compile(r"Unable to locate package (\S+)|Package '?([^\s']+)'? has no inst")
_INRELEASE = re.compile(r"'(?P<mirror>[^']+?)/?/dists/(?P<suite>[^']+)/InRelease'")


@dataclass(frozen=True)
class Mirrors:
    """Addresses of the Debian archive, and of its security archive where one is configured."""

    main: str
    security: str | None


def available() -> bool:
    """Say whether this machine has apt at all."""
    return shutil.which("apt-get") is not None


def parse_mirrors(print_uris: str) -> Mirrors:
    """Find the mirrors in the output of `apt-get --print-uris update`.

    Raises:
        LabError: no Debian archive among them.
    """
    main: str | None = None
    security: str | None = None
    for match in _INRELEASE.finditer(print_uris):
        if "security" in match["mirror"] or "security" in match["suite"]:
            security = security or match["mirror"]
        elif re.fullmatch(r"(\w*stable|sid|bookworm|trixie|forky|duke)", match["suite"]):
            main = main or match["mirror"]
    if not main:
        raise LabError(
            "this machine's apt configuration names no Debian archive",
            next_step="add one to /etc/apt/sources.list.d, " + OWN_SOURCE,
        )
    return Mirrors(main, security)


def _private_options(suites: Sequence[str], kind: str = "deb") -> list[str]:
    """Prepare private package lists for the suites and return apt's options to use them.

    Args:
        suites: where from.
        kind: `deb` for packages, `deb-src` for their sources.
    """
    uris = process.run(["apt-get", "--print-uris", "update"], purpose="find the machine's mirror")
    mirrors = parse_mirrors(uris)
    home = cache_dir("apt", _lists_name(suites, kind))
    for name in ("lists/partial", "archives/partial"):
        (home / name).mkdir(parents=True, exist_ok=True)
    lines = []
    for suite in suites:
        mirror = mirrors.security if suite.endswith("-security") else mirrors.main
        if mirror:
            lines.append(f"{kind} {mirror} {suite} main\n")
    write_whole(home / "sources.list", "".join(lines))
    settings = {
        "Dir::State::Lists": home / "lists",
        "Dir::Etc::sourcelist": home / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::Cache": home,
        "Acquire::Languages": "none",
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
        "Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled": "false",
        # As root, apt would otherwise fetch as a user who cannot read the cache.
        "APT::Sandbox::User": "",
        # The machine's own preferences are about the machine's own suite.
        "Dir::Etc::preferences": "/dev/null",
        "Dir::Etc::preferencesparts": "/dev/null",
        "APT::Default-Release": "",
    }
    return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]


def _lists_name(suites: Sequence[str], kind: str) -> str:
    return "-".join([*suites, *(["source"] if kind == "deb-src" else [])])


def _apt_get(
    arguments: Sequence[str],
    purpose: str,
    *,
    next_step: str = CHECK_APT,
    cwd: Path | None = None,
    on_tick: Callable[[], None] | None = None,
) -> str:
    return process.run(
        ["apt-get", *arguments],
        purpose=purpose,
        cwd=cwd,
        next_step=next_step,
        limit_seconds=DOWNLOAD_LIMIT_SECONDS,
        on_tick=on_tick,
    )


def _require(what: str) -> None:
    """Refuse to go on without apt."""
    if not available():
        raise LabError(
            f"{what} comes from Debian, and this machine has no apt",
            next_step=("give a kernel source tree of your own: --source DIR|TARBALL"),
        )


def fetch(
    package: str, suites: Sequence[str], into: Path, version: str = "", preferred: str = ""
) -> Path:
    """Download a package from the suites and return the .deb.

    Args:
        package: which.
        suites: where from.
        into: the directory that gets it.
        version: of the package; the newest if empty.
        preferred: the version to take if the suites have it, and none is asked for.

    Raises:
        LabError: no apt, no network, no such package, or a bad signature.
    """
    _require(package)
    purpose = f"download {package} from Debian ({', '.join(suites)})"
    next_step = f"{CHECK_APT}, {OWN_SOURCE}"
    with locked(cache_dir("apt") / "-".join(suites)):
        options = _private_options(suites)
        _apt_get([*options, "update", "--error-on=any"], purpose, next_step=next_step, cwd=into)
        if not version and any(o.version == preferred for o in _offers(package, options, purpose)):
            version = preferred
        wanted = f"{package}={version}" if version else package
        _apt_get([*options, "download", wanted], purpose, next_step=next_step, cwd=into)
    found = sorted(into.glob(f"{package}_*.deb"))
    if len(found) != 1:
        raise LabError(f"cannot {purpose}: no file arrived", next_step=next_step)
    return found[0]


@dataclass(frozen=True)
class Offer:
    """A version of a package, and the suites that have it."""

    version: str
    suites: tuple[str, ...]


def has_suite(suite: str) -> bool:
    """Say whether the mirrors have a suite.

    Raises:
        LabError: no apt, or the mirrors cannot be asked.
    """
    _require("what a suite offers")
    with locked(cache_dir("apt") / suite):
        options = _private_options([suite])
        try:
            _apt_get([*options, "update", "--error-on=any"], f"read what {suite} offers")
        except LabError as error:
            if any("does not have a Release file" in line for line in error.log_tail):
                return False
            raise
    return True


def offers(package: str, suites: Sequence[str]) -> tuple[Offer, ...]:
    """Return all versions of a package in the suites, the newest first; there may be none.

    Raises:
        LabError: no apt, no network, or the mirrors do not have one of the suites.
    """
    _require(package)
    purpose = f"ask Debian for the versions of {package}"
    with locked(cache_dir("apt") / "-".join(suites)):
        options = _private_options(suites)
        _apt_get([*options, "update", "--error-on=any"], purpose)
        return _offers(package, options, purpose)


def _offers(package: str, options: Sequence[str], purpose: str) -> tuple[Offer, ...]:
    listing = process.run(["apt-cache", *options, "madison", package], purpose=purpose)
    return parse_madison(listing)


def parse_madison(listing: str) -> tuple[Offer, ...]:
    """Read what `apt-cache madison` printed.

    A line is PACKAGE | VERSION | ADDRESS SUITE/main ARCHITECTURE Packages.
    """
    found: dict[str, list[str]] = {}
    for line in listing.splitlines():
        _package, version, where = (field.strip() for field in line.split("|"))
        found.setdefault(version, []).append(where.split()[1].split("/")[0])
    return tuple(Offer(version, tuple(suites)) for version, suites in found.items())


@dataclass(frozen=True)
class Deb:
    """One package that apt would fetch: the name of its file, and its size in bytes."""

    file: str
    bytes: int

    @property
    def name(self) -> str:
        """The package."""
        return self.file.split("_")[0]

    @property
    def version(self) -> str:
        """The package's version, as dpkg writes it."""
        return urllib.parse.unquote(self.file.split("_")[1])


class Closure:
    """Packages of the suites with all that they depend on, as on an empty machine.

    Args:
        packages: what is wanted.
        suites: where from, as in `fetch`.

    Raises:
        LabError: no apt, no network, a bad signature, no such package.
    """

    def __init__(self, packages: Sequence[str], suites: Sequence[str]) -> None:
        self._where = f"Debian ({', '.join(suites)})"
        if not available():
            raise LabError(
                f"{', '.join(packages)} come from {self._where}, and this machine has no apt",
                next_step="run the lab on a Debian system, or in a container of one",
            )
        self._lists = cache_dir("apt") / "-".join(suites)
        with locked(self._lists):
            options = _private_options(suites)
            self._run([*options, "update", "--error-on=any"], "read the package lists")
            status = self._lists / "status"
            status.touch()  # nothing is installed yet
            self._install = [
                *(*options, "-o", f"Dir::State::status={status}"),
                *("install", "--no-install-recommends", "--yes", *packages),
            ]
            try:
                listing = self._run([*self._install, "--print-uris"], "find the packages")
            except LabError as error:
                raise self._explain(error) from error
        self.debs = [Deb(m["file"], int(m["bytes"])) for m in _PACKAGE.finditer(listing)]

    def _run(
        self, arguments: Sequence[str], what: str, on_tick: Callable[[], None] | None = None
    ) -> str:
        return _apt_get(arguments, f"{what} of {self._where}", on_tick=on_tick)

    def _explain(self, error: LabError) -> LabError:
        unknown = [a or b for a, b in _NO_PACKAGE.findall("\n".join(error.log_tail))]
        if not unknown:
            return error
        return UsageError(
            f"{self._where} has no package {', '.join(unknown)}",
            next_step="correct [userland] packages in the experiment's file",
        )

    @property
    def bytes(self) -> int:
        """How much `download` fetches."""
        return sum(deb.bytes for deb in self.debs)

    def download(self, into: Path, on_tick: Callable[[], None] | None = None) -> None:
        """Fetch the packages into a directory; apt checks their signatures.

        Args:
            into: an empty directory.
            on_tick: called about ten times a second meanwhile.

        Raises:
            LabError: no network, no space, or a file that is not what the lists say.
        """
        (into / "partial").mkdir()
        archives = ["-o", f"Dir::Cache::Archives={into}"]
        with locked(self._lists):
            self._run([*archives, *self._install, "--download-only"], "fetch packages", on_tick)
        arrived = {path.name for path in into.glob("*.deb")}
        if lost := [deb.file for deb in self.debs if deb.file not in arrived]:
            raise LabError(
                f"cannot fetch packages of {self._where}: {', '.join(lost)} did not arrive",
                next_step="try again",
            )


def fetch_source(package: str, suites: Sequence[str], into: Path) -> Path:
    """Download the upstream sources of a package, without Debian's changes; return the archive.

    Args:
        package: the name of the source package.
        suites: where from.
        into: the directory that gets it.

    Raises:
        LabError: no apt, no network, or a bad signature.
        UsageError: no such source package.
    """
    where = f"Debian ({', '.join(suites)})"
    if not available():
        raise LabError(
            f"the sources of {package} come from {where}, and this machine has no apt",
            next_step="run the lab on a Debian system, or in a container of one",
        )
    with locked(cache_dir("apt") / _lists_name(suites, "deb-src")):
        options = _private_options(suites, "deb-src")
        source = ["source", "--download-only", "--tar-only", package]
        for arguments in (["update", "--error-on=any"], source):
            try:
                purpose = f"download the sources of {package} from {where}"
                _apt_get([*options, *arguments], purpose, cwd=into)
            except LabError as error:
                if not any("Unable to find a source package" in line for line in error.log_tail):
                    raise
                raise UsageError(
                    f"{where} has no source package {package}",
                    next_step="correct [userland] sources in the experiment's file",
                ) from error
    found = sorted(into.glob(f"{package}_*.orig.tar.*"))
    if len(found) != 1:
        raise LabError(
            f"the sources of {package} are {len(found)} archives, not one",
            next_step="choose another package in [userland] sources",
        )
    return found[0]


def missing(packages: Sequence[str]) -> list[str]:
    """Return those of the Debian packages that are not installed."""
    listing = process.run(
        ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *packages],
        purpose="look up installed packages",
        ok=(0, 1),
    )
    installed = {line.split()[0] for line in listing.splitlines() if line.endswith(" installed")}
    return [name for name in packages if name not in installed]


def install_command(packages: Sequence[str]) -> list[str]:
    """Return the command that installs packages, with sudo where that is needed."""
    sudo = [] if os.geteuid() == 0 else ["sudo"]
    return [*sudo, "apt-get", "install", "-y", "--no-install-recommends", *packages]
