# SPDX-License-Identifier: GPL-2.0-only
"""Debian packages: fetch one without root from any suite, install what the lab needs.

Fetching uses package lists of its own below the cache, so the machine's apt configuration
stays as it is; mirrors are the machine's own. apt checks the signatures.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mglru import process
from mglru.errors import LabError
from mglru.paths import cache_dir, locked

OWN_SOURCE = "or give a kernel source tree of your own: --source DIR|TARBALL"
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


def _private_options(suites: Sequence[str]) -> list[str]:
    """Prepare private package lists for the suites and return apt's options to use them."""
    uris = process.run(["apt-get", "--print-uris", "update"], purpose="find the machine's mirror")
    mirrors = parse_mirrors(uris)
    home = cache_dir("apt", "-".join(suites))
    for name in ("lists/partial", "archives/partial"):
        (home / name).mkdir(parents=True, exist_ok=True)
    lines = []
    for suite in suites:
        mirror = mirrors.security if suite.endswith("-security") else mirrors.main
        if mirror:
            lines.append(f"deb {mirror} {suite} main\n")
    (home / "sources.list").write_text("".join(lines))
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
    }
    return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]


def fetch(package: str, suites: Sequence[str], into: Path) -> Path:
    """Download the newest version of a package from the suites and return the .deb.

    Raises:
        LabError: no apt, no network, no such package, or a bad signature.
    """
    if not available():
        raise LabError(
            f"{package} comes from Debian, and this machine has no apt",
            next_step=("give a kernel source tree of your own: --source DIR|TARBALL"),
        )
    purpose = f"download {package} from Debian ({', '.join(suites)})"
    next_step = f"check the network and the machine's apt configuration, {OWN_SOURCE}"
    with locked(cache_dir("apt") / "-".join(suites)):
        options = _private_options(suites)
        for arguments in (["update", "--error-on=any"], ["download", package]):
            process.run(
                ["apt-get", *options, *arguments],
                purpose=purpose,
                cwd=into,
                next_step=next_step,
                limit_seconds=1800,
            )
    found = sorted(into.glob(f"{package}_*.deb"))
    if len(found) != 1:
        raise LabError(f"cannot {purpose}: no file arrived", next_step=next_step)
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
