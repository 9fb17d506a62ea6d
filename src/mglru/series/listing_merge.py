# SPDX-License-Identifier: GPL-2.0-only
"""A new list of patches into an old `series` file: every comment stays with what it is about."""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mglru.series.listing_file import ListingEntry, SeriesFile


@dataclass(frozen=True)
class Exported:
    """What a patch is known by.

    Attributes:
        name: its file name.
        subject: the commit's first line.
        author: author and date, which survive a change of the subject.
    """

    name: str
    subject: str
    author: str


def merge_series(
    listing: SeriesFile, known: Sequence[Exported], exported: Sequence[Exported]
) -> tuple[SeriesFile, list[str]]:
    """Return the `series` file for `exported`, and notices for the user.

    Args:
        listing: the old file.
        known: what its patches are.
        exported: the new patches in order.

    A patch keeps its comment and its part. A new one joins the part of the patch before it,
    and so does one that was moved between patches of other parts. All lie in their part's folder.
    """
    partners = _match(known, exported)
    old = {entry.name: entry for entry in listing.entries}
    entries = [
        replace(old[partners[patch.name]], name=patch.name)
        if patch.name in partners
        else ListingEntry(patch.name, -1)
        for patch in exported
    ]
    parts = _assign_parts([entry.part for entry in entries])
    notices = _notices(listing, known, exported, partners)
    for patch, entry, part in zip(exported, entries, parts, strict=True):
        if entry.part not in (-1, part):
            title = listing.parts[part].title or "the first part"
            notices.append(f"moved into {title}: {patch.subject}")
    emptied = {entry.part for entry in listing.entries} - set(parts)
    titles = [listing.parts[index].title for index in sorted(emptied)]
    notices += [f"no patch is left in {title}" for title in titles if title]
    placed = tuple(
        replace(entry, part=part, folder=listing.folder_of(part))
        for entry, part in zip(entries, parts, strict=True)
    )
    return _with_orphans(listing, placed, {old: new for new, old in partners.items()}), notices


def _match(known: Sequence[Exported], exported: Sequence[Exported]) -> dict[str, str]:
    """Return the old file name for each new one: by subject, else by author and date."""
    partners: dict[str, str] = {}
    for key in ("subject", "author"):
        taken = set(partners.values())
        old = [patch for patch in known if patch.name not in taken]
        new = [patch for patch in exported if patch.name not in partners]
        counts = [Counter(getattr(patch, key) for patch in side) for side in (old, new)]
        by_key = {getattr(patch, key): patch.name for patch in old}
        for patch in new:
            value = getattr(patch, key)
            if counts[0][value] == counts[1][value] == 1:
                partners[patch.name] = by_key[value]
    return partners


def _assign_parts(own: Sequence[int]) -> list[int]:
    """Return a part for each patch, never decreasing, so that each part is one stretch.

    Most patches keep their own (a longest non-decreasing subsequence does); the others (-1:
    new) get that of the patch before, or at the very start that of the next that keeps its own.
    """
    keepers = _longest_rising(own)
    parts: list[int] = []
    for index, part in enumerate(own):
        if index in keepers:
            parts.append(part)
        elif parts:
            parts.append(parts[-1])
        else:
            parts.append(min((own[keeper] for keeper in keepers), default=0))
    return parts


def _longest_rising(values: Sequence[int]) -> set[int]:
    """Return the indices of a longest non-decreasing subsequence of the values from 0 up."""
    ends: list[int] = []  # ends[n]: the smallest value that ends a subsequence of length n + 1
    at: list[int] = []  # and its index
    before: dict[int, int | None] = {}
    for index, value in enumerate(values):
        if value < 0:
            continue
        length = bisect.bisect_right(ends, value)
        before[index] = at[length - 1] if length else None
        ends[length:] = [value] if length == len(ends) else [value, *ends[length + 1 :]]
        at[length:] = [index] if length == len(at) else [index, *at[length + 1 :]]
    found: set[int] = set()
    step = at[-1] if at else None
    while step is not None:
        found.add(step)
        step = before[step]
    return found


def _with_orphans(
    listing: SeriesFile, placed: tuple[ListingEntry, ...], new_names: dict[str, str]
) -> SeriesFile:
    """Keep the loose comments of patches that are gone; drop headings of parts that got empty."""
    parts, entries = list(listing.parts), {entry.name: entry for entry in placed}
    orphans: tuple[str, ...] = ()
    for entry in listing.entries:
        name = new_names.get(entry.name)
        if name is None and any(line.strip() for line in entry.loose):
            orphans = (*orphans, *entry.loose)
        elif name is not None and orphans:
            entries[name] = replace(entries[name], above=(*orphans, *entries[name].above))
            orphans = ()
    for index in {entry.part for entry in listing.entries} - {entry.part for entry in placed}:
        parts[index] = replace(parts[index], heading=())
    tail = (*orphans, *listing.tail)
    return replace(listing, parts=tuple(parts), entries=tuple(entries.values()), tail=tail)


def _notices(
    listing: SeriesFile,
    known: Sequence[Exported],
    exported: Sequence[Exported],
    partners: dict[str, str],
) -> list[str]:
    subjects = {patch.name: patch.subject for patch in known}
    notices = [f"new: {patch.subject}" for patch in exported if patch.name not in partners]
    for patch in exported:
        before = subjects.get(partners.get(patch.name, ""), patch.subject)
        if before != patch.subject:
            notices.append(f"new subject: {patch.subject} (was: {before})")
    kept = set(partners.values())
    for entry in listing.entries:
        if entry.name not in kept:
            own = f", with its comment {'; '.join(entry.own)}" if entry.own else ""
            notices.append(f"removed: {subjects.get(entry.name, entry.name)}{own}")
    return notices
