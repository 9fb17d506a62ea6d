# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru series`: check, tested, waterfall."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mglru.cli.common import report_failures, settings_option, source_option, terminal
from mglru.cli.lazy import Group
from mglru.cli.series.matrix import check_matrices
from mglru.cli.series.tested import tested
from mglru.core.errors import ExitCode, UsageError
from mglru.experiment.settings import Setting
from mglru.source.kernel_id import SERIES_BASES

if TYPE_CHECKING:
    from mglru.results.model import RunResult
    from mglru.study.waterfall.waterfall import Waterfall


@click.group(cls=Group)
def series() -> None:
    """The patch series: check it, and see what each patch does."""


series.add_command(tested)


@series.command()
@click.argument("bases", nargs=-1, metavar="[BASE...]")
@click.option(
    "--build/--no-build",
    default=True,
    show_default=True,
    help="Also build the kernel after each patch.",
)
@click.option(
    "--parts",
    is_flag=True,
    help="Only where a part of the series ends, and there compile only what the patches touch.",
)
@click.option(
    "--matrix",
    is_flag=True,
    help="Instead, compile what the whole series touches under each configuration of "
    "kconfig/matrix/, with W=1 and sparse: nothing may be said that stock does not get.",
)
@click.option("--only", multiple=True, metavar="NAME", help="With --matrix: only this one.")
@click.option("--json", "json_file", metavar="FILE|-", help="With --matrix: write it as JSON.")
@source_option
def check(
    bases: tuple[str, ...],
    own_sources: tuple[Path, ...],
    *,
    build: bool,
    parts: bool,
    matrix: bool,
    only: tuple[str, ...],
    json_file: str | None,
) -> int:
    """Check that every patch applies without fuzz, reads as it should, and builds."""
    from mglru.checks.base_check import check_bases
    from mglru.core.ui import Ui

    if matrix:
        return check_matrices(bases, own_sources, only, json_file)
    if only or json_file:
        raise UsageError("--only and --json belong to --matrix", next_step="add --matrix")
    passed = check_bases(bases, own_sources, Ui(), build=build, parts=parts)
    return ExitCode.OK if passed else ExitCode.EXPECTATION_FAILED


@series.command()
@click.argument("names", nargs=-1, required=True, metavar="EXPERIMENT...")
@click.option("--base", default=SERIES_BASES[0], show_default=True, metavar="BASE")
@click.option("--parts", is_flag=True, help="Only prefixes that end with a part of the series.")
@click.option("--metric", "metrics", multiple=True, help="Show this headline metric. Repeatable.")
@click.option("--boots", type=click.IntRange(1, 1000), help="Boots of each kernel.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=1, show_default=True)
@settings_option
@click.option("--json", "json_file", metavar="FILE|-", help="Write the results as JSON.")
@source_option
def waterfall(
    names: tuple[str, ...],
    *,
    base: str,
    parts: bool,
    metrics: tuple[str, ...],
    boots: int | None,
    seed: int,
    settings: tuple[Setting, ...],
    json_file: str | None,
    own_sources: tuple[Path, ...],
) -> int:
    """Show the effect of every patch: stock, then each prefix of the series.

    Boots are interleaved. Prefixes are built one upon the other, so that a patch costs what it
    touches; `./mglru series check` builds the same ones.
    """
    from mglru.core.ui import Ui
    from mglru.results.output_file import STDOUT
    from mglru.study.waterfall.run import WantedWaterfall, run_waterfalls
    from mglru.study.waterfall.waterfall import make_waterfall

    def show(result: RunResult) -> None:
        if json_file != STDOUT:
            _show(make_waterfall(result), metrics)

    wanted = WantedWaterfall(
        names=names,
        base=base,
        parts=parts,
        metrics=metrics,
        boots=boots,
        seed=seed,
        settings=settings,
        json_file=json_file,
        own_sources=own_sources,
    )
    ui = Ui()
    return report_failures(run_waterfalls(wanted, ui, show), ui)


def _show(effects: Waterfall, metrics: Sequence[str]) -> None:
    from mglru.study.waterfall import table as waterfall_table

    width, colour = terminal()
    text = waterfall_table.render(effects, metrics, width=width, colour=colour)
    click.echo(text, nl=False)
