# SPDX-License-Identifier: GPL-2.0-only
"""The file `series`: names of patches in order, and comments that belong to them.

    # part 2: memcg LRU in O(1)
    # proof: lru_gen_bin_tail
    # checkpatch: FILE_PATH_CHANGES the new file is covered by the entry for mm/
    part2-memcg-lru/0003-mm-mglru-give-every-bin-a-tail.patch

All patches of a part lie in one folder, or beside the file. quilt reads it too: to quilt all of
these are comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

_HEADING = re.compile(r"#\s*(part\s+[^:]+:.*\S)\s*", re.IGNORECASE)
_DIRECTIVE = re.compile(r"#\s*(proof|checkpatch):\s*(.*?)\s*", re.IGNORECASE)
_NAME = re.compile(
    r"((?P<folder>\w[\w.+-]*)/)?(?P<name>[^\s#/][^\s/]*)"
    r"(?P<options>(\s+-\S+)*)(?P<comment>\s+#.*)?\s*"
)
_SYMBOL = re.compile(r"[A-Za-z_][\w.]*")


class SeriesFormatError(ValueError):
    """What is wrong in a `series` file."""


@dataclass(frozen=True)
class Part:
    """A part of the series.

    Attributes:
        title: `part 2: memcg LRU in O(1)`; empty for patches above the first heading.
        heading: the lines from the patch before to the heading, and from there to the last
            blank line above the part's first patch.
    """

    title: str
    heading: tuple[str, ...]


@dataclass(frozen=True)
class ListingEntry:
    """One patch in the list.

    Attributes:
        name: the patch's file name; no two patches have the same.
        part: index in `SeriesFile.parts`.
        above: the lines between this patch and the patch or heading before.
        rest: what follows the name on its line.
        folder: where the file lies; empty: beside the `series` file.
    """

    name: str
    part: int
    above: tuple[str, ...] = ()
    rest: str = ""
    folder: str = ""

    @property
    def path(self) -> str:
        """The file, relative to the `series` file."""
        return f"{self.folder}/{self.name}" if self.folder else self.name

    @property
    def own(self) -> tuple[str, ...]:
        """The comment directly above: it belongs to the patch and goes where the patch goes."""
        return self.above[len(self.loose) :]

    @property
    def loose(self) -> tuple[str, ...]:
        """The lines above that, up to and with the last blank one."""
        blank = [index for index, line in enumerate(self.above) if not line.strip()]
        return self.above[: blank[-1] + 1] if blank else ()

    def values(self, directive: str) -> list[str]:
        """Return what follows `# <directive>:` in the patch's own comment."""
        found = [_DIRECTIVE.fullmatch(line.strip()) for line in self.own]
        return [match[2] for match in found if match and match[1].lower() == directive]


@dataclass(frozen=True)
class SeriesFile:
    """The whole file. `parse(text).render() == text` for a text that ends in a newline.

    Attributes:
        parts: in order; the first is for patches above any heading.
        entries: the patches, in order.
        header: lines at the top that belong to no patch.
        tail: lines after the last patch.
    """

    parts: tuple[Part, ...]
    entries: tuple[ListingEntry, ...]
    header: tuple[str, ...] = ()
    tail: tuple[str, ...] = ()

    def folder_of(self, part: int) -> str:
        """Return where the patches of a part lie."""
        return next((entry.folder for entry in self.entries if entry.part == part), "")

    def render(self) -> str:
        """Return the file's text: each heading before the first patch of its part."""
        lines = list(self.header)
        for index, part in enumerate(self.parts):
            lines += part.heading
            for entry in self.entries:
                if entry.part == index:
                    lines += [*entry.above, entry.path + entry.rest]
        return "".join(f"{line}\n" for line in (*lines, *self.tail))


