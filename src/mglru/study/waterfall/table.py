# SPDX-License-Identifier: GPL-2.0-only
"""The effect of every patch on one metric, as a table for people: a row and a bar a patch."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from mglru.core.figures import number
from mglru.results.model import Headline
from mglru.results.tables import ARROWS, STYLES, SYMBOLS, text_console, times
from mglru.study.waterfall.waterfall import Effect, PatchStep, Waterfall

BAR_WIDTH = 24
FULL, PARTS = "█", " ▏▎▍▌▋▊▉"
LEGEND = "step: ratio to the row before, + better, - worse, = the same; of stock: ratio to stock"
# Shown beside the first metric, where an experiment has it: what reclaim is about.
REFAULTS = "workingset_refault_file"


def chosen(waterfall: Waterfall, wanted: Sequence[str] = ()) -> list[int]:
    """Return the positions of the metrics to show: those wanted, else the first and refaults."""
    names = [headline.name for headline in waterfall.metrics]
    usual = [name for at, name in enumerate(names) if at == 0 or name == REFAULTS]
    return [names.index(name) for name in wanted or usual]


def render(
    waterfall: Waterfall,
    wanted: Sequence[str] = (),
    *,
    width: int | None = None,
    colour: bool = False,
) -> str:
    """Return a waterfall as tables, one a metric.

    Args:
        waterfall: what `make_waterfall` gave.
        wanted: names of headline metrics, see `chosen`.
        width: of the terminal, in characters.
        colour: whether better and worse are coloured.
    """
    console, buffer = text_console(width, colour=colour)
    for at in chosen(waterfall, wanted):
        console.print(Text(_title(waterfall, waterfall.metrics[at]), style="bold"), soft_wrap=True)
        console.print(_grid(waterfall, at))
    for line in (LEGEND, *waterfall.notes):
        console.print(line, markup=False, soft_wrap=True)
    return buffer.getvalue()


def _title(waterfall: Waterfall, headline: Headline) -> str:
    run = waterfall.run
    boots = "1 boot" if run.boots == 1 else f"{run.boots} boots"
    return (
        f"{run.experiment}: {headline.label or headline.name} {ARROWS[headline.better]}, "
        f"patch by patch; {boots} of each kernel on {run.machine}, seed {run.seed}"
    )


def _grid(waterfall: Waterfall, at: int) -> Table:
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    grid.add_column("patch", justify="right", min_width=5)
    # The one that gives way where the terminal is narrow.
    grid.add_column("", no_wrap=True, overflow="ellipsis", max_width=50)
    for heading, least in (("figure", 9), ("step", 7), ("of stock", 8)):
        grid.add_column(heading, justify="right", no_wrap=True, min_width=least)
    grid.add_column("", no_wrap=True, min_width=BAR_WIDTH)
    stock, effects = waterfall.baseline[at], [step.effects[at] for step in waterfall.steps]
    largest = max([stock or 0.0, *(effect.median for effect in effects if effect)])
    figure = "none" if stock is None else number(stock)
    grid.add_row("", f"stock {waterfall.stock}", figure, "", "", bar(stock, largest))
    part = ""
    for step, effect in zip(waterfall.steps, effects, strict=True):
        if step.part != part:
            part = step.part
            grid.add_row("", Text(part, style="bold"))
        grid.add_row(step.numbers, _what(step), *_cells(effect, largest))
    return grid


def _what(step: PatchStep) -> str:
    if len(step.subjects) == 1:
        return step.subjects[0]
    return f"{len(step.subjects)} patches" if step.subjects else step.kernel


def _cells(effect: Effect | None, largest: float) -> list[str | Text]:
    if effect is None:
        return [Text("none", style="dim"), "", "", ""]
    step = Text(f"{times(effect.to_before)} {SYMBOLS[effect.mark]}".strip())
    step.stylize(STYLES[effect.mark])
    return [number(effect.median), step, times(effect.to_stock), bar(effect.median, largest)]


def bar(value: float | None, largest: float) -> str:
    """Return a bar of at most BAR_WIDTH characters; nothing for no value."""
    if not value or largest <= 0:
        return ""
    eighths = round(value / largest * BAR_WIDTH * 8)
    return FULL * (eighths // 8) + PARTS[eighths % 8].strip()
