# SPDX-License-Identifier: GPL-2.0-only
"""What an experiment's [dataset] says: what is on the guest's disk when a run starts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

IMAGE = "image"
# Where a DirectoryDataset has the copy, and where the programs' temporary files go.
WORK = "work"
TMP = "tmp"
# Where a SourceDataset has its directories.
TREE = "tree"


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

    @property
    def bytes(self) -> int:
        """About how much is written."""
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

    @property
    def bytes(self) -> int:
        """About how much is written, with what LevelDB rewrites on the way."""
        return 2 * self.records * (self.value_bytes + 40)


class FileDataset(_Dataset):
    """One file named `file`, of bytes that do not compress.

    Attributes:
        size_mb: of the file system and the disk.
        file_mb: of the file.
    """

    kind: Literal["file"]
    file_mb: int = Field(gt=0)

    @property
    def bytes(self) -> int:
        """How much is written."""
        return self.file_mb << 20


class EmptyDataset(_Dataset):
    """An empty file system."""

    kind: Literal["empty"]

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

    @property
    def bytes(self) -> int:
        """How much is copied."""
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

    @property
    def bytes(self) -> int:
        """The most that can be copied."""
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
