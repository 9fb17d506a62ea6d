# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru compare`: tables from result files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from mglru import readme, tables
from mglru.cli.common import terminal
from mglru.compare import Named, load_named
from mglru.compare import compare as compare_runs


def show(
    runs: Sequence[Named],
    form: str = "table",
    *,
    baseline: str | None = None,
    everything: bool = False,
) -> None:
    """Print a comparison to stdout, in colour on a terminal."""
    comparisons = compare_runs(runs, baseline=baseline, everything=everything)
    width, colour = terminal()
    click.echo(tables.render(comparisons, form, width=width, colour=colour), nl=False)


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "markdown", "csv", "json"]),
    default="table",
    show_default=True,
)
@click.option(
    "--baseline",
    metavar="KERNEL",
    help="Ratios are to this kernel (6.12 if it is there, or the first).",
)
@click.option("--all", "everything", is_flag=True, help="Show every counter that differs.")
@click.option(
    "--into",
    type=click.Path(path_type=Path),
    help="Put the tables, as markdown, between the marker lines of this document.",
)
def compare(
    files: tuple[str, ...],
    *,
    form: str,
    baseline: str | None,
    everything: bool,
    into: Path | None,
) -> None:
    """Compare the kernels of one or several result files (- is stdin)."""
    runs = load_named(files)
    if into is None:
        show(runs, form, baseline=baseline, everything=everything)
        return
    comparisons = compare_runs(runs, baseline=baseline, everything=everything)
    changed = readme.update(into, tables.render(comparisons, "markdown"))
    click.echo(f"{into}: {'updated' if changed else 'already up to date'}", err=True)
