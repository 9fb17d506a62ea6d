# SPDX-License-Identifier: GPL-2.0-only
"""Time lines of a run: throughput, refaults, dirty pages, sizes of generations, pressure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import altair as alt

from mglru.core.sizes import PAGE_BYTES
from mglru.report.charts.palette import Palette
from mglru.report.charts.thin import evenly, extremes, rounded
from mglru.report.charts.vega import (
    Chart,
    Row,
    Spec,
    by_kernel,
    dashes,
    hover,
    rows,
    slug,
    spec_of,
    tip,
)
from mglru.results.compare import Named

POINTS_OF_A_GAUGE = 72
POINTS_OF_A_SUM = 40  # what only grows has no peaks to lose
POINTS_OF_AN_AREA = 60
DIGITS = 3  # more cannot be seen at this size
GENERATIONS = 4
MB = 1e6
HEIGHT = 170


@dataclass(frozen=True)
class TimeLine:
    """One panel: which figures are added up, what one of them is worth, how it is called."""

    title: str
    figures: tuple[str, ...]
    scale: float
    unit: str

    @property
    def grows(self) -> bool:
        """Whether it counts events from the beginning."""
        return self.title.endswith("so far")

    @property
    def form(self) -> str:
        """How its axis writes figures: pages as 20k."""
        return "~s" if self.unit in ("pages", "operations a second") else ",~r"


PAGES_TO_MB = PAGE_BYTES / MB
LINES = (
    TimeLine("Throughput", ("ops_per_second",), 1, "operations a second"),
    TimeLine("File refaults, so far", ("workingset_refault_file",), 1, "pages"),
    TimeLine("Anonymous refaults, so far", ("workingset_refault_anon",), 1, "pages"),
    TimeLine("Dirty pages", ("nr_dirty",), PAGES_TO_MB, "MB"),
    TimeLine("Pages being written", ("nr_writeback",), PAGES_TO_MB, "MB"),
    TimeLine("Memory pressure: some, so far", ("psi_some_us",), 1e-6, "s"),
    TimeLine("Memory pressure: full, so far", ("psi_full_us",), 1e-6, "s"),
    TimeLine("Memory of the cgroup", ("memory_current",), 1 / MB, "MB"),
    TimeLine("Read from disk, so far", ("pgpgin",), 1024 / MB, "MB"),
    TimeLine("Written to disk, so far", ("pgpgout",), 1024 / MB, "MB"),
    TimeLine("Swapped in, so far", ("pswpin",), 1, "pages"),
    TimeLine("Swapped out, so far", ("pswpout",), 1, "pages"),
)

Figures = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Track:
    """The time line of one kernel: the clock, and the figures at each of its ticks."""

    kernel: str
    seconds: Sequence[float]
    figures: Figures

    def total(self, names: Sequence[str]) -> list[float] | None:
        """Return the sum of some figures over time, None if it has none of them."""
        found = [self.figures[name] for name in names if name in self.figures]
        return [sum(at) for at in zip(*found, strict=True)] if found else None


def tracks(runs: Sequence[Named]) -> list[Track]:
    """Return the time line of each kernel: that of its first boot that has one."""
    found = []
    for each in runs:
        for kernel in each.run.kernels:
            lines = [boot.timeline for boot in each.run.boots_of(kernel) if boot.timeline]
            if lines and len(lines[0].seconds) > 1:
                found.append(Track(kernel, lines[0].seconds, lines[0].figures))
    return found


def time_charts(found: Sequence[Track], palette: Palette, key: str) -> list[Chart]:
    """Draw the lines that some kernel has."""
    charts = [_line_chart(line, found, palette, key) for line in LINES]
    return [chart for chart in charts if chart]


def generation_charts(found: Sequence[Track], key: str) -> list[Chart]:
    """Draw the sizes of the generations, one chart for each kernel that has them."""
    charts = [
        _generation_chart(track, kind, _highest(found, kind), key)
        for kind in ("file", "anon")
        for track in found
    ]
    return [chart for chart in charts if chart]


def _line_chart(line: TimeLine, found: Sequence[Track], palette: Palette, key: str) -> Chart | None:
    totals = [track.total(line.figures) for track in found]
    if not any(any(total or ()) for total in totals):
        return None
    curves = [
        # a figure that was zero all the time is left out of a time line
        _curve(track, total or [0.0] * len(track.seconds), line)
        for track, total in zip(found, totals, strict=True)
    ]
    ends = ", ".join(f"{curve['k']} {curve['y'][-1]:g}" for curve in curves)
    title = f"{line.title} ({line.unit})"
    alt = f"Curves over the seconds of the run: {title}. At the end: {ends}."
    name = f"{key}-time-{slug(line.figures[0])}"
    return Chart(name, title, alt, _line_spec(curves, palette, line.form))


def _curve(track: Track, values: Sequence[float], line: TimeLine) -> Row:
    sums, gauges = POINTS_OF_A_SUM, POINTS_OF_A_GAUGE
    kept = evenly(len(values), sums) if line.grows else extremes(values, gauges)
    return {
        "k": track.kernel,
        "x": [rounded(track.seconds[at], DIGITS) for at in kept],
        "y": [rounded(values[at] * line.scale, DIGITS) for at in kept],
    }


def _seconds() -> alt.X:
    axis = alt.Axis(grid=False, tickCount=5)
    return alt.X("x:Q", title="seconds", axis=axis, scale=alt.Scale(nice=False))


def _line_spec(curves: list[Row], palette: Palette, form: str) -> Spec:
    kernels = [curve["k"] for curve in curves]
    chart = (
        alt.layer(
            alt.Chart().mark_line(strokeWidth=1.6).encode(strokeDash=dashes(kernels, palette)),
            hover(tip("k", "kernel"), tip("x", "seconds"), tip("y", "", number=",~r")),
            data=rows(curves),
        )
        .transform_flatten(["x", "y"])
        .encode(
            x=_seconds(),
            y=alt.Y("y:Q", title=None, axis=_few_ticks(form)),
            color=by_kernel(kernels, palette),
        )
    )
    return spec_of(chart, HEIGHT)


def _few_ticks(form: str) -> alt.Axis:
    return alt.Axis(tickCount=4, format=form)


def _generations(track: Track, kind: str) -> list[Sequence[float]]:
    names = [f"generation_{age}_{kind}" for age in range(GENERATIONS)]
    if not any(name in track.figures for name in names):
        return []
    empty = [0.0] * len(track.seconds)  # a generation that was empty all the time is left out
    return [track.figures.get(name, empty) for name in names]


def _highest(found: Sequence[Track], kind: str) -> float:
    """Return the most that the generations of a kernel hold together, in MB."""
    sums: Callable[[Track], list[float]] = lambda track: [  # noqa: E731
        sum(at) for at in zip(*_generations(track, kind), strict=True)
    ]
    return max((max(sums(track), default=0) for track in found), default=0) * PAGES_TO_MB


def _generation_chart(track: Track, kind: str, highest: float, key: str) -> Chart | None:
    sizes = _generations(track, kind)
    if not highest or not any(any(size) for size in sizes):
        return None
    kept = evenly(len(track.seconds), POINTS_OF_AN_AREA)
    sampled: Row = {"x": [rounded(track.seconds[at], DIGITS) for at in kept]}
    for age, size in enumerate(sizes):
        sampled[str(age)] = [rounded(size[at] * PAGES_TO_MB, DIGITS) for at in kept]
    pages = "file" if kind == "file" else "anonymous"
    return Chart(
        f"{key}-generations-{kind}-{slug(track.kernel)}",
        f"{track.kernel}: {pages} pages (MB)",
        f"Stacked areas over the seconds of the run: {pages} pages in each generation of "
        f"{track.kernel}, the youngest below, the oldest above.",
        _generation_spec(sampled, highest),
    )


def _generation_spec(sampled: Row, highest: float) -> Spec:
    ages: list[str | alt.FieldName] = [name for name in sampled if name != "x"]
    colours = alt.Scale(domain=ages, range=[f"var(--age{age})" for age in ages])
    areas = (
        alt.Chart(rows([sampled]))
        .transform_flatten(list(sampled))
        .transform_fold(ages, as_=["a", "y"])
        # What a generation holds stands until the next sample.
        .mark_area(interpolate="step-after", clip=True)
        .encode(
            x=_seconds(),
            y=alt.Y(
                "y:Q",
                title=None,
                stack="zero",
                scale=alt.Scale(domain=[0, highest]),
                axis=_few_ticks(",~r"),
            ),
            order=alt.Order("a:O"),
            color=alt.Color("a:O", scale=colours, legend=None),
            tooltip=[tip("a", "generation"), tip("y", "MB", number=".3~f")],
        )
    )
    return spec_of(areas, HEIGHT)
