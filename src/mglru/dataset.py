# SPDX-License-Identifier: GPL-2.0-only
"""What is on the guest's disk when a run starts: made once, cached as an image.

Most kinds are made on the host, here; `prepared` is made inside a guest, see prepared.py.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from mglru import process, user_files
from mglru.guest_build import guest_program
from mglru.paths import cache_dir, locked, require_space, staged
from mglru.source import get_source

Note = Callable[[str], None]

IMAGE = "image"
# Where a DirectoryDataset has the copy, and where the programs' temporary files go.
WORK = "work"
TMP = "tmp"
# Where a SourceDataset has its directories.
TREE = "tree"
SEED = 1
LIMIT_SECONDS = 1800
# Everything in a file system that would otherwise come from the clock or from chance.
TIME = 1_700_000_000
UUID = "6d676c72-7500-4000-8000-000000000001"
HASH_SEED = "6d676c72-7500-4000-8000-000000000002"
EXT4_OPTIONS = f"hash_seed={HASH_SEED},lazy_itable_init=0,lazy_journal_init=0,root_owner=0:0"
# Images are made anew when this module makes them differently.
FORMAT = 1


class _Dataset(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    size_mb: int = Field(gt=0, le=65_536)

    @property
    def too_small(self) -> str:
        """What to do if the data does not fit."""
        return "if the data does not fit, raise size_mb in the experiment's [dataset]"


class WiredTigerDataset(_Dataset):
    """A WiredTiger table as MongoDB lays out a collection, without compression.

    Attributes:
        size_mb: of the file system and the disk.
        records: how many.
        record_bytes: of each record.
        leaf_page_kb: the largest leaf page.
    """

    kind: Literal["wiredtiger"]
    records: int = Field(gt=0)
    record_bytes: int = Field(default=1000, gt=0)
    leaf_page_kb: int = Field(default=32, gt=0)

    def fill(self, directory: Path, note: Note) -> None:
        """Load the table."""
        process.run(
            [
                *(guest_program("ycsb_wiredtiger", note), "load", "--home", directory),
                *("--records", str(self.records), "--record-bytes", str(self.record_bytes)),
                *("--leaf-kb", str(self.leaf_page_kb), "--seed", str(SEED)),
            ],
            purpose="load the WiredTiger database",
            limit_seconds=LIMIT_SECONDS,
        )

    @property
    def bytes(self) -> int:
        """About how much `fill` writes."""
        return self.records * (self.record_bytes + 100)


class LevelDbDataset(_Dataset):
    """A LevelDB database, without compression; keys of 16 bytes.

    Attributes:
        size_mb: of the file system and the disk.
        records: how many.
        value_bytes: of each value.
    """

    kind: Literal["leveldb"]
    records: int = Field(gt=0)
    value_bytes: int = Field(default=200, gt=0)

    def fill(self, directory: Path, note: Note) -> None:
        """Load the database."""
        process.run(
            [
                *(guest_program("get_scan_leveldb", note), "load", "--home", directory),
                *("--records", str(self.records), "--value-bytes", str(self.value_bytes)),
                *("--seed", str(SEED)),
            ],
            purpose="load the LevelDB database",
            limit_seconds=LIMIT_SECONDS,
        )

    @property
    def bytes(self) -> int:
        """About how much `fill` writes, with what LevelDB rewrites on the way."""
        return 2 * self.records * (self.value_bytes + 40)


class FileDataset(_Dataset):
    """One file named `file`, of bytes that do not compress.

    Attributes:
        size_mb: of the file system and the disk.
        file_mb: of the file.
    """

    kind: Literal["file"]
    file_mb: int = Field(gt=0)

    def fill(self, directory: Path, note: Note) -> None:
        """Write the file."""
        del note
        rng = np.random.default_rng(SEED)
        with (directory / "file").open("wb") as file:
            for _ in range(self.file_mb):
                file.write(rng.bytes(1 << 20))

    @property
    def bytes(self) -> int:
        """How much `fill` writes."""
        return self.file_mb << 20


class EmptyDataset(_Dataset):
    """An empty file system."""

    kind: Literal["empty"]

    def fill(self, directory: Path, note: Note) -> None:
        """Leave the directory empty."""
        del directory, note

    @property
    def bytes(self) -> int:
        """Nothing is written."""
        return 0


class DirectoryDataset(_Dataset):
    """A copy of one of the user's directories in `work`, and beside it an empty `tmp`.

    Files keep their names, contents, modes and times of change; all belong to root.

    Attributes:
        path: which directory; None: `work` is empty.
        digest: of its content, see `user_files.read`. The image is kept by this, not by the path.
        content_bytes: of what it holds.
        inodes: how many files the file system can have.
    """

    kind: Literal["directory"]
    path: str | None = Field(default=None, exclude=True)
    digest: str
    content_bytes: int = Field(ge=0)
    inodes: int = Field(gt=0)

    def fill(self, directory: Path, note: Note) -> None:
        """Copy the directory."""
        del note
        work, tmp = directory / WORK, directory / TMP
        if self.path is None:
            work.mkdir()
        else:
            user_files.copy(Path(self.path), work, self.digest)
        tmp.mkdir()
        for path, mode in ((directory, 0o755), (work, 0o755), (tmp, 0o1777)):
            path.chmod(mode)
            os.utime(path, (TIME, TIME))
        user_files.forget_old(cache_dir("datasets"), f"{self.kind}-*")

    @property
    def bytes(self) -> int:
        """How much `fill` copies."""
        return self.content_bytes

    @property
    def too_small(self) -> str:
        """What to do if the data does not fit."""
        return "if the data does not fit, give a larger --disk-size"


class SourceDataset(_Dataset):
    """Directories of the source of Linux, as it is, in `tree`: a real tree of many small files.

    Attributes:
        size_mb: of the file system and the disk.
        base: which of the lab's kernels.
        paths: the directories, relative to the top of the source.
    """

    kind: Literal["source"]
    base: Literal["6.12", "7.3"] = "6.12"
    paths: tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_/-]*$")], ...] = Field(
        min_length=1
    )

    def fill(self, directory: Path, note: Note) -> None:
        """Copy the directories."""
        source = get_source(self.base, note=note)
        tree = directory / TREE
        tree.mkdir()
        process.run(
            ["cp", "-a", "--parents", "-t", tree, *self.paths],
            purpose=f"copy {', '.join(self.paths)} of {source.origin}",
            cwd=source.path,
            limit_seconds=LIMIT_SECONDS,
            next_step="see `paths` in the experiment's [dataset]",
        )

    @property
    def bytes(self) -> int:
        """The most that `fill` can copy."""
        return self.size_mb << 20


class PreparedStep(BaseModel):
    """One program that makes data inside a guest.

    Attributes:
        label: names the step in messages.
        argv: the program and its arguments, with placeholders.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    label: str = Field(pattern=r"^[a-z0-9_]+$")
    argv: tuple[str, ...] = Field(min_length=1)


