# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru series tested`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from mglru.checks.releases import file as tested_file
from mglru.checks.releases.attempt import (
    SUITES,
    Candidate,
    candidates,
    package_name,
)
from mglru.checks.releases.tested import Tested, tested_versions
from mglru.checks.releases.trial import EXPERIMENT, Trial
from mglru.core.errors import ExitCode, UsageError
from mglru.core.paths import PATCHES
from mglru.core.ui import Ui
from mglru.debian import archive, packages
from mglru.series.listing import load_series
from mglru.source.kernel_id import SERIES_BASES, KernelId


@click.command()
@click.argument("base", metavar="[BASE]", default=SERIES_BASES[0])
@click.option("--suite", "suites", multiple=True, metavar="NAME", help="Only what this suite has.")
@click.option("--version", "versions", multiple=True, metavar="6.12.y", help="Only this version.")
@click.option("--build/--no-build", default=True, show_default=True, help="Build the kernels.")
@click.option(
    "--boot/--no-boot", default=True, show_default=True, help=f"Boot what builds: {EXPERIMENT}."
)
@click.option("--again", is_flag=True, help="Also versions on which this series was tried already.")
@click.option("--keep", is_flag=True, help="Keep sources and build trees (2.3 GB a version).")
@click.option("--dry-run", is_flag=True, help="Try and show, but leave tested.toml as it is.")
def tested(
    base: str,
    *,
    suites: tuple[str, ...],
    versions: tuple[str, ...],
    build: bool,
    boot: bool,
    again: bool,
    keep: bool,
    dry_run: bool,
) -> int:
    """Try the series on every 6.12.y that Debian offers, and record it in tested.toml.

    Each version is downloaded, gets the patches (exactly, at other lines, or by a three-way
    merge), is built with all of them for User Mode Linux, and boots. The record is written after
    each version; what was tried with this very series before is not tried again. A version takes
    two minutes where the series does not apply, eight where it does. Exit code 1 if something did
    not go well.
    """
    ui = Ui()
    packages.ensure(packages.KERNEL_BUILD, ui)
    series = load_series(KernelId.parse(f"{base}+next").base)
    found = _wanted(base, present := _present(suites, ui), suites, versions)
    ui.note(f"{package_name(base)}: " + ", ".join(each.version for each in found))
    trial = Trial(base, series, ui, build=build, boot=boot and build)
    rows = []
    for candidate in found:
        entry = None if again else trial.known(candidate)
        if entry is None:
            entry = trial.run(candidate, present, keep=keep)
            _write(entry, PATCHES / base, ui, dry_run=dry_run)
        rows.append(entry)
    show(rows, Console(soft_wrap=True, highlight=False))
    return ExitCode.OK if all(row.good for row in rows) else ExitCode.EXPECTATION_FAILED


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


def _wanted(
    base: str, present: Sequence[str], suites: Sequence[str], versions: Sequence[str]
) -> list[Candidate]:
    """Return what to try.

    Raises:
        UsageError: there is none, or not one that was asked for.
    """
    found = candidates(archive.offers(package_name(base), present))
    if suites:
        found = tuple(each for each in found if set(suites) & set(each.suites))
    known = [each.version for each in found]
    if not found:
        raise UsageError(f"{', '.join(suites or present)}: no {package_name(base)} there")
    if unknown := [version for version in versions if version not in known]:
        raise UsageError(
            f"Debian does not offer Linux {unknown[0]}", next_step=f"it has {', '.join(known)}"
        )
    return [each for each in found if not versions or each.version in versions]


def _write(entry: Tested, directory: Path, ui: Ui, *, dry_run: bool) -> None:
    """Put an entry into the record, and say so if a person's note may be out of date now."""
    before = {each.version: each for each in tested_versions(directory.name, directory)}
    old = before.get(entry.version)
    if old and old.note and old.applies != entry.applies:
        ui.warn(f"the note of {entry.version} may be out of date: {old.note}")
    if not dry_run:
        tested_file.write(tested_file.record(entry, directory), directory)


_WORD = {True: "yes", False: "NO", None: "-"}


def show(rows: Sequence[Tested], out: Console) -> None:
    """Print a table, a version a line."""
    table = Table(box=None, pad_edge=False)
    for heading in ("version", "package", "suites", "applies", "builds", "boots"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(
            *(row.version, row.origin.split()[-1], ", ".join(row.suites), row.applies),
            *(_WORD[row.builds], _WORD[row.boots]),
        )
    out.print(table)
    for row in rows:
        if row.reason:
            out.print(f"{row.version}: {row.reason}", markup=False)
