# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru series tested`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from mglru.cli.known import TESTED_WITH
from mglru.core.errors import ExitCode
from mglru.source.kernel_id import SERIES_BASES

if TYPE_CHECKING:
    from rich.console import Console

    from mglru.checks.releases.tested import Tested


@click.command()
@click.argument("base", metavar="[BASE]", default=SERIES_BASES[0])
@click.option("--suite", "suites", multiple=True, metavar="NAME", help="Only what this suite has.")
@click.option("--version", "versions", multiple=True, metavar="6.12.y", help="Only this version.")
@click.option("--build/--no-build", default=True, show_default=True, help="Build the kernels.")
@click.option(
    "--boot/--no-boot", default=True, show_default=True, help=f"Boot what builds: {TESTED_WITH}."
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
    from rich.console import Console

    from mglru.checks.releases.run import WantedTrial, try_versions
    from mglru.core.ui import Ui

    rows = try_versions(
        WantedTrial(
            base,
            suites,
            versions,
            build=build,
            boot=boot,
            again=again,
            keep=keep,
            dry_run=dry_run,
        ),
        Ui(),
    )
    show(rows, Console(soft_wrap=True, highlight=False))
    return ExitCode.OK if all(row.good for row in rows) else ExitCode.EXPECTATION_FAILED


_WORD = {True: "yes", False: "NO", None: "-"}


def show(rows: Sequence[Tested], out: Console) -> None:
    """Print a table, a version a line."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("version", "package", "suites", "applies", "builds", "boots"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(
            row.version,
            row.origin.split()[-1],
            ", ".join(row.suites),
            row.applies,
            _WORD[row.builds],
            _WORD[row.boots],
        )
    out.print(table)
    for row in rows:
        if row.reason:
            out.print(f"{row.version}: {row.reason}", markup=False)
