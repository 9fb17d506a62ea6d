# SPDX-License-Identifier: GPL-2.0-only
"""The waterfall: from the stock kernel to the whole series, one bar a patch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import altair as alt

from mglru.core.figures import number
from mglru.report.charts.vega import Chart, Row, Spec, rows, slug, spec_of, tip
from mglru.results.marks import Mark
from mglru.results.model import Headline
from mglru.results.tables import ARROWS, times
from mglru.study.waterfall.waterfall import Waterfall

COLOURS = {
    Mark.BETTER: "var(--better)",
    Mark.WORSE: "var(--worse)",
    Mark.SAME: "var(--stock)",
    Mark.NONE: "var(--muted)",
}
# A bar of no height would not be seen: this much of the axis.
THINNEST = 0.008
# Below this factor between its ends, a linear axis looks the same and has better ticks.
NARROW = 1.5
UNKNOWN = "unknown"
HEIGHT = 210


def waterfall_charts(waterfall: Waterfall, key: str) -> list[Chart]:
    """Draw one chart for each headline metric that has ratios."""
    charts = [_chart(waterfall, headline, at, key) for at, headline in enumerate(waterfall.metrics)]
    return [chart for chart in charts if chart]


def _chart(waterfall: Waterfall, headline: Headline, at: int, key: str) -> Chart | None:
    bars = _bars(waterfall, at)
    if not bars:
        return None
    name = headline.label or headline.name
    return Chart(
        f"{key}-waterfall-{slug(headline.name)}",
        f"{name} {ARROWS[headline.better]}",
        f"Waterfall: {name} as a ratio to {waterfall.stock} after each patch; "
        f"with all of them {bars[-1]['all']}. The table has the figures.",
        _spec(bars, waterfall.stock),
    )


def _bars(waterfall: Waterfall, at: int) -> list[Row]:
    """Return a bar for each step of a metric, from the ratio before it to its own."""
    bars: list[Row] = []
    before = 1.0
    for step in waterfall.steps:
        effect = step.effects[at]
        if effect is None or not effect.to_stock or effect.to_before is None:
            continue
        bars.append(
            {
                "p": step.numbers,
                "part": step.part or "the series",
                "s": "; ".join(step.subjects) or step.kernel,
                "from": round(before, 5),
                "to": round(effect.to_stock, 5),
                "step": times(effect.to_before),
                "all": times(effect.to_stock),
                "v": number(effect.median),
                "mark": str(effect.mark) or UNKNOWN,
            }
        )
        before = effect.to_stock
    return bars


def _spec(bars: list[Row], stock: str) -> Spec:
    ends = [bar[end] for bar in bars for end in ("from", "to")]
    room = (max(ends) / min(ends)) ** 0.06 * 1.002
    domain = [min(ends) / room, max(ends) * room]
    thin = (domain[1] / domain[0]) ** (THINNEST / 2)
    if domain[1] / domain[0] > NARROW:
        scale = alt.Scale(type="log", domain=domain, nice=False)
    else:
        scale = alt.Scale(type="linear", domain=domain, nice=False, zero=False)
    one = (
        alt.Chart(rows([{}]))
        .mark_rule(stroke="var(--rule)", strokeWidth=1.5)
        .encode(y=alt.YDatum(1, type="quantitative", scale=scale))
    )
    x = partial(alt.X, "p:O", sort=[bar["p"] for bar in bars], title="patch")
    return spec_of(
        alt.layer(one, *_parts(bars, x), _bars_layer(bars, x, scale, stock, thin)), HEIGHT
    )


def _bars_layer(
    bars: list[Row], x: Callable[..., alt.X], scale: alt.Scale, stock: str, thin: float
) -> alt.Chart:
    marks = [str(mark) or UNKNOWN for mark in COLOURS]
    colours = alt.Scale(domain=marks, range=list(COLOURS.values()))
    tips = [tip("p", "patch"), tip("s", "subject"), tip("part", "part"), tip("step", "effect")]
    tips += [tip("all", f"to {stock}"), tip("v", "median"), tip("mark", "so it is")]
    axis = alt.Axis(format="~g", tickCount=5)
    layer: alt.Chart = (
        alt.Chart(rows(bars))
        .transform_calculate(
            top=f"max(datum.from, datum.to) * {thin:.6f}",
            foot=f"min(datum.from, datum.to) / {thin:.6f}",
        )
        .mark_bar(stroke=None, cornerRadius=1)
        .encode(
            x=x(axis=alt.Axis(labelAngle=0, grid=False)),
            y=alt.Y("foot:Q", title=f"ratio to {stock}", scale=scale, axis=axis),
            y2="top",
            color=alt.Color("mark:N", scale=colours, legend=None),
            tooltip=tips,
        )
    )
    return layer


def _parts(bars: list[Row], x: Callable[..., alt.X]) -> list[alt.Chart]:
    """Draw a line before the first patch of each part but the first."""
    first = [{"p": bar["p"]} for earlier, bar in pairwise(bars) if bar["part"] != earlier["part"]]
    line = alt.Chart(rows(first)).mark_rule(stroke="var(--muted)", strokeDash=[3, 3])
    return [line.encode(x=x(bandPosition=0))] if first else []
