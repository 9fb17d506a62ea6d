# SPDX-License-Identifier: GPL-2.0-only
"""A root file system for guests that do not see the host's files: files named in, an image out.

Every file lies at its own path, so that a plan is the same on all machines. Of the host it has the
programs of HOST_PROGRAMS and those that the plan starts, with their libraries: what else the host
has installed makes no difference.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from mglru.core import process
from mglru.core.cache import made
from mglru.core.errors import LabError
from mglru.core.keys import key_of
from mglru.core.paths import cache_dir, require_space
from mglru.debian import userland
from mglru.disk.images import TIME, make_ext4
from mglru.experiment.dataset import IMAGE

# What guest/init/init.c mounts things on; a userland has files in /etc.
MOUNT_POINTS = (*userland.MOUNT_POINTS, "etc")
# Where boots have it, whose directories have random names.
PLAN = "plan"
LIMIT_SECONDS = 600
SPARE_MB = 8
# Nobody writes to it.
NO_JOURNAL = ("-O", "^has_journal")
# An inode for so many bytes: an unpacked package has many small files.
BYTES_PER_INODE = 8192
# What scripts of experiments may use: of Debian's packages that every system has.
HOST_PROGRAMS = (
    "sh",
    *("basename", "cat", "chmod", "chown", "chroot", "cp", "cut", "date", "dd", "dirname", "echo"),
    *("env", "expr", "false", "head", "id", "ln", "ls", "md5sum", "mkdir", "mkfifo", "mknod"),
    *("mktemp", "mv", "nproc", "od", "printf", "pwd", "readlink", "rm", "rmdir", "seq", "sleep"),
    *("sort", "split", "stat", "stdbuf", "sync", "tail", "tee", "test", "timeout", "touch", "tr"),
    *("true", "truncate", "uniq", "wc", "yes"),
    *("chrt", "mkswap", "mount", "nice", "setsid", "swapoff", "swapon", "taskset", "umount"),
    *("cmp", "diff", "find", "grep", "gzip", "mawk", "sed", "tar", "xargs"),
)
DIRECTORIES = ("/bin", "/usr/bin", "/sbin", "/usr/sbin")
# Not what the host's alternatives have chosen.
LINKS = {Path("/", path): goal for path, goal in userland.LINKS.items()}
_LIBRARY = re.compile(r"(/\S+)(?= \(0x)")
# Userland images are made anew when this module makes them differently.
FORMAT = 1


def host_programs(started: Iterable[Path] = ()) -> list[Path]:
    """Return the programs of the host that a guest gets.

    Args:
        started: those that its plan starts by their paths.

    Raises:
        LabError: the host does not have one of them.
    """
    return sorted({*map(_find, HOST_PROGRAMS), *map(_there, started)})


def _find(name: str) -> Path:
    """Return where a program of HOST_PROGRAMS is; where it is twice, it is once and a link."""
    places = [Path(directory, name) for directory in DIRECTORIES]
    return next((path for path in places if path.exists()), None) or _there(places[1])


def _there(path: Path) -> Path:
    if not path.exists():
        raise LabError(
            f"the guest needs {path}, which this system does not have",
            next_step="install it; on Debian: coreutils, util-linux, mount, findutils, grep, sed, "
            "tar, mawk, or the package that the experiment names",
        )
    return path


@functools.cache
def libraries(program: Path) -> tuple[Path, ...]:
    """Return the files that a program of the host is loaded with; a static one has none."""
    text = process.run(
        ["ldd", program], purpose=f"find the libraries of {program}", ok=(0, 1), limit_seconds=60
    )
    return tuple(Path(name) for name in _LIBRARY.findall(text))


def make_root(
    directory: Path,
    plan: str,
    files: Iterable[Path],
    links: Mapping[Path, str],
    mount_points: Iterable[Path],
) -> Path:
    """Make the image of a root file system in a directory and return it.

    Args:
        directory: gets the image, and is used to make it.
        plan: becomes the file PLAN.
        files: what it holds, at their own paths.
        links: symbolic links by their own paths.
        mount_points: empty directories.

    Raises:
        LabError: no space, or mke2fs is missing.
    """
    tree = directory / "root"
    for name in MOUNT_POINTS:
        (tree / name).mkdir(parents=True)
    (tree / PLAN).write_text(plan)
    for path in mount_points:
        _below(tree, path).mkdir(parents=True, exist_ok=True)
    for path in sorted({*files}):
        _place(tree, path)
    for path, goal in links.items():
        _parent(tree, path)
        _below(tree, path).symlink_to(goal)
    image = directory / "root.img"
    _make_image(tree, image)
    shutil.rmtree(tree)
    return image


def userland_image(tree: Path) -> Path:
    """Return the image of an unpacked userland's tree, made if the cache has none.

    A tree in the cache does not change, and its directory's name tells its content.
    """
    key = key_of(f"{FORMAT} {tree.parent.name}")
    target = cache_dir("datasets") / f"userland-{key}"

    def make(staging: Path) -> None:
        require_space(staging, 2 * _tree_bytes(tree), "an image of the guest's programs")
        _make_image(tree, staging / IMAGE)

    return made(target, make) / IMAGE


def _below(tree: Path, path: Path) -> Path:
    return tree / path.relative_to("/")


def _parent(tree: Path, path: Path) -> None:
    """Make the directories above a path as the host has them: /bin may be a link."""
    for above in reversed(path.parents[:-1]):
        _below(tree, above.resolve()).mkdir(parents=True, exist_ok=True)
        link = _below(tree, above.parent.resolve() / above.name)
        if above.is_symlink() and not link.is_symlink():
            link.symlink_to(above.readlink())


def _place(tree: Path, path: Path) -> None:
    """Copy a file, and if it is a link, what it points to."""
    _parent(tree, path)
    real = path.parent.resolve()
    copy = _below(tree, real / path.name)
    if copy.exists() or copy.is_symlink():
        return
    if path.is_symlink():
        copy.symlink_to(path.readlink())
        _place(tree, Path(os.path.normpath(real / path.readlink())))
        return
    shutil.copyfile(path, copy)
    copy.chmod(0o755)
    os.utime(copy, (TIME, TIME))


def _tree_bytes(tree: Path) -> int:
    return sum(path.lstat().st_size for path in _files(tree))


def _files(tree: Path) -> Iterator[Path]:
    for directory, _names, files in os.walk(tree):
        yield from (Path(directory, name) for name in files)


def _make_image(tree: Path, image: Path) -> None:
    """Make an ext4 of a tree, with no more room than it needs."""
    blocks = [-(-path.lstat().st_size // 4096) for path in _files(tree)]
    megabytes = (sum(blocks) + 2 * len(blocks)) * 4096 * 102 // 100 // 1_000_000 + SPARE_MB
    make_ext4(
        tree,
        image,
        megabytes,
        (*NO_JOURNAL, "-i", str(BYTES_PER_INODE)),
        purpose="make the guest's root image",
        next_step="check the free space of the cache",
        limit_seconds=LIMIT_SECONDS,
    )
