# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru series tested`: versions of a base in, a record of each out, kept in tested.toml."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mglru.checks.releases import file as tested_file
from mglru.checks.releases.attempt import SUITES, Candidate, candidates, package_name
from mglru.checks.releases.tested import Tested, tested_versions
from mglru.checks.releases.trial import ReleaseTrial
from mglru.core import paths
from mglru.core.errors import UsageError
from mglru.core.ui import Ui
from mglru.debian import archive, packages
from mglru.series.listing import load_series
from mglru.source.kernel_id import KernelId


@dataclass(frozen=True)
class WantedTrial:
    """What is to be tried.

    Attributes:
        base: `6.12`.
        suites: only versions that one of these suites of Debian's has; none: of all.
        versions: only these; none: all.
        build: also build the kernels.
        boot: also boot what was built.
        again: also what was tried with this very series before.
        keep: leave sources and build trees in the cache.
        dry_run: leave tested.toml as it is.
    """

    base: str
    suites: Sequence[str] = ()
    versions: Sequence[str] = ()
    build: bool = True
    boot: bool = True
    again: bool = False
    keep: bool = False
    dry_run: bool = False


def try_versions(wanted: WantedTrial, ui: Ui) -> list[Tested]:
    """Try a series on the versions that Debian offers, and record each as soon as it was tried.

    Raises:
        UsageError: a base, a suite or a version that there is not.
        LabError: no network, no space, no compiler.
    """
    packages.ensure(packages.KERNEL_BUILD, ui)
    series = load_series(KernelId.parse(f"{wanted.base}+next").base)
    present = _present(wanted.suites, ui)
    found = _chosen(wanted, present)
    ui.note(f"{package_name(wanted.base)}: " + ", ".join(each.version for each in found))
    trial = ReleaseTrial(
        wanted.base, series, ui, build=wanted.build, boot=wanted.boot and wanted.build
    )
    entries = []
    for candidate in found:
        entry = None if wanted.again else trial.known(candidate)
        if entry is None:
            entry = trial.run(candidate, present, keep=wanted.keep)
            _write(entry, paths.PATCHES / wanted.base, ui, dry_run=wanted.dry_run)
        entries.append(entry)
    return entries


def _present(wanted: Sequence[str], ui: Ui) -> list[str]:
    """Return all suites that the mirrors have: a version is recorded with all that have it.

    Raises:
        UsageError: one that was asked for is not there.
    """
    present = []
    for suite in dict.fromkeys((*SUITES, *wanted)):
        if archive.has_suite(suite):
            present.append(suite)
        elif suite in wanted:
            raise UsageError(f"Debian's mirrors have no suite {suite}", next_step="correct --suite")
        else:
            ui.note(f"{suite}: this machine's mirror does not have it")
    return present


def _chosen(wanted: WantedTrial, present: Sequence[str]) -> list[Candidate]:
    """Return what to try.

    Raises:
        UsageError: there is none, or not one that was asked for.
    """
    package = package_name(wanted.base)
    found = candidates(archive.offers(package, present))
    if wanted.suites:
        found = tuple(each for each in found if set(wanted.suites) & set(each.suites))
    known = [each.version for each in found]
    if not found:
        raise UsageError(f"{', '.join(wanted.suites or present)}: no {package} there")
    if unknown := [version for version in wanted.versions if version not in known]:
        raise UsageError(
            f"Debian does not offer Linux {unknown[0]}", next_step=f"it has {', '.join(known)}"
        )
    return [each for each in found if not wanted.versions or each.version in wanted.versions]


def _write(entry: Tested, directory: Path, ui: Ui, *, dry_run: bool) -> None:
    """Put an entry into the record, and say so if a person's note may be out of date now."""
    before = {each.version: each for each in tested_versions(directory.name, directory)}
    old = before.get(entry.version)
    if old and old.note and old.applies != entry.applies:
        ui.warn(f"the note of {entry.version} may be out of date: {old.note}")
    if not dry_run:
        tested_file.write(tested_file.record(entry, directory), directory)
