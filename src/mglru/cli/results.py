# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru compare`: tables from result files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mglru.cli.common import terminal
from mglru.cli.known import FORMS_OF_ALL
from mglru.core.errors import UsageError

if TYPE_CHECKING:
    from mglru.results.compare import Named


def show(
    runs: Sequence[Named],
    form: str = "table",
    *,
    baseline: str | None = None,
    everything: bool = False,
) -> None:
    """Print a comparison to stdout, in colour on a terminal."""
    from mglru.results import tables
    from mglru.results.compare import compare as compare_runs

    comparisons = compare_runs(runs, baseline=baseline, everything=everything)
    width, colour = terminal()
    click.echo(tables.render(comparisons, form, width=width, colour=colour), nl=False)


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE|DIR...")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "markdown", "csv", "json", *FORMS_OF_ALL]),
    default="table",
    show_default=True,
    help="suite: the worst ratio of each family, as markdown. overview: "
    "what is worse and what is better; headline: README's table of it.",
)
@click.option(
    "--baseline",
    metavar="KERNEL",
    help="Ratios are to this kernel (what --kernels chose, else 6.12 if it is there).",
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
    """Compare the kernels of one or several result files (- is stdin).

    DIR is all the result files in it, but for what is in a folder bound, suites, sweep or
    waterfall.
    """
    from mglru.report import generated
    from mglru.report.forms import OF_ALL
    from mglru.results import tables
    from mglru.results.compare import compare as compare_runs
    from mglru.results.compare import load_named

    runs = load_named(files)
    if form in FORMS_OF_ALL:
        _no_options(form, baseline=baseline, all=everything)
        text = OF_ALL[form]([named.run for named in runs])
    elif into is None:
        show(runs, form, baseline=baseline, everything=everything)
        return
    else:
        comparisons = compare_runs(runs, baseline=baseline, everything=everything)
        text = tables.render(comparisons, "markdown")
    if into is None:
        click.echo(text, nl=False)
        return
    changed = generated.update(into, text)
    click.echo(f"{into}: {'updated' if changed else 'already up to date'}", err=True)


def _no_options(form: str, **given: object) -> None:
    wrong = [f"--{name}" for name, value in given.items() if value]
    if wrong:
        raise UsageError(f"{', '.join(wrong)} is not for --format {form}", next_step="leave it out")
