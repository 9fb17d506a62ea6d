# SPDX-License-Identifier: GPL-2.0-only
"""Trying the series on the kernel versions that Debian's suites offer, one after the other."""

from __future__ import annotations

import contextlib
import datetime
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from mglru.build.build import Build, tree_home
from mglru.checks.releases.tested import Outcome, Tested, series_mark
from mglru.core.cache import remove
from mglru.core.errors import ExitCode, LabError
from mglru.core.paths import cache_dir, locked, require_space
from mglru.core.ui import Ui
from mglru.debian import archive
from mglru.series.apply import PatchError
from mglru.series.listing import Series
from mglru.series.overlay import make_overlay
from mglru.source.trees import UNPACKED_BYTES, Source, debian_source, unpack_deb

T = TypeVar("T")
# Whatever has a kernel for users: what is only proposed changes without notice.
SUITES = (
    *("bookworm", "bookworm-updates", "bookworm-security", "bookworm-backports"),
    *("trixie", "trixie-updates", "trixie-security"),
)


@dataclass(frozen=True)
class Candidate:
    """A version to try the series on.

    Attributes:
        version: of the kernel, `6.12.117`.
        package_version: of Debian's package, the newest with that version.
        suites: those that have that version, in whatever revision.
    """

    version: str
    package_version: str
    suites: tuple[str, ...]


def package_name(base: str) -> str:
    """Return the package of Debian's that has the source of a base."""
    return f"linux-source-{base}"


def candidates(offers: Sequence[archive.Offer]) -> tuple[Candidate, ...]:
    """Return one candidate for each kernel version.

    Args:
        offers: of the package with the source, the newest first.
    """
    found: dict[str, Candidate] = {}
    for offer in offers:
        version = offer.version.partition(":")[2] or offer.version
        version = version.partition("-")[0]
        known = found.setdefault(version, Candidate(version, offer.version, ()))
        suites = tuple(dict.fromkeys((*known.suites, *offer.suites)))
        found[version] = Candidate(version, known.package_version, suites)
    return tuple(found.values())


@contextlib.contextmanager
def source_of(
    base: str, candidate: Candidate, suites: Sequence[str], ui: Ui, *, keep: bool = False
) -> Iterator[Source]:
    """Give the source of a candidate; what this downloads is removed when the block ends.

    Args:
        base: `6.12`.
        candidate: which.
        suites: where from.
        ui: told of the download.
        keep: leave the source and the tree that it is built in (2.3 GB) in the cache.

    Raises:
        LabError: no network, or no space.
    """
    at_hand = cache_dir("sources", base) / candidate.package_version
    if at_hand.is_dir():
        yield debian_source(base, candidate.package_version, at_hand)
        return
    target = cache_dir("tested", base) / candidate.package_version
    with locked(target):
        downloaded = not target.is_dir()
        if downloaded:
            _download(package_name(base), candidate, suites, target, ui)
        source = debian_source(base, candidate.package_version, target)
        try:
            yield source
        finally:
            if downloaded and not keep:
                for directory in (target, tree_home(source)):
                    if directory.is_dir():
                        remove(directory)


def _download(
    package: str, candidate: Candidate, suites: Sequence[str], target: Path, ui: Ui
) -> None:
    require_space(target.parent, UNPACKED_BYTES, f"the source of Linux {candidate.version}")
    ui.note(f"downloading {package} {candidate.package_version} from Debian (about 160 MB)")
    with tempfile.TemporaryDirectory(prefix=".download.", dir=target.parent) as scratch:
        deb = archive.fetch(package, suites, Path(scratch), candidate.package_version)
        unpack_deb(deb, package, target)


def how_it_applies(source: Path, series: Series, ancestor: Path | None) -> tuple[Outcome, str]:
    """Return how the patches apply to a source, and why they do not.

    Args:
        source: the pristine tree.
        series: the patches.
        ancestor: the tree that the series was made on, for a three-way merge.
    """
    with tempfile.TemporaryDirectory(prefix="mglru-apply-") as scratch:
        try:
            overlay = make_overlay(source, series.patches, Path(scratch) / "exact")
        except PatchError as error:
            return _merges(source, series, ancestor, Path(scratch)) or ("no", error.what)
    return ("offsets" if overlay.offsets else "clean"), ""


def _merges(
    source: Path, series: Series, ancestor: Path | None, scratch: Path
) -> tuple[Outcome, str] | None:
    with contextlib.suppress(PatchError):
        make_overlay(source, series.patches, scratch / "merged", three_way=True, ancestor=ancestor)
        return "three-way", ""
    return None


def try_series(
    candidate: Candidate,
    source: Source,
    series: Series,
    *,
    ancestor: Path | None,
    build: Callable[[Source], Build] | None,
    boot: Callable[[Build], Sequence[str]] | None,
) -> Tested:
    """Try a series on one source: does it apply, does the kernel build, does it boot?

    Args:
        candidate: what the source is of.
        source: the pristine tree.
        series: the patches.
        ancestor: the tree that the series was made on.
        build: builds the kernel with the whole series; None: do not try.
        boot: boots it, puts it to work and returns what went wrong; None: do not try.

    Raises:
        LabError: interrupted.
    """
    applies, reason = how_it_applies(source.path, series, ancestor)
    builds = boots = None
    if applies != "no" and build:
        built, reason = _attempt(lambda: build(source))
        builds = built is not None
        if built is not None and boot:
            trouble, reason = _attempt(lambda: boot(built))
            reason = reason or "; ".join(trouble or ())
            boots = not reason
    return Tested(
        version=candidate.version,
        origin=source.origin,
        suites=candidate.suites,
        series=series_mark(series),
        applies=applies,
        builds=builds,
        boots=boots,
        date=datetime.datetime.now(datetime.UTC).date(),
        reason=reason,
    )


def _attempt(action: Callable[[], T]) -> tuple[T | None, str]:
    """Return what an action gives, or why it failed; an interrupt is passed on."""
    try:
        return action(), ""
    except LabError as error:
        if error.exit_code == ExitCode.INTERRUPTED:
            raise
        errors = [line.strip() for line in error.log_tail if " error: " in line]
        return None, ": ".join([error.what, *errors[:1]])
