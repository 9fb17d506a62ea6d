# SPDX-License-Identifier: GPL-2.0-only
"""The sequence of page accesses of a run, from what guest/tools/recorder.c wrote down."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mglru.core.errors import LabError
from mglru.guest.events import BEGIN, END

Records = npt.NDArray[np.void]
Pages = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class AccessKind(IntEnum):
    """What an event was; the same numbers are in guest/tools/recorder.c."""

    READ = 0
    WRITE = 1
    FAULT = 2
    MAP = 3  # pages around a fault that were mapped with it
    ADD = 4  # a page came into the page cache
    MARK = 5  # a guest program reached a phase


RECORD = np.dtype(
    [("inode", "<u8"), ("index", "<u4"), ("pages", "<u4"), ("pid", "<u4"), ("kind", "<u4")]
)
"""One event: which pages (from `index` on) of which file, by which thread."""

JOIN = "join"
PAGE_BITS = 32


@dataclass(frozen=True)
class Accesses:
    """Page accesses in the order in which they happened, and what the kernel did with them.

    Attributes:
        pages: shape (accesses,): which page, numbered from 0.
        begin: position of the first access of the measured part.
        end: position after its last one.
        faults: how many accesses of the measured part were page faults.
        missed: how many of them found a page that had come into the cache since its last access,
            by that access or by reading ahead for it.
        unused: how many pages came into the cache in the measured part and were not accessed.
    """

    pages: Pages
    begin: int
    end: int
    faults: int
    missed: int
    unused: int

    @property
    def measured(self) -> Pages:
        """The accesses of the measured part."""
        return self.pages[self.begin : self.end]

    @property
    def distinct(self) -> int:
        """How many different pages there are."""
        return int(self.pages.max(initial=-1)) + 1

    @cached_property
    def first_time(self) -> int:
        """How many accesses of the measured part are the first ones to their page.

        No cache can have such a page, and none has a shadow of it: a miss, but no refault.
        """
        _pages, first = np.unique(self.pages, return_index=True)
        return int(((first >= self.begin) & (first < self.end)).sum())


def read_accesses(path: Path) -> Accesses:
    """Read the accesses of the cgroup under test: those after its first process joined it.

    Left out are repeated looks at pages that one read is still waiting for, one thread's
    accesses to a page right after its last one to the same page, also where a read goes on in the
    page in which the one before ended (as the kernel does, which marks a page accessed once), and
    what lies beyond the end of a file.

    Raises:
        LabError: the file is not whole, or lacks the marks of the measured part.
    """
    recording = _Recording.of(path)
    touched, measured = recording.touched, recording.measured
    missed, unused = recording.fate
    at = np.flatnonzero(~touched.added & recording.wanted)
    positions = touched.positions[at]
    _keys, pages = np.unique(touched.keys[at], return_inverse=True)
    return Accesses(
        pages=pages,
        begin=int(np.searchsorted(positions, recording.begin)),
        end=int(np.searchsorted(positions, recording.end)),
        faults=int((recording.kinds[at] == AccessKind.FAULT)[measured[at]].sum()),
        missed=int((missed & measured).sum()),
        unused=int((unused & measured).sum()),
    )


@dataclass(frozen=True)
class Requests:
    """What a model of a kernel gets: accesses, and when pages came in, as that kernel did it.

    Attributes:
        pages: shape (requests,): which page, numbered from 0.
        ahead: shape (requests,): whether it came in just then, to be used, if at all, later.
        begin: position of the first request of the measured part; what follows that is left out.
        arrived: how many pages came into the kernel's cache in the measured part.
    """

    pages: Pages
    ahead: Flags
    begin: int
    arrived: int

    @property
    def measured(self) -> int:
        """How many requests the measured part has."""
        return len(self.pages) - self.begin


def read_requests(path: Path) -> Requests:
    """Read the accesses of the cgroup under test with the arrivals of pages between them.

    Raises:
        LabError: see `read_accesses`.
    """
    recording = _Recording.of(path)
    touched = recording.touched
    inside = (touched.positions >= recording.joined) & (touched.positions < recording.end)
    at = np.flatnonzero(recording.wanted & inside)
    _keys, pages = np.unique(touched.keys[at], return_inverse=True)
    return Requests(
        pages=pages,
        ahead=touched.added[at],
        begin=int(np.searchsorted(touched.positions[at], recording.begin)),
        arrived=int((touched.added & recording.measured).sum()),
    )


@dataclass(frozen=True)
class _Recording:
    """A file of the recorder, taken apart; arrays have an element for each page touched.

    Attributes:
        touched: accesses and arrivals of single pages.
        kinds: of each, what it was.
        fate: see `_Touched.fate`.
        wanted: whether it counts: not what repeats an access or lies beyond the end of a file.
        joined, begin, end: positions of records: of the first join, and of the measured part.
    """

    touched: _Touched
    kinds: npt.NDArray[np.uint32]
    fate: tuple[Flags, Flags]
    wanted: Flags
    joined: int
    begin: int
    end: int

    @classmethod
    def of(cls, path: Path) -> _Recording:
        if path.stat().st_size % RECORD.itemsize:
            raise LabError(f"{path} is cut off", next_step="record again; see the console log")
        records = np.fromfile(path, dtype=RECORD)
        joined, begin, end = _marks(records)
        kinds = records["kind"]
        pairs = _Pairs.of(records)
        looks = np.isin(
            kinds, (AccessKind.READ, AccessKind.WRITE, AccessKind.FAULT)
        ) & ~pairs.repeated(len(records))
        looks[:joined] = False
        touched = _Touched.of(records, np.flatnonzero(looks | (kinds == AccessKind.ADD)))
        fate = touched.fate()
        continued = pairs.continued(len(records))[touched.positions]
        again = touched.first_pages & continued & ~fate[0]
        wanted = touched.exists & ~again
        return cls(touched, kinds[touched.positions], fate, wanted, joined, begin, end)

    @property
    def measured(self) -> Flags:
        """Whether it is of the measured part."""
        inside: Flags = (self.touched.positions >= self.begin) & (self.touched.positions < self.end)
        return inside


@dataclass(frozen=True)
class _Touched:
    """Accesses and arrivals of single pages; every array has one element for each.

    Attributes:
        keys: identifies the page.
        positions: of the record.
        added: whether the page arrived (else it was accessed).
        writers: the thread, of a write or an arrival; 0 else.
        first_pages: whether it is the first page of its record.
    """

    keys: npt.NDArray[np.uint64]
    positions: Pages
    added: Flags
    writers: Pages
    first_pages: Flags

    @classmethod
    def of(cls, records: Records, at: Pages) -> _Touched:
        keys, origin = _expand(records[at])
        positions = at[origin]
        kinds = records["kind"][positions]
        writes = np.isin(kinds, (AccessKind.WRITE, AccessKind.ADD))
        writers = np.where(writes, records["pid"][positions], 0)
        first_pages = np.diff(origin, prepend=-1) > 0
        return cls(keys, positions, kinds == AccessKind.ADD, writers, first_pages)

    @property
    def exists(self) -> Flags:
        """Whether the page ever arrived: what never did lies beyond the end of its file."""
        there: Flags = np.isin(self.keys, self.keys[self.added])
        return there

    def fate(self) -> tuple[Flags, Flags]:
        """Tell the accesses that were misses, and the arrivals that nobody used."""
        order = np.argsort(self.keys, kind="stable")
        keys, added = self.keys[order], self.added[order]
        same = keys[:-1] == keys[1:]
        # A write is recorded before the page that it brings in.
        own = same & ~added[:-1] & added[1:] & (self.writers[order][:-1] == self.writers[order][1:])
        added[:-1][own], added[1:][own] = True, False
        order[:-1][own], order[1:][own] = order[1:][own], order[:-1][own]
        missed = np.zeros(len(keys), dtype=bool)
        unused = np.zeros(len(keys), dtype=bool)
        missed[order[1:]] = same & added[:-1] & ~added[1:]
        unused[order] = added
        unused[order[:-1]] &= ~(same & ~added[1:])
        return missed, unused


def _marks(records: Records) -> tuple[int, int, int]:
    """Return the positions of the first join and of the measured part's ends."""
    at = np.flatnonzero(records["kind"] == AccessKind.MARK)
    names = [int(records["inode"][i]).to_bytes(8, "little") for i in at]
    marks = [name.partition(b"\0")[0].decode(errors="replace").strip() for name in names]
    found = {mark: int(position) for mark, position in zip(reversed(marks), at[::-1], strict=True)}
    if missing := [name for name in (BEGIN, END) if name not in found]:
        raise LabError(
            f"the recording has no mark of phase {' and '.join(missing)}",
            next_step="let the run come to its end; see its console log",
        )
    return found.get(JOIN, 0), found[BEGIN], found[END]


