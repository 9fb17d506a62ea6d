# SPDX-License-Identifier: GPL-2.0-only
"""The programs of one Debian suite as the guest's file tree, whatever the host runs.

Packages are fetched and unpacked into the cache, sources of packages below /usr/src; nothing of
them is installed on the host, and none of their scripts runs. The guest sees the tree read-only
(guest/init/init.c, verb `userland`).
"""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mglru.core import process
from mglru.core.cache import made
from mglru.core.keys import key_of
from mglru.core.paths import cache_dir, require_space
from mglru.core.ui import Ui
from mglru.debian import archive as apt

# Every host runs the same programs; fixes of the suite come with its security archive.
SUITES = ("trixie", "trixie-security")
# A shell and the usual tools; setpriv and mkswap; what most servers start themselves with.
BASE = ("coreutils", "dash", "findutils", "grep", "mawk", "sed", "util-linux")
# Trees are made anew when this module makes them differently.
FORMAT = 1

ROOT = "root"
VERSIONS = "packages.json"
# Programs that refuse to run as root run as this user (uid and gid 1000).
USER = "lab"
FILES = {
    "etc/passwd": f"root:x:0:0::/tmp:/bin/sh\n{USER}:x:1000:1000::/tmp:/bin/sh\n",
    "etc/group": f"root:x:0:\n{USER}:x:1000:\n",
    "etc/hosts": "127.0.0.1 localhost\n",
}
MOUNT_POINTS = ("proc", "sys", "dev", "run", "tmp", "mnt")
MERGED = ("bin", "sbin", "lib", "lib64")
# What would be a link of update-alternatives.
LINKS = {"usr/bin/awk": "mawk"}
UNPACKED_RATIO = 6


@dataclass(frozen=True)
class Userland:
    """A file tree for guests.

    Attributes:
        root: the tree, a directory of the host.
        versions: the version of each package in it.
    """

    root: Path
    versions: Mapping[str, str]

    @property
    def digest(self) -> str:
        """Identifies the content: what the packages are and how the tree is made."""
        text = json.dumps([FORMAT, dict(sorted(self.versions.items()))])
        return key_of(text)


def get_userland(packages: Sequence[str], ui: Ui, sources: Sequence[str] = ()) -> Userland:
    """Return the tree with these packages and all that they need; fetched if not in the cache.

    Args:
        packages: names in SUITES; those of BASE are always there.
        ui: told what is downloaded, and how far it is.
        sources: names of source packages, whose upstream sources come to /usr/src/NAME.

    Raises:
        LabError: no apt, no network, no such package, no space.
    """
    wanted = sorted({*BASE, *packages})
    content = [FORMAT, SUITES, wanted, *([sorted(sources)] if sources else [])]
    key = key_of(json.dumps(content))
    target = cache_dir("userlands") / key
    made(target, lambda staging: _make(wanted, packages, sources, staging, ui))
    return Userland(target / ROOT, json.loads((target / VERSIONS).read_text()))


def _make(
    wanted: Sequence[str], packages: Sequence[str], sources: Sequence[str], staging: Path, ui: Ui
) -> None:
    ui.note(f"The guest needs programs of Debian {SUITES[0]}: {', '.join(packages or wanted)}")
    closure = apt.Closure(wanted, SUITES)
    count, megabytes = len(closure.debs), closure.bytes / 1e6
    require_space(staging, closure.bytes * (1 + UNPACKED_RATIO), "unpacking these packages")
    debs = staging / "debs"
    debs.mkdir()
    with ui.bar(f"downloading {count} packages ({megabytes:.0f} MB)", megabytes) as update:
        closure.download(debs, lambda: update(round(_bytes(debs) / 1e6), "MB"))
    with ui.bar(f"unpacking {count} packages", count) as update:
        _skeleton(staging / ROOT)
        for number, deb in enumerate(closure.debs):
            update(number, deb.name)
            _unpack(debs / deb.file, staging / ROOT)
            (debs / deb.file).unlink()
    unpacked = {f"{name} (source)": _source(name, staging) for name in sources}
    _complete(staging / ROOT)
    process.run(["rm", "-rf", debs], purpose=f"remove {debs}")
    versions = {deb.name: deb.version for deb in closure.debs} | unpacked
    (staging / VERSIONS).write_text(json.dumps(versions, indent=1, sort_keys=True))
    staging.chmod(0o755)


def _bytes(directory: Path) -> int:
    """Size of what has arrived; files move while this looks."""
    total = 0
    for path in directory.rglob("*.deb"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            continue
    return total


def _skeleton(root: Path) -> None:
    """Make what base-files and the first installation bring: /bin is a link before all else."""
    for name in MOUNT_POINTS:
        (root / name).mkdir(parents=True)
    for name in MERGED:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")


def _unpack(deb: Path, root: Path) -> None:
    # dpkg-deb --extract would put a directory in the place of the link /bin.
    script = (
        'set -o pipefail; dpkg-deb --fsys-tarfile "$0" '
        '| tar -x -p --no-same-owner --keep-directory-symlink -C "$1"'
    )
    process.run(
        ["bash", "-c", script, deb, root],
        purpose=f"unpack {deb.name}",
        next_step="check the free space of the cache and try again",
    )


def _source(name: str, staging: Path) -> str:
    """Fetch and unpack the sources of a package, and return their version."""
    archive = apt.fetch_source(name, SUITES, staging / "debs")
    into = staging / ROOT / "usr" / "src" / name
    into.mkdir(parents=True)
    process.run(
        ["tar", "-x", "-f", archive, "--strip-components=1", "--no-same-owner", "-C", into],
        purpose=f"unpack the sources of {name}",
        next_step="check the free space of the cache and try again",
    )
    return archive.name.removeprefix(f"{name}_").partition(".orig.tar")[0]


def _complete(root: Path) -> None:
    for name, text in FILES.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    for name, goal in LINKS.items():
        if not (root / name).is_symlink():
            (root / name).symlink_to(goal)
    # Programs that run as their owner on the host are nobody's need. The owner may write
    # directories, so that the tree can be removed; everybody in the guest may read it.
    for path in [root, *root.rglob("*")]:
        if path.is_symlink():
            continue
        mode = stat.S_IMODE(path.stat().st_mode)
        path.chmod((mode | (0o755 if path.is_dir() else 0o444)) & 0o777)
