# SPDX-License-Identifier: GPL-2.0-only
"""`patches/<base>/tested.toml`: on which point releases the series was tried, and how it went."""

from __future__ import annotations

import datetime
import tomllib
from pathlib import Path
from typing import Literal

import pydantic

from mglru.core import paths
from mglru.core.errors import LabError
from mglru.series.listing import Series

TESTED_FILE = "tested.toml"
Outcome = Literal["clean", "offsets", "three-way", "no"]
_IN_WORDS: dict[Outcome, str] = {
    "clean": "applies exactly",
    "offsets": "applies, some hunks at other lines",
    "three-way": "applies by three-way merge only",
    "no": "does not apply",
}


class Tested(pydantic.BaseModel):
    """One `[[tested]]` table.

    Attributes:
        version: the kernel version (`6.12.117`).
        origin: where its source came from, as `linux-source-6.12 6.12.117-1~deb12u1`.
        suites: which of Debian's suites had this version then, in whatever revision.
        series: digest of the series that was tried (`series_mark`).
        applies: how the patches applied.
        builds: whether the kernel with the whole series built; None if that was not tried.
        boots: whether it booted; None if that was not tried.
        date: when.
        reason: of what did not go well; the machine's words.
        note: anything else to know, from people; the machine keeps it.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    version: str = pydantic.Field(pattern=r"^\d+\.\d+\.\d+$")
    origin: str = ""
    suites: tuple[str, ...] = ()
    series: str = ""
    applies: Outcome
    builds: bool | None = None
    boots: bool | None = None
    date: datetime.date
    reason: str = ""
    note: str = ""

    @property
    def good(self) -> bool:
        """Whether nothing that was tried went wrong."""
        return self.applies != "no" and self.builds is not False and self.boots is not False

    @property
    def words(self) -> str:
        """How it went, in words."""
        words = [_IN_WORDS[self.applies]]
        for verb, went in (("build", self.builds), ("boot", self.boots)):
            if went is not None:
                words.append(f"{verb}s" if went else f"does not {verb}")
        return ", ".join(words) + f" ({self.date})"


class _File(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")

    tested: tuple[Tested, ...] = ()


def tested_versions(base: str, directory: Path | None = None) -> tuple[Tested, ...]:
    """Read the record of tried versions, the newest version first; an absent file is empty.

    Raises:
        LabError: the file cannot be understood.
    """
    path = (directory or paths.PATCHES / base) / TESTED_FILE
    if not path.is_file():
        return ()
    try:
        tested = _File.model_validate(tomllib.loads(path.read_text())).tested
    except (tomllib.TOMLDecodeError, pydantic.ValidationError, UnicodeDecodeError) as error:
        raise LabError(
            f"{path} cannot be read: {error}", next_step="see docs/series/patches.md for its format"
        ) from error
    return tuple(sorted(tested, key=lambda entry: version_numbers(entry.version), reverse=True))


def version_numbers(version: str) -> tuple[int, ...]:
    """Return what versions are sorted by: `6.12.9` comes before `6.12.10`."""
    return tuple(int(number) for number in version.split("."))


def series_mark(series: Series) -> str:
    """Return how a state of the series is called in the file: what it changes, not its texts."""
    return series.sha256[:12]


def describe_source(
    base: str, version: str, directory: Path | None = None, series: Series | None = None
) -> str:
    """Return a sentence that says whether the series was tried on this version.

    Args:
        base: `6.12`.
        version: `6.12.117`.
        directory: where tested.toml lies; `patches/<base>` if None.
        series: as it is now, to tell whether the record is of an earlier state of it.
    """
    tested = tested_versions(base, directory)
    for entry in tested:
        if entry.version == version:
            remarks = "; ".join(filter(None, (entry.reason, entry.note)))
            earlier = series and entry.series and entry.series != series_mark(series)
            return (
                f"{'An earlier state of the' if earlier else 'The'} series was tried on "
                f"Linux {version}: {entry.words}"
                f"{f': {remarks}' if remarks else ''}."
            )
    if not tested:
        return f"It is not recorded on which {base}.y the series was tried."
    nearest = min(tested, key=lambda entry: _distance(entry.version, version))
    return (
        f"The series was not tried on Linux {version}; "
        f"the nearest that it was tried on is {nearest.version}: {nearest.words}."
    )


def _distance(one: str, other: str) -> tuple[int, ...]:
    return tuple(
        abs(a - b) for a, b in zip(version_numbers(one), version_numbers(other), strict=False)
    )