@dataclass(frozen=True)
class _Pairs:
    """Two reads each of one file by one thread, one right after the other.

    Attributes:
        second: positions of the second reads' records; the other arrays have an element for each.
        first: first pages, of both reads.
        last: one beyond the last pages, of both reads.
    """

    second: Pages
    first: tuple[Pages, Pages]
    last: tuple[Pages, Pages]

    @classmethod
    def of(cls, records: Records) -> _Pairs:
        at = np.flatnonzero(records["kind"] == AccessKind.READ)
        at = at[np.argsort(records["pid"][at], kind="stable")]
        first = records["index"][at].astype(np.int64)
        last = first + records["pages"][at]
        before, after = slice(None, -1), slice(1, None)
        same = np.ones(max(len(at) - 1, 0), dtype=bool)
        for name in ("pid", "inode"):
            values = records[name][at]
            same &= values[before] == values[after]
        return cls(
            at[after][same],
            (first[before][same], first[after][same]),
            (last[before][same], last[after][same]),
        )

    def repeated(self, records: int) -> Flags:
        """Tell, of all records, the second reads that go on with, or repeat, the first.

        A read that has to wait for a page looks at the rest of its pages again; a reader of small
        pieces looks at one page many times.
        """
        (before, first), (end, last) = self.first, self.last
        # A whole read of several pages that comes twice is two reads.
        whole = (before == first) & (last - first > 1)
        return self._flags(records, (end == last) & (before <= first) & ~whole)

    def continued(self, records: int) -> Flags:
        """Tell, of all records, the second reads that begin in the page where the first ended."""
        return self._flags(records, self.first[1] == self.last[0] - 1)

    def _flags(self, records: int, chosen: Flags) -> Flags:
        flags = np.zeros(records, dtype=bool)
        flags[self.second[chosen]] = True
        return flags


def _expand(records: Records) -> tuple[npt.NDArray[np.uint64], Pages]:
    """Return a key for each page of each record, and the position of its record."""
    counts = records["pages"].astype(np.int64)
    origin = np.repeat(np.arange(len(records)), counts)
    starts = np.cumsum(counts) - counts
    index = records["index"].astype(np.int64)[origin] + np.arange(len(origin)) - starts[origin]
    inodes = records["inode"].astype(np.uint64)[origin]
    return inodes << np.uint64(PAGE_BITS) | index.astype(np.uint64), origin
