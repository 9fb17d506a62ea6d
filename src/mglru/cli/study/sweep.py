# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru sweep`: one experiment at many points, on this machine or on a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from mglru.build.build import Build, build_kernel
from mglru.cli.common import source_option, terminal
from mglru.core.errors import ExitCode, UsageError
from mglru.core.ui import Ui
from mglru.debian import packages
from mglru.experiment.load import load_experiment
from mglru.experiment.spec import Experiment
from mglru.results.baseline import baseline_of
from mglru.results.model import RunInfo
from mglru.results.output_file import STDOUT
from mglru.run import prepared
from mglru.run.boots import make_jobs, parallel_boots
from mglru.run.kernels import build_all, planned_builds
from mglru.run.needs import get_ingredients
from mglru.run.provenance import run_info
from mglru.source.kernel_id import KernelId, parse_list
from mglru.study.cluster.client import ClusterEngine, check_address
from mglru.study.sweep import file as sweep_file
from mglru.study.sweep import plot as sweep_plot
from mglru.study.sweep import tables as sweep_tables
from mglru.study.sweep.boots import (
    Engine,
    LocalEngine,
    Plan,
    PointJob,
    check_same_sweep,
    known_boots,
    load_points,
    missing,
    run_missing,
    setting_texts,
    sweep_failures,
)
from mglru.study.sweep.file import Sweep, SweepFile
from mglru.study.sweep.points import Settings, parse_vary


@dataclass(frozen=True)
class Point:
    """One point with all of its boots, made or not."""

    settings: Settings
    info: RunInfo
    jobs: Sequence[PointJob]


class Sweeper:
    """One `./mglru sweep`: what it is, what there is of it, and how to make the rest.

    Args:
        plan: what was asked for.
        kernels: its kernels.
        own: the user's kernel sources.
        scheduler: of a cluster, None: this machine makes the boots.
        ui: gets the progress.
    """

    def __init__(
        self,
        plan: Plan,
        kernels: Sequence[KernelId],
        own: Sequence[Path],
        scheduler: str | None,
        ui: Ui,
    ) -> None:
        self._plan, self._kernels, self._own, self._ui = plan, kernels, own, ui
        self._scheduler = scheduler
        self._points = load_points(plan)

    def prepare(self) -> list[Point]:
        """Return every point; data and guest programs are made, kernels are not built yet."""
        packages.ensure(packages.ALL, self._ui)
        builds = planned_builds(self._kernels, self._own, self._ui)
        return [self._point(settings, experiment, builds) for settings, experiment in self._points]

    def _point(
        self, settings: Settings, experiment: Experiment, builds: Mapping[KernelId, Build]
    ) -> Point:
        found = get_ingredients(experiment, self._stock, self._ui)
        boots, seed = self._plan.boots or experiment.boots or 1, self._plan.seed
        info = run_info(
            *(experiment, builds, found.image),
            boots=boots,
            seed=seed,
            settings=setting_texts(self._plan, settings),
            userland=found.userland,
            baseline=self._plan.baseline,
        )
        jobs = make_jobs(
            *(experiment, builds, found.image), boots=boots, seed=seed, userland=found.userland
        )
        return Point(settings, info, [PointJob(settings, job) for job in jobs])

    def _stock(self) -> Build:
        return build_all([prepared.KERNEL], self._own, self._ui)[prepared.KERNEL]

    def engine(self) -> Engine:
        """Return what makes the boots; kernels are built where that is this machine."""
        if self._scheduler:
            return ClusterEngine(self._scheduler)
        for build in planned_builds(self._kernels, self._own, self._ui).values():
            build_kernel(build.recipe, self._ui)
        return LocalEngine(min(parallel_boots(experiment) for _at, experiment in self._points))


def _old(path: str, *, anew: bool) -> Sweep | None:
    """Return what a file already has of a sweep, if it shall be gone on with."""
    if anew or path == STDOUT or not Path(path).is_file() or not Path(path).stat().st_size:
        return None
    try:
        return sweep_file.load(path)
    except UsageError as error:
        raise UsageError(
            error.what, next_step="name another file with --json, or replace this one with --anew"
        ) from error


def _sweep(sweeper: Sweeper, plan: Plan, path: str, old: Sweep | None, ui: Ui) -> Sweep:
    """Make the boots that the file has not, and return the whole."""
    if old:
        check_same_sweep(old, plan, path)
    with SweepFile(path, plan.experiment, plan.vary, plan.kernels) as file:
        jobs: list[PointJob] = []
        points = sweeper.prepare()
        for point in points:
            known = known_boots(old, point.settings, point.info, path) if old else []
            file.begin(point.settings, point.info)
            file.keep(known)
            jobs += missing(point.jobs, known)
        total = sum(len(point.jobs) for point in points)
        if old:
            ui.note(f"{path}: {total - len(jobs)} of {total} boots are there already")
        if jobs:
            run_missing(
                *(sweeper.engine(), jobs, total, ui),
                lambda each, record: file.add(each.settings, record),
            )
        return file.sweep


def _show(sweep: Sweep, form: str, baseline: str) -> None:
    width, colour = terminal()
    text = sweep_tables.render(sweep, form, baseline=baseline, width=width, colour=colour)
    click.echo(text, nl=False)


def _check_cluster(scheduler: str | None, own: Sequence[Path]) -> None:
    if scheduler is None:
        return
    check_address(scheduler)
    if own:
        raise UsageError(
            "--source is a tree of this machine, which the workers of a cluster do not have",
            next_step="leave out --scheduler, or --source",
        )


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
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="For all points.")
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
    type=click.Choice(sweep_tables.FORMATS),
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
    settings: tuple[str, ...],
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
    ui = Ui()
    _check_cluster(scheduler, own_sources)
    vary = parse_vary(varied, points)
    chosen = parse_list(kernels or ",".join(load_experiment(name).kernels))
    ids = [str(kernel) for kernel in chosen]
    plan = Plan(name, vary, settings, ids, boots, seed, ids[0] if kernels else "")
    sweeper = Sweeper(plan, chosen, own_sources, scheduler, ui)
    if plot:
        sweep_plot.check_path(plot)
    path = json_file or f"mglru-sweep-{name}.json"
    result = _sweep(sweeper, plan, path, _old(path, anew=anew), ui)
    baseline = baseline_of(ids, plan.baseline)
    if path != STDOUT:
        _show(result, form, baseline)
        ui.note(f"Results: {path}")
    if plot:
        drawn = sweep_plot.write_plot(result, baseline, plot)
        ui.note(f"Plot: {plot}" if drawn else "No plot: no boot gave a figure")
    return _exit_code(result, shown=path != STDOUT, ui=ui)


def _exit_code(result: Sweep, *, shown: bool, ui: Ui) -> int:
    """Say what went wrong, where the tables' notes have not."""
    found = sweep_failures(result)
    if found and shown:
        ui.warn("some boots went wrong: see the notes below the tables")
    elif found:
        for text in found:
            ui.warn(text)
    return ExitCode.EXPECTATION_FAILED if found else ExitCode.OK
