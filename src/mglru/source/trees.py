# SPDX-License-Identifier: GPL-2.0-only
"""Step 1, kernel source: a pristine tree in the cache, from Debian or from the user."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from mglru.core import cache, files, process
from mglru.core.errors import UsageError
from mglru.core.keys import sha256_of
from mglru.core.paths import cache_dir, locked, require_space, staged
from mglru.debian import archive
from mglru.source.kernel_id import BASES

# Each base comes from one suite (with its security updates), whatever Debian the machine runs,
# so that Debian 12 and 13 measure the same source.
SUITES = {"6.12": ("trixie", "trixie-security"), "7.3": ("trixie-backports",)}
# The series is made on this version of the package, and the reference results are of it. As long
# as Debian offers it, a point release that moved lines cannot stop a first run.
MADE_ON = {"6.12": "6.12.118-1", "7.3": "7.3.4-1~bpo13+1"}
UNPACKED_BYTES = 2_500_000_000
Note = Callable[[str], None]


@dataclass(frozen=True)
class Source:
    """One pristine kernel tree.

    Attributes:
        base: which of the lab's bases it is (`6.12`).
        version: the exact version, from its Makefile (`6.12.117`).
        origin: the Debian package and version, or the user's path.
        digest: identifies the content.
        path: the tree; never built in or changed.
    """

    base: str
    version: str
    origin: str
    digest: str
    path: Path


def kernel_version(tree: Path) -> str:
    """Read the version of a kernel tree from its Makefile.

    Raises:
        UsageError: this is not a kernel tree.
    """
    makefile = tree / "Makefile"
    text = makefile.read_text(errors="replace")[:2000] if makefile.is_file() else ""
    fields = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) = (\d+)$", text, re.MULTILINE))
    if len(fields) != 3 or not (tree / "mm" / "vmscan.c").is_file():
        raise UsageError(f"{tree} is not a Linux source tree", next_step="name its top directory")
    return f"{fields['VERSION']}.{fields['PATCHLEVEL']}.{fields['SUBLEVEL']}"


def _base_of(version: str, origin: Path) -> str:
    base = ".".join(version.split(".")[:2])
    if base not in BASES:
        raise UsageError(
            f"{origin} is Linux {version}; the lab knows {', '.join(BASES)}",
            next_step="give a tree of one of these versions",
        )
    return base


def _record(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def _remember(source: Source) -> Source:
    files.write_whole(_record(source.path), json.dumps(asdict(source), default=str, indent=1))
    cache.use(source.path)
    return source


def cached(base: str) -> Source | None:
    """Return the source of this base that was fetched or given last, if there is one."""
    records = sorted(
        cache_dir("sources", base).glob("*.json"), key=lambda path: path.stat().st_mtime
    )
    for record in reversed(records):
        try:
            fields = json.loads(record.read_text())
            source = Source(**{**fields, "path": Path(fields["path"])})
        except (ValueError, TypeError):
            continue
        if source.path.is_dir():
            return source
    return None


def get_source(base: str, *, note: Note, update: bool = False) -> Source:
    """Return the pristine tree of a base; fetch it from Debian if the cache has none.

    Args:
        base: `6.12` or `7.3`.
        note: called with a line for the user before each slow step.
        update: ask Debian for a newer version even if the cache has one.

    Raises:
        LabError: no space, no network, no apt.
    """
    with locked(cache_dir("sources") / base):
        known = cached(base)
        if known and not update:
            cache.use(known.path)
            return known
        return _fetch_from_debian(base, "" if update else MADE_ON[base], note)


def _fetch_from_debian(base: str, preferred: str, note: Note) -> Source:
    package = f"linux-source-{base}"
    home = cache_dir("sources", base)
    require_space(home, UNPACKED_BYTES, f"the source of Linux {base}")
    note(f"downloading {package} from Debian (about 160 MB)")
    with tempfile.TemporaryDirectory(prefix=".download.", dir=home) as download:
        deb = archive.fetch(package, SUITES[base], Path(download), preferred=preferred)
        package_version = deb.name.split("_")[1].replace("%3a", ":")
        target = home / package_version
        if not _record(target).exists():
            note(f"unpacking {package} {package_version} (1.7 GB)")
            unpack_deb(deb, package, target)
    return _remember(debian_source(base, package_version, target))


def debian_source(base: str, package_version: str, tree: Path) -> Source:
    """Describe a tree that was unpacked from a version of Debian's package."""
    origin = f"linux-source-{base} {package_version}"
    return Source(base, kernel_version(tree), origin, sha256_of(origin), tree)


def unpack_deb(deb: Path, package: str, target: Path) -> None:
    """Unpack the tarball inside the package without writing it to disk in between."""
    script = (
        'set -o pipefail; dpkg-deb --fsys-tarfile "$0" '
        '| tar -xO "./usr/src/$1.tar.xz" | tar -xJ --strip-components=1 -C "$2"'
    )
    with staged(target) as staging:
        process.run(
            ["bash", "-c", script, deb, package, staging],
            purpose=f"unpack {deb.name}",
            next_step="check the free space of the cache and try again",
        )
        kernel_version(staging)


def import_source(origin: Path, *, note: Note) -> Source:
    """Take the user's own kernel tree (a directory or a tarball) into the cache.

    The user's tree is copied, never touched. Importing the same tree again costs nothing.

    Raises:
        UsageError: no such file, not a kernel tree, or a version that the lab does not know.
        LabError: no space.
    """
    origin = origin.resolve()
    if not origin.exists():
        raise UsageError(f"--source {origin}: no such file or directory")
    digest = _digest_directory(origin) if origin.is_dir() else files.digest(origin)
    target = cache_dir("sources", "own") / digest[:16]

    def make(staging: Path) -> None:
        require_space(target.parent, UNPACKED_BYTES, f"a copy of {origin}")
        note(f"copying {origin} into the cache")
        _copy_tree(origin, staging)
        _base_of(kernel_version(staging), origin)

    cache.made(target, make)
    version = kernel_version(target)
    return _remember(Source(_base_of(version, origin), version, str(origin), digest, target))


def import_sources(origins: Iterable[Path], *, note: Note) -> dict[str, Source]:
    """Take the user's kernel trees into the cache, and return one a base.

    Raises:
        UsageError: see `import_source`.
        LabError: no space.
    """
    sources = [import_source(origin, note=note) for origin in origins]
    return {source.base: source for source in sources}


def _copy_tree(origin: Path, staging: Path) -> None:
    if origin.is_dir():
        kernel_version(origin)
        process.run(
            ["cp", "-a", "--reflink=auto", f"{origin}/.", staging], purpose=f"copy {origin}"
        )
        shutil.rmtree(staging / ".git", ignore_errors=True)
        if (staging / ".config").exists():
            process.run(["make", "mrproper"], purpose="clean the copy of the tree", cwd=staging)
    else:
        process.run(
            ["tar", "-xf", origin, "--strip-components=1", "-C", staging],
            purpose=f"unpack {origin}",
            next_step="give a tarball of a kernel source tree, or an unpacked directory",
        )


def _digest_directory(path: Path) -> str:
    """Identify a tree by its files' names, sizes and times: reading 1.7 GB would take too long."""
    listing = subprocess.run(
        ["find", ".", "-type", "f", "-not", "-path", "./.git/*", "-printf", "%P %s %T@\n"],
        cwd=path,
        check=True,
        capture_output=True,
    ).stdout
    return sha256_of(b"\n".join(sorted(listing.splitlines())))
