# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru sweep`: one experiment at many points, on this machine or on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mglru.cli.common import settings_option, source_option, terminal
from mglru.cli.known import SWEEP_FORMATS
from mglru.core.errors import ExitCode, UsageError
from mglru.experiment.settings import Setting
from mglru.source.kernel_id import parse_list

if TYPE_CHECKING:
    from mglru.core.ui import Ui
    from mglru.study.sweep.boots import Engine
    from mglru.study.sweep.file import Sweep


def _show(sweep: Sweep, form: str, baseline: str) -> None:
    from mglru.study.sweep import tables as sweep_tables

    width, colour = terminal()
    text = sweep_tables.render(sweep, form, baseline=baseline, width=width, colour=colour)
    click.echo(text, nl=False)


def _cluster(scheduler: str | None, own: Sequence[Path]) -> Engine | None:
    """Return what boots on a cluster, if there is one to be used; nothing is asked of it yet.

    Raises:
        UsageError: not an address, or the sweep takes what workers do not have.
    """
    from mglru.study.cluster.client import ClusterEngine, check_address

    if scheduler is None:
        return None
    check_address(scheduler)
    if own:
        raise UsageError(
            "--source is a tree of this machine, which the workers of a cluster do not have",
            next_step="leave out --scheduler, or --source",
        )
    return ClusterEngine(scheduler)


def _check_plot(path: Path) -> None:
    """Refuse a file that no plot can be written to, before there is anything to plot.

    Raises:
        UsageError: not an .svg, or in no directory.
    """
    if path.suffix != ".svg":
        raise UsageError(f"--plot {path}: plots are SVG", next_step="name a file that ends in .svg")
    if path.is_dir() or not path.parent.is_dir():
        raise UsageError(f"--plot {path}: no such directory", next_step="make it first")


def _draw(sweep: Sweep, path: Path) -> bool:
    """Write the curves of a sweep; return whether there was anything to draw.

    Raises:
        LabError: the file cannot be written.
    """
    from mglru.report.charts.sweep import sweep_plot
    from mglru.report.page import write

    drawing = sweep_plot(sweep)
    if drawing:
        write(drawing, path)
    return bool(drawing)


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
@click.option("--kernels", metavar="A,B,...", help="Which kernels; the first is the baseline.")
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
    kernels: str | None,
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
    from mglru.experiment.load import load_experiment
    from mglru.results.baseline import baseline_of
    from mglru.results.output_file import STDOUT
    from mglru.study.sweep.boots import SweepPlan
    from mglru.study.sweep.points import parse_vary
    from mglru.study.sweep.run import Sweeper, make_sweep, old_sweep

    ui = Ui()
    cluster = _cluster(scheduler, own_sources)
    vary = parse_vary(varied, points)
    chosen = parse_list(kernels or ",".join(load_experiment(name).kernels))
    ids = [str(kernel) for kernel in chosen]
    plan = SweepPlan(name, vary, settings, ids, boots, seed, ids[0] if kernels else "")
    sweeper = Sweeper(plan, chosen, own_sources, cluster, ui)
    if plot:
        _check_plot(plot)
    path = json_file or f"mglru-sweep-{name}.json"
    result = make_sweep(sweeper, plan, path, old_sweep(path, anew=anew), ui)
    baseline = baseline_of(ids, plan.baseline)
    if path != STDOUT:
        _show(result, form, baseline)
        ui.note(f"Results: {path}")
    if plot:
        ui.note(f"Plot: {plot}" if _draw(result, plot) else "No plot: no boot gave a figure")
    return _exit_code(result, shown=path != STDOUT, ui=ui)


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
