# SPDX-License-Identifier: GPL-2.0-only
"""WiredTiger as a static library, from its source distribution on PyPI."""

from __future__ import annotations

import os
import re
import shutil
import venv
from collections.abc import Callable
from pathlib import Path

from mglru.core import process
from mglru.core.cache import made, made_file, scratch
from mglru.core.errors import LabError
from mglru.core.files import digest
from mglru.core.keys import key_of
from mglru.core.paths import cache_dir, locked, require_space

VERSION = "11.3.1"
SHA256 = "95052d1b6fc06921dd617aafa1ba2a773d8dbbbf2eb74f77147290a630e598d0"
ARCHIVE = f"wiredtiger-{VERSION}.tar.gz"
REQUIREMENT = f"wiredtiger=={VERSION}"
PIP_DOWNLOAD = ("download", "--no-deps", "--no-binary", ":all:", "--disable-pip-version-check")

SPACE_BYTES = 600 << 20
DOWNLOAD_LIMIT_SECONDS = 600
BUILD_LIMIT_SECONDS = 3600

# Only the library, nothing that depends on what else the host has installed.
OPTIONS = (
    "CMAKE_BUILD_TYPE=Release",
    "ENABLE_STATIC=1",
    "ENABLE_SHARED=0",
    "ENABLE_PYTHON=0",
    "ENABLE_DEBUG_INFO=0",
    "ENABLE_STRICT=0",
    "ENABLE_SNAPPY=0",
    "ENABLE_ZLIB=0",
    "ENABLE_LZ4=0",
    "ENABLE_ZSTD=0",
    "ENABLE_SODIUM=0",
    "ENABLE_MEMKIND=0",
    "ENABLE_IAA=0",
    "ENABLE_CPPSUITE=0",
    "WITH_PIC=0",
)

# WiredTiger looks for Python's headers even where it makes no Python module, and sets up
# tests, tools and examples with needs of their own: (file, lines to leave out).
TRIMMED = (
    ("cmake/configs/base.cmake", r"^source_python3_package\(.*\n"),
    (
        "CMakeLists.txt",
        r"^add_subdirectory\((src/utilities|bench/\w+|examples|test|tools/\w+|ext)\)\n",
    ),
    ("CMakeLists.txt", r"^include\(cmake/install/.*\n"),
)

Note = Callable[[str], None]


def library(compiler_version: str, note: Note) -> Path:
    """Return the directory with libwiredtiger.a and wiredtiger.h, building it if need be.

    Args:
        compiler_version: what `cc` is; another compiler gives another build.
        note: called with one line when something long starts.

    Raises:
        LabError: no network, no space, a changed archive, a failed build.
    """
    key = key_of("\n".join([SHA256, compiler_version, *OPTIONS, repr(TRIMMED)]))
    target = cache_dir("guest") / f"wiredtiger-{VERSION}-{key}"
    return made(target, lambda staging: _make(staging, note))


def _make(staging: Path, note: Note) -> None:
    require_space(staging, SPACE_BYTES, f"building WiredTiger {VERSION}")
    archive = _archive(note)
    note(f"Building WiredTiger {VERSION}, once: 2 to 5 minutes")
    with scratch("wiredtiger") as directory:
        source = _unpack(archive, directory)
        build = directory / "build"
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        process.run(
            ["cmake", *generator, "-S", source, "-B", build, *(f"-D{o}" for o in OPTIONS)],
            purpose=f"configure WiredTiger {VERSION}",
            limit_seconds=BUILD_LIMIT_SECONDS,
        )
        jobs = str(os.cpu_count() or 1)
        process.run(
            ["cmake", "--build", build, "--parallel", jobs, "--target", "wiredtiger_static"],
            purpose=f"build WiredTiger {VERSION}",
            limit_seconds=BUILD_LIMIT_SECONDS,
        )
        for product in ("libwiredtiger.a", "include/wiredtiger.h"):
            shutil.copy(build / product, staging)


def _archive(note: Note) -> Path:
    """Return the source distribution, downloaded and found unchanged."""
    path = cache_dir("downloads") / ARCHIVE
    with locked(path):
        if path.is_file() and digest(path) != SHA256:
            path.unlink()
    return made_file(path, lambda new: _download(new, note))


def _download(new: Path, note: Note) -> None:
    note(f"Downloading WiredTiger {VERSION}: 10 MB")
    with scratch("wiredtiger") as directory:
        # The lab's own environment is made without pip.
        venv.create(directory / "venv", with_pip=True)
        python = directory / "venv" / "bin" / "python"
        process.run(
            [python, "-m", "pip", *PIP_DOWNLOAD, "-d", new.parent, REQUIREMENT],
            purpose=f"download WiredTiger {VERSION} from PyPI",
            limit_seconds=DOWNLOAD_LIMIT_SECONDS,
            next_step="check the network and pip's settings (pip config list), then try again",
        )
    if not new.is_file() or (got := digest(new)) != SHA256:
        found = f"sha256 {got}" if new.is_file() else "no such file"
        raise LabError(
            f"{ARCHIVE} is not the archive that the lab was made with: {found}",
            next_step=f"expected sha256 {SHA256}; check pip's index (pip config list)",
        )


def _unpack(archive: Path, directory: Path) -> Path:
    process.run(["tar", "-xf", archive, "-C", directory], purpose=f"unpack {archive}")
    source = directory / f"wiredtiger-{VERSION}"
    for name, lines in TRIMMED:
        path = source / name
        text, count = re.subn(lines, "", path.read_text(), flags=re.MULTILINE)
        if not count:
            raise LabError(
                f"WiredTiger {VERSION}: {name} has no line like {lines}",
                next_step="adapt TRIMMED in src/mglru/guest/wiredtiger.py to this version",
            )
        path.write_text(text)
    return source
