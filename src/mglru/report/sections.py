# SPDX-License-Identifier: GPL-2.0-only
"""Step 2 of a report: the sections of the page, one an experiment, from what the files hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mglru.core import stats
from mglru.core.errors import LabError
from mglru.experiment.load import load_experiment
from mglru.experiment.spec import Experiment
from mglru.report.charts.bound import Distance, bound_chart, distances, optimum
from mglru.report.charts.latency import latency_charts
from mglru.report.charts.palette import Palette
from mglru.report.charts.ratio import ratio_chart
from mglru.report.charts.sweep import sweep_charts
from mglru.report.charts.time import generation_charts, time_charts, tracks
from mglru.report.charts.vega import Chart, slug
from mglru.report.charts.waterfall import waterfall_charts
from mglru.report.commands import bound_command, command_of, settings_of, sweep_command
from mglru.report.inputs import ReportInputs
from mglru.results.compare import Comparison, Named, compare
from mglru.results.model import RunResult
from mglru.study.bound.file import Bound
from mglru.study.sweep.file import Sweep
from mglru.study.waterfall.waterfall import Waterfall, make_waterfall


@dataclass(frozen=True)
class Measured:
    """A comparison, its charts, and the runs that it was made from."""

    comparison: Comparison
    runs: tuple[Named, ...]
    settings: str
    ratios: Chart | None
    latencies: tuple[Chart, ...]
    times: tuple[Chart, ...]
    generations: tuple[Chart, ...]


@dataclass(frozen=True)
class PatchEffects:
    """A waterfall and its charts."""

    waterfall: Waterfall
    charts: tuple[Chart, ...]


@dataclass(frozen=True)
class Swept:
    """A sweep and its charts."""

    sweep: Sweep
    charts: tuple[Chart, ...]


@dataclass(frozen=True)
class Bounded:
    """A bound, its chart, and the distances to the optimum."""

    bound: Bound
    optimum: float
    distances: tuple[Distance, ...]
    chart: Chart | None

    def to_baseline(self, kernel: str) -> float | None:
        """Return the optimum's refaults as a ratio to a kernel's; None if that is not known."""
        measured = self.bound.kernels.get(kernel)
        return stats.ratio(self.optimum, measured.refaults) if measured else None


@dataclass(frozen=True)
class MadeFrom:
    """What something on the page was made from.

    Attributes:
        title: the file's name, or what it is.
        command: that makes it again.
        run: whose provenance is shown; of a sweep its first point; None if there is none.
    """

    title: str
    command: str
    run: RunResult | None


@dataclass(frozen=True)
class Section:
    """All of one experiment.

    Attributes:
        name: the experiment's.
        anchor: its name in the page's addresses.
        experiment: what its file says; None if the lab has no such file.
        kernels: all that it shows.
        measured: comparisons, one for each set of parameters.
        waterfalls: the effect of every patch.
        sweeps: curves over what was varied.
        bounds: distances to the optimum.
        sources: what made all this.
    """

    name: str
    anchor: str
    experiment: Experiment | None
    kernels: tuple[str, ...]
    measured: tuple[Measured, ...]
    waterfalls: tuple[PatchEffects, ...]
    sweeps: tuple[Swept, ...]
    bounds: tuple[Bounded, ...]
    sources: tuple[MadeFrom, ...]

    @property
    def charts(self) -> list[Chart]:
        """All charts of the section."""
        found = [
            chart
            for each in self.measured
            for chart in (each.ratios, *each.latencies, *each.times, *each.generations)
            if chart
        ]
        found += [chart for effects in self.waterfalls for chart in effects.charts]
        found += [chart for swept in self.sweeps for chart in swept.charts]
        return found + [bounded.chart for bounded in self.bounds if bounded.chart]


def make_sections(inputs: ReportInputs, palette: Palette, baseline: str | None) -> list[Section]:
    """Return the sections of a page, one an experiment, in the order of the files.

    Raises:
        UsageError: an experiment has no such baseline.
    """
    return [_section(name, inputs, palette, baseline) for name in inputs.experiments()]


def _section(name: str, inputs: ReportInputs, palette: Palette, baseline: str | None) -> Section:
    anchor = f"experiment-{slug(name)}"
    runs = [each for each in inputs.runs if each.run.experiment == name]
    falls = [each for each in inputs.waterfalls if each.run.experiment == name]
    sweeps = [each for each in inputs.sweeps if each.experiment == name]
    bounds = [each for each in inputs.bounds if each.experiment == name]
    kernels = [kernel for each in runs for kernel in each.run.kernels]
    kernels += [kernel for each in sweeps for kernel in each.kernels]
    kernels += [kernel for each in bounds for kernel in each.kernels]
    return Section(
        name=name,
        anchor=anchor,
        experiment=_experiment(name),
        kernels=tuple(dict.fromkeys(kernels)),
        measured=tuple(_measured(runs, palette, anchor, baseline)),
        waterfalls=tuple(_patch_effects(each, f"{anchor}-{at}") for at, each in enumerate(falls)),
        sweeps=tuple(
            Swept(each, tuple(sweep_charts(each, palette, f"{anchor}-{at}")))
            for at, each in enumerate(sweeps)
        ),
        bounds=tuple(_bounded(each, palette, f"{anchor}-{at}") for at, each in enumerate(bounds)),
        sources=tuple(_sources([*runs, *falls], sweeps, bounds)),
    )


def _sources(
    runs: Sequence[Named], sweeps: Sequence[Sweep], bounds: Sequence[Bound]
) -> list[MadeFrom]:
    found = [MadeFrom(f"{each.name}.json", command_of(each.run), each.run) for each in runs]
    for sweep in sweeps:
        first = sweep.points[0].run if sweep.points else None
        found.append(MadeFrom("Sweep; of its first point:", sweep_command(sweep), first))
    return found + [
        MadeFrom("Distance to the optimum", bound_command(each), None) for each in bounds
    ]


def _experiment(name: str) -> Experiment | None:
    try:
        return load_experiment(name)
    except LabError:
        return None


def _measured(
    runs: Sequence[Named], palette: Palette, anchor: str, baseline: str | None
) -> list[Measured]:
    groups: dict[str, list[Named]] = {}
    for each in runs:
        groups.setdefault(settings_of(each.run), []).append(each)
    found: list[Measured] = []
    for settings, group in groups.items():
        for comparison in compare(group, baseline=baseline):
            key = f"{anchor}-{len(found)}"
            found.append(
                Measured(
                    comparison,
                    tuple(group),
                    settings,
                    ratio_chart(comparison, palette, f"{key}-ratios"),
                    tuple(latency_charts(group, palette, key)),
                    tuple(time_charts(tracks(group), palette, key)),
                    tuple(generation_charts(tracks(group), key)),
                )
            )
    return found


def _patch_effects(each: Named, key: str) -> PatchEffects:
    waterfall = make_waterfall(each.run)
    return PatchEffects(waterfall, tuple(waterfall_charts(waterfall, key)))


def _bounded(bound: Bound, palette: Palette, key: str) -> Bounded:
    chart = bound_chart(bound, palette, key)
    return Bounded(bound, optimum(bound), tuple(distances(bound)), chart)
