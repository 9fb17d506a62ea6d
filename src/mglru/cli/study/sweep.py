# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru sweep`: one experiment at many points, on this machine or on a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mglru.cli.common import kernels_option, settings_option, source_option, terminal
from mglru.cli.known import SWEEP_FORMATS
from mglru.core.errors import ExitCode
from mglru.experiment.settings import Setting
from mglru.source.kernel_id import KernelId

if TYPE_CHECKING:
    from mglru.core.ui import Ui
    from mglru.study.sweep.file import Sweep


def _show(sweep: Sweep, form: str, baseline: str) -> None:
    from mglru.study.sweep import tables as sweep_tables

    width, colour = terminal()
    text = sweep_tables.render(sweep, form, baseline=baseline, width=width, colour=colour)
    click.echo(text, nl=False)


@click.command()
@click.argument("name", metavar="EXPERIMENT")
@click.option(
    "--vary",
    "varied",
    multiple=True,
    required=True,
    metavar="KEY=A..B|KEY=a,b,c",
    help="What varies: limit=64M..512M or zipf=0.8,0.99,1.2; several make the product.",
)
@click.option(
    "--points",
    type=click.IntRange(2, 1000),
    default=5,
    show_default=True,
    help="Values of a range A..B, each the same factor above the one before.",
)
@kernels_option
@click.option("--boots", type=click.IntRange(1, 1000), help="Boots of each kernel at each point.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=1, show_default=True)
@settings_option
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Boot on the workers of a cluster (./mglru cluster), as tcp://host:8786.",
)
@click.option(
    "--json",
    "json_file",
    metavar="FILE|-",
    help="Where the results are kept, boot by boot.  [default: mglru-sweep-EXPERIMENT.json]",
)
@click.option("--anew", is_flag=True, help="Start anew: replace the file instead of going on.")
@click.option(
    "--plot", type=click.Path(path_type=Path), metavar="FILE.svg", help="Draw the curves, as SVG."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(SWEEP_FORMATS),
    default="table",
    show_default=True,
)
@source_option
def sweep(
    name: str,
    *,
    varied: tuple[str, ...],
    points: int,
    kernels: tuple[KernelId, ...] | None,
    boots: int | None,
    seed: int,
    settings: tuple[Setting, ...],
    scheduler: str | None,
    json_file: str | None,
    anew: bool,
    plot: Path | None,
    form: str,
    own_sources: tuple[Path, ...],
) -> int:
    """Run one experiment at many points: a curve of every figure for each kernel.

    With limit=A..B the curve of refaults over memory is the miss-ratio curve. The same command
    again goes on where an interrupted one stopped, and shows the tables of a finished one.
    """
    from mglru.core.ui import Ui
    from mglru.results.baseline import baseline_of
    from mglru.results.output_file import STDOUT
    from mglru.study.cluster.client import engine_of
    from mglru.study.sweep.run import WantedSweep, run_sweep

    ui = Ui()
    cluster = None if scheduler is None else engine_of(scheduler, own_sources)
    if plot:
        from mglru.report.write import check_plot

        check_plot(plot)
    wanted = WantedSweep(
        experiment=name,
        varied=varied,
        points=points,
        kernels=kernels,
        boots=boots,
        seed=seed,
        settings=settings,
        path=json_file or f"mglru-sweep-{name}.json",
        anew=anew,
        own_sources=own_sources,
    )
    result = run_sweep(wanted, cluster, ui)
    to_stdout = wanted.path == STDOUT
    if not to_stdout:
        _show(result, form, baseline_of(result.kernels, result.kernels[0] if kernels else ""))
        ui.note(f"Results: {wanted.path}")
    if plot:
        _draw(result, plot, ui)
    return _exit_code(result, shown=not to_stdout, ui=ui)


def _draw(result: Sweep, path: Path, ui: Ui) -> None:
    from mglru.report.write import write_plot

    ui.note(f"Plot: {path}" if write_plot(result, path) else "No plot: no boot gave a figure")


def _exit_code(result: Sweep, *, shown: bool, ui: Ui) -> int:
    """Say what went wrong, where the tables' notes have not."""
    from mglru.study.sweep.boots import sweep_failures

    found = sweep_failures(result)
    if found and shown:
        ui.warn("some boots went wrong: see the notes below the tables")
    elif found:
        for text in found:
            ui.warn(text)
    return ExitCode.EXPECTATION_FAILED if found else ExitCode.OK
