# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru report`: one HTML page from result files."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE|DIR...")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The page; report.html if neither this nor --picture is given.",
)
@click.option(
    "--baseline",
    metavar="KERNEL",
    help="Ratios are to this kernel (what --kernels chose, else 6.12).",
)
@click.option("--title", default="mglru-next: results", show_default=True)
@click.option(
    "--picture",
    type=click.Path(path_type=Path),
    metavar="FILE.svg",
    help="Also, or only, draw the headline ratios as one SVG picture.",
)
def report(
    files: tuple[str, ...],
    *,
    output: Path | None,
    baseline: str | None,
    title: str,
    picture: Path | None,
) -> None:
    """Make one self-contained HTML page of result files.

    FILE is what `run`, `sweep`, `bound` or `series waterfall` wrote with --json (- is stdin);
    what it holds decides how it is shown. DIR is all the result files in it, but for what is in a
    folder bound, suites, sweep or waterfall. The page needs no network and no server.
    """
    from mglru.core.ui import Ui
    from mglru.report.write import write_report

    write_report(files, output, picture, Ui(), baseline=baseline, title=title)