class PreparedDataset(_Dataset):
    """What programs of the experiment's userland wrote to an empty file system, in a guest.

    Attributes:
        size_mb: of the file system and the disk.
        memory_mb: of the guest that makes it, which also holds the disk.
        steps: the programs, one after another.
    """

    kind: Literal["prepared"]
    memory_mb: int = Field(default=2048, ge=64, le=65_536)
    steps: tuple[PreparedStep, ...] = Field(min_length=1)


HostMade = (
    WiredTigerDataset
    | LevelDbDataset
    | FileDataset
    | EmptyDataset
    | DirectoryDataset
    | SourceDataset
)
DatasetSpec = Annotated[HostMade | PreparedDataset, Field(discriminator="kind")]
"""The table [dataset] of an experiment."""


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
    if not target.is_dir():
        with locked(target):
            if not target.is_dir():
                _make(spec, target, say)
    # When it was last used.
    os.utime(target)
    return target / IMAGE


def _key(spec: HostMade, note: Note) -> str:
    digest = hashlib.sha256(f"{FORMAT} {SEED} {spec.model_dump_json()}".encode())
    if spec.kind in LOADERS:
        # The loader decides the content, too; the name of its directory holds its digest.
        digest.update(guest_program(LOADERS[spec.kind], note).parent.name.encode())
    if isinstance(spec, SourceDataset):
        digest.update(get_source(spec.base, note=note).digest.encode())
    return digest.hexdigest()[:12]


LOADERS = {"wiredtiger": "ycsb_wiredtiger", "leveldb": "get_scan_leveldb"}


def _make(spec: HostMade, target: Path, note: Note) -> None:
    require_space(target.parent, 2 * spec.bytes + (64 << 20), f"preparing the {spec.kind} data")
    note(f"Preparing the {spec.kind} data, once: {spec.bytes >> 20} MB")
    with staged(target) as staging:
        data = staging / "data"
        data.mkdir()
        spec.fill(data, note)
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