def parse(text: str) -> SeriesFile:
    """Read a `series` file.

    Raises:
        SeriesFormatError: a line that is neither a name nor a comment, an option other than
            -p1, a patch named twice, a part that lies in two folders, or a `# proof:` or
            `# checkpatch:` with no patch below.
    """
    parts = [Part("", ())]
    entries: list[ListingEntry] = []
    lines = text.splitlines()
    header = lines[: _header_length(lines)]
    pending: list[str] = []
    _refuse_directives(header)
    for number, line in enumerate(lines[len(header) :], len(header) + 1):
        heading = _HEADING.fullmatch(line.strip())
        if heading:
            _refuse_directives(pending)
            parts.append(Part(" ".join(heading[1].split()), (*pending, line)))
            pending = []
        elif not line.strip() or line.lstrip().startswith("#"):
            pending.append(line)
        else:
            entry = _entry(number, line, len(parts) - 1, pending)
            _refuse_directives(entry.loose)
            if parts[-1].heading and (not entries or entries[-1].part != entry.part):
                heading_lines = (*parts[-1].heading, *entry.loose)
                parts[-1] = replace(parts[-1], heading=heading_lines)
                entry = replace(entry, above=entry.own)
            entries.append(entry)
            pending = []
    _refuse_directives(pending)
    _refuse_repetition(entry.name for entry in entries)
    listing = SeriesFile(tuple(parts), tuple(entries), tuple(header), tuple(pending))
    _refuse_scattered(listing)
    return listing


def _header_length(lines: Sequence[str]) -> int:
    """The top of the file belongs to no patch: the licence, and all up to the last blank line."""
    length = 0
    for index, line in enumerate(lines):
        if (line.strip() and not line.lstrip().startswith("#")) or _HEADING.fullmatch(line.strip()):
            break
        if not line.strip() or (index == 0 and "SPDX-License-Identifier" in line):
            length = index + 1
    return length


def _entry(number: int, line: str, part: int, above: Sequence[str]) -> ListingEntry:
    match = _NAME.fullmatch(line.strip())
    if not match:
        raise SeriesFormatError(f"line {number}: '{line.strip()}' is not the name of a patch")
    if (match["options"] or "").split() not in ([], ["-p1"]):
        raise SeriesFormatError(
            f"line {number}: '{match['options'].strip()}': patches are applied with -p1 only"
        )
    rest = (match["options"] or "") + (match["comment"] or "")
    return ListingEntry(match["name"], part, tuple(above), rest, match["folder"] or "")


def _refuse_directives(lines: Iterable[str]) -> None:
    """A proof that belongs to no patch would prove nothing, without anybody noticing."""
    for line in lines:
        if _DIRECTIVE.fullmatch(line.strip()):
            raise SeriesFormatError(f"'{line.strip()}' does not stand directly above a patch")


def _refuse_repetition(names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise SeriesFormatError(f"{name} is listed twice")
        seen.add(name)


def _refuse_scattered(listing: SeriesFile) -> None:
    """An export would not know which folder a part's new patch belongs to."""
    for entry in listing.entries:
        folder = listing.folder_of(entry.part)
        if entry.folder != folder:
            title = listing.parts[entry.part].title or "the first part"
            raise SeriesFormatError(
                f"{entry.path}: the other patches of {title} lie in '{folder or '.'}'"
            )


def proofs(entry: ListingEntry) -> tuple[str, ...]:
    """Return the symbols of the `# proof:` lines of a patch.

    Raises:
        SeriesFormatError: not a symbol.
    """
    symbols = [symbol for value in entry.values("proof") for symbol in value.split() or [""]]
    for symbol in symbols:
        if not _SYMBOL.fullmatch(symbol):
            raise SeriesFormatError(f"{entry.name}: '# proof: {symbol}' names no kernel symbol")
    return tuple(symbols)


def allowances(entry: ListingEntry) -> tuple[tuple[str, str], ...]:
    """Return (type, reason) of the `# checkpatch:` lines of a patch.

    Raises:
        SeriesFormatError: no type, or no reason.
    """
    found = []
    for value in entry.values("checkpatch"):
        kind, _, reason = value.partition(" ")
        if not re.fullmatch(r"[A-Z][A-Z0-9_]*", kind) or not reason.strip():
            raise SeriesFormatError(
                f"{entry.name}: '# checkpatch: {value}' must name a type and a reason"
            )
        found.append((kind, reason.strip()))
    return tuple(found)
