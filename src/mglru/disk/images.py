# SPDX-License-Identifier: GPL-2.0-only
"""The image of the guest's disk when a run starts: made once from its spec, cached.

Most kinds are made on the host, here; `prepared` is made inside a guest, see prepared.py.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from mglru.core import process
from mglru.core.cache import made
from mglru.core.keys import key_of
from mglru.core.paths import cache_dir, require_space
from mglru.disk import user_files
from mglru.experiment.dataset import (
    IMAGE,
    TMP,
    TREE,
    WORK,
    DirectoryDataset,
    EmptyDataset,
    FileDataset,
    HostMade,
    LevelDbDataset,
    SourceDataset,
    WiredTigerDataset,
)
from mglru.guest.programs import guest_program
from mglru.source.trees import get_source

Note = Callable[[str], None]

SEED = 1
LIMIT_SECONDS = 1800
# Everything in a file system that would otherwise come from the clock or from chance.
TIME = 1_700_000_000
UUID = "6d676c72-7500-4000-8000-000000000001"
HASH_SEED = "6d676c72-7500-4000-8000-000000000002"
EXT4_OPTIONS = f"hash_seed={HASH_SEED},lazy_itable_init=0,lazy_journal_init=0,root_owner=0:0"
# Images are made anew when this module makes them differently.
FORMAT = 1


def _fill_wiredtiger(spec: WiredTigerDataset, directory: Path, note: Note) -> None:
    process.run(
        [
            *(guest_program("ycsb_wiredtiger", note), "load", "--home", directory),
            *("--records", str(spec.records), "--record-bytes", str(spec.record_bytes)),
            *("--leaf-kb", str(spec.leaf_page_kb), "--seed", str(SEED)),
        ],
        purpose="load the WiredTiger database",
        limit_seconds=LIMIT_SECONDS,
    )


def _fill_leveldb(spec: LevelDbDataset, directory: Path, note: Note) -> None:
    process.run(
        [
            *(guest_program("get_scan_leveldb", note), "load", "--home", directory),
            *("--records", str(spec.records), "--value-bytes", str(spec.value_bytes)),
            *("--seed", str(SEED)),
        ],
        purpose="load the LevelDB database",
        limit_seconds=LIMIT_SECONDS,
    )


def _write_file(spec: FileDataset, directory: Path) -> None:
    rng = np.random.default_rng(SEED)
    with (directory / "file").open("wb") as file:
        for _ in range(spec.file_mb):
            file.write(rng.bytes(1 << 20))


def _copy_directory(spec: DirectoryDataset, directory: Path) -> None:
    work, tmp = directory / WORK, directory / TMP
    if spec.path is None:
        work.mkdir()
    else:
        user_files.copy(Path(spec.path), work, spec.digest)
    tmp.mkdir()
    for path, mode in ((directory, 0o755), (work, 0o755), (tmp, 0o1777)):
        path.chmod(mode)
        os.utime(path, (TIME, TIME))
    user_files.forget_old(cache_dir("datasets"), f"{spec.kind}-*")


def _copy_source(spec: SourceDataset, directory: Path, note: Note) -> None:
    source = get_source(spec.base, note=note)
    tree = directory / TREE
    tree.mkdir()
    process.run(
        ["cp", "-a", "--parents", "-t", tree, *spec.paths],
        purpose=f"copy {', '.join(spec.paths)} of {source.origin}",
        cwd=source.path,
        limit_seconds=LIMIT_SECONDS,
        next_step="see `paths` in the experiment's [dataset]",
    )


def _fill(spec: HostMade, directory: Path, note: Note) -> None:
    """Put into a directory what shall be on the disk."""
    match spec:
        case WiredTigerDataset():
            _fill_wiredtiger(spec, directory, note)
        case LevelDbDataset():
            _fill_leveldb(spec, directory, note)
        case FileDataset():
            _write_file(spec, directory)
        case DirectoryDataset():
            _copy_directory(spec, directory)
        case SourceDataset():
            _copy_source(spec, directory, note)
        case EmptyDataset():
            pass


def dataset_image(spec: HostMade, note: Note | None = None) -> Path:
    """Return the ext4 image of a dataset made on the host, made if it is not in the cache.

    The same spec gives the same image, byte for byte.

    Args:
        spec: what is on it.
        note: called with one line when something long starts.

    Raises:
        LabError: no space, or a program failed (a database that does not fit size_mb, say).
    """
    say = note or (lambda _text: None)
    target = cache_dir("datasets") / f"{spec.kind}-{_key(spec, say)}"
    return made(target, lambda staging: _make(spec, staging, say)) / IMAGE


def _key(spec: HostMade, note: Note) -> str:
    parts = [f"{FORMAT} {SEED} {spec.model_dump_json()}"]
    if spec.kind in LOADERS:
        # The loader decides the content, too; the name of its directory holds its digest.
        parts.append(guest_program(LOADERS[spec.kind], note).parent.name)
    if isinstance(spec, SourceDataset):
        parts.append(get_source(spec.base, note=note).digest)
    return key_of(*parts)


LOADERS = {"wiredtiger": "ycsb_wiredtiger", "leveldb": "get_scan_leveldb"}


def _make(spec: HostMade, staging: Path, note: Note) -> None:
    require_space(staging, 2 * spec.bytes + (64 << 20), f"preparing the {spec.kind} data")
    note(f"Preparing the {spec.kind} data, once: {spec.bytes >> 20} MB")
    data = staging / "data"
    data.mkdir()
    _fill(spec, data, note)
    _make_image(data, staging / IMAGE, spec)
    _remove(data)


def _make_image(data: Path, image: Path, spec: HostMade) -> None:
    """Make an ext4 file system that holds what is in `data`, independent of clock and chance."""
    files = sorted(data.rglob("*"))
    inodes = []
    if isinstance(spec, DirectoryDataset):
        inodes = ["-N", str(spec.inodes)]
    else:
        _normalise([*files, data])
    environment = {"E2FSPROGS_FAKE_TIME": str(TIME)}
    make_ext4(
        data,
        image,
        spec.size_mb,
        inodes,
        purpose="make the guest's disk image",
        next_step=spec.too_small,
    )
    # mke2fs takes owner and change time from the host's files.
    commands = image.with_suffix(".debugfs")
    names = ["/", *(f"/{path.relative_to(data)}" for path in files)]
    lines = "".join(_inode_fields(name) for name in names)
    commands.write_text(lines, errors="surrogateescape")
    process.run(
        ["debugfs", "-w", "-f", commands, image],
        purpose="set the times of the guest's disk image",
        env=environment,
        limit_seconds=LIMIT_SECONDS,
    )
    commands.unlink()


def make_ext4(
    tree: Path,
    image: Path,
    megabytes: int,
    options: Sequence[str],
    *,
    purpose: str,
    next_step: str,
    limit_seconds: float = LIMIT_SECONDS,
) -> None:
    """Make the image of an ext4 with the content of a directory, the same each time.

    Args:
        tree: the directory.
        image: the file to make.
        megabytes: its size.
        options: further ones of mke2fs.
        purpose: what this is for, as in "cannot <purpose>".
        next_step: what to do if it fails.
        limit_seconds: real time that it may take.

    Raises:
        LabError: mke2fs is missing, or the content does not fit.
    """
    process.run(
        [
            *("mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", "-m", "0", "-U", UUID),
            *("-E", EXT4_OPTIONS, *options),
            *("-d", tree, image, f"{megabytes}M"),
        ],
        purpose=purpose,
        env={"E2FSPROGS_FAKE_TIME": str(TIME)},
        limit_seconds=limit_seconds,
        next_step=next_step,
    )


def _remove(tree: Path) -> None:
    """Remove a tree, also what its owner has made read-only."""
    for path in tree.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)
    shutil.rmtree(tree)


def _normalise(paths: Iterable[Path]) -> None:
    """Give all files one mode and one time."""
    for path in paths:
        path.chmod(0o755 if path.is_dir() else 0o644)
        os.utime(path, (TIME, TIME))


def _inode_fields(name: str) -> str:
    """Return debugfs's commands that set the owner of a file and all times but mtime."""
    quoted = '"' + name.replace('"', '""') + '"'
    values = {"ctime": f"@{TIME}", "atime": f"@{TIME}", "crtime": f"@{TIME}", "uid": 0, "gid": 0}
    extra = {f"{field}_extra": 0 for field in ("ctime", "mtime", "atime")}
    return "".join(f"sif {quoted} {field} {v}\n" for field, v in {**values, **extra}.items())
