# SPDX-License-Identifier: GPL-2.0-only
"""Step 2, series: the patches of `patches/<base>/`, in order, with what is known of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from mglru.core import paths
from mglru.core.errors import LabError, UsageError
from mglru.core.keys import sha256_of
from mglru.series import listing_file
from mglru.series.listing_file import SeriesFile, SeriesFormatError
from mglru.series.patch import PatchFormatError, diff_of, read_changes, read_message
from mglru.source.kernel_id import KernelId

SERIES_FILE = "series"


@dataclass(frozen=True)
class Patch:
    """One patch of a series.

    Attributes:
        number: its place in the series, from 1.
        path: the file.
        subject: the commit's first line.
        part: the part it belongs to, as `part 2: memcg LRU in O(1)`; may be empty.
        proofs: kernel symbols that exist only in a kernel with this patch.
        content: what the file held when it was read.
        allowed: (type, reason) of the checkpatch findings that are accepted.
    """

    number: int
    path: Path
    subject: str
    part: str
    proofs: tuple[str, ...]
    content: bytes = field(repr=False)
    allowed: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.name


@dataclass(frozen=True)
class Series:
    """Patches for one base, in order.

    Attributes:
        base: the kernel version they are for (`6.12`).
        patches: may be empty (a stock kernel).
        left_out: the patches that follow, if this is only the start of a series.
    """

    base: str
    patches: tuple[Patch, ...]
    left_out: tuple[Patch, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The patches' file names."""
        return tuple(patch.name for patch in self.patches)

    @property
    def sha256(self) -> str:
        """Digest of what the patches change, in order; names and messages do not count.

        A message can get the figures that were measured without making another kernel.
        """
        return sha256_of(*(bytes.fromhex(sha256_of(diff_of(p.content))) for p in self.patches))

    @property
    def part_ends(self) -> tuple[int, ...]:
        """The numbers of the patches with which a part ends, the last of the series among them."""
        following = (*(patch.part for patch in self.patches[1:]), None)
        pairs = zip(self.patches, following, strict=False)
        return tuple(patch.number for patch, part in pairs if patch.part != part)

    @property
    def kernel(self) -> KernelId:
        """The kernel that one gets with these patches."""
        upto = len(self.patches) if self.left_out else None
        return KernelId(self.base, series=bool(self.patches), upto=upto)

    def first(self, count: int | None) -> Series:
        """Return the series cut after `count` patches (None: the whole).

        Raises:
            UsageError: there are not so many, or none is asked for.
        """
        if count is None:
            return self
        if not 1 <= count <= len(self.patches):
            raise UsageError(
                f"{self.base}+next:{count}: the series has {len(self.patches)} patches",
                next_step=f"name {self.base}+next:1 to {self.base}+next:{len(self.patches)}, "
                f"or {self.base} for the kernel without patches",
            )
        return Series(self.base, self.patches[:count], (*self.patches[count:], *self.left_out))


def load_series(base: str, directory: Path | None = None, *, required: bool = True) -> Series:
    """Read our series for a base.

    Args:
        base: `6.12`.
        directory: where it lies; `patches/<base>` if None.
        required: whether a missing or empty series is an error.

    Raises:
        LabError: there is none, or a patch is missing, not listed, empty, or not a patch.
    """
    directory = (directory or paths.PATCHES / base).absolute()  # git runs elsewhere
    patches = _load(directory)
    if required and not patches:
        raise LabError(
            f"there is no series for Linux {base}: {directory / SERIES_FILE} lists no patch",
            next_step=f"use the stock kernel {base}, or start a series: docs/series/patches.md",
        )
    return Series(base, patches)


def load_lab_series(base: str, directory: Path | None = None) -> Series:
    """Read the lab-only patches that every kernel of a base gets; there may be none.

    Raises:
        LabError: as `load_series`, except that an empty or absent one is fine.
    """
    return load_series(base, directory or paths.PATCHES / "lab" / base, required=False)


def read_series_file(directory: Path) -> SeriesFile:
    """Read the file `series` of a directory; an absent one is an empty one.

    Raises:
        LabError: it cannot be understood.
    """
    path = directory / SERIES_FILE
    try:
        return listing_file.parse(path.read_text() if path.exists() else "")
    except (SeriesFormatError, UnicodeDecodeError) as error:
        raise LabError(
            f"{path}: {error}", next_step="see docs/series/patches.md for its format"
        ) from error


def _load(directory: Path) -> tuple[Patch, ...]:
    listing = read_series_file(directory)
    _refuse_unlisted(directory, listing)
    return tuple(
        _load_patch(directory, number, entry, listing.parts[entry.part].title)
        for number, entry in enumerate(listing.entries, 1)
    )


def _refuse_unlisted(directory: Path, listing: SeriesFile) -> None:
    listed = {entry.path for entry in listing.entries}
    there = {str(path.relative_to(directory)) for path in directory.rglob("*.patch")}
    unlisted = sorted(there - listed)
    if unlisted:
        raise LabError(
            f"{directory / SERIES_FILE} does not list {', '.join(unlisted)}",
            next_step="list it at its place, or remove the file",
        )


def _load_patch(directory: Path, number: int, entry: listing_file.ListingEntry, part: str) -> Patch:
    path, listed_in = directory / entry.path, directory / SERIES_FILE
    try:
        content = path.read_bytes()
    except OSError as error:
        raise LabError(
            f"{listed_in} lists {entry.path}, which cannot be read: {error.strerror}",
            next_step="restore the file, or take its line out",
        ) from error
    if not content.strip():
        raise LabError(f"{path} is empty", next_step="restore it, or take its line out")
    try:
        message = read_message(content)
        read_changes(content)
        proofs, allowed = listing_file.proofs(entry), listing_file.allowances(entry)
    except PatchFormatError as error:
        raise LabError(
            f"{path} is not a patch that git format-patch wrote: {error}",
            next_step="export it from a tree: ./mglru kernel tree, ./mglru kernel export",
        ) from error
    except SeriesFormatError as error:
        raise LabError(f"{listed_in}: {error}", next_step="see docs/series/patches.md") from error
    return Patch(number, path, message.subject, part, proofs, content, allowed)
