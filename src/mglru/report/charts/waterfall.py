# SPDX-License-Identifier: GPL-2.0-only
"""The waterfall: from the stock kernel to the whole series, one bar a patch."""

from __future__ import annotations

from itertools import pairwise

from mglru.core.figures import number
from mglru.report.charts.vega import Chart, Spec, base, slug, tip
from mglru.results.marks import Mark
from mglru.results.model import Headline
from mglru.results.tables import ARROWS, times
from mglru.study.waterfall import Waterfall

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


def _bars(waterfall: Waterfall, at: int) -> list[Spec]:
    """Return a bar for each step of a metric, from the ratio before it to its own."""
    bars: list[Spec] = []
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


def _spec(bars: list[Spec], stock: str) -> Spec:
    ends = [bar[end] for bar in bars for end in ("from", "to")]
    room = (max(ends) / min(ends)) ** 0.06 * 1.002
    domain = [min(ends) / room, max(ends) * room]
    kind = "log" if domain[1] / domain[0] > NARROW else "linear"
    scale: Spec = {"type": kind, "domain": domain, "nice": False}
    scale |= {} if kind == "log" else {"zero": False}
    thin = (domain[1] / domain[0]) ** (THINNEST / 2)
    axis = {"format": "~g", "tickCount": 5}
    y = {"type": "quantitative", "title": f"ratio to {stock}", "scale": scale, "axis": axis}
    x = {"field": "p", "type": "ordinal", "sort": [bar["p"] for bar in bars], "title": "patch"}
    return {
        **base(bars),
        "height": 210,
        "layer": [
            {
                "mark": {"type": "rule", "stroke": "var(--rule)", "strokeWidth": 1.5},
                "data": {"values": [{}]},
                "encoding": {"y": {"datum": 1, "type": "quantitative", "scale": scale}},
            },
            *_parts(bars, x),
            _bars_layer(x, y, stock, thin),
        ],
    }


def _bars_layer(x: Spec, y: Spec, stock: str, thin: float) -> Spec:
    marks = [str(mark) or UNKNOWN for mark in COLOURS]
    colours = {"domain": marks, "range": list(COLOURS.values())}
    tips = [tip("p", "patch"), tip("s", "subject"), tip("part", "part"), tip("step", "effect")]
    tips += [tip("all", f"to {stock}"), tip("v", "median"), tip("mark", "so it is")]
    top = f"max(datum.from, datum.to) * {thin:.6f}"
    foot = f"min(datum.from, datum.to) / {thin:.6f}"
    return {
        "mark": {"type": "bar", "stroke": None, "cornerRadius": 1},
        "transform": [{"calculate": top, "as": "top"}, {"calculate": foot, "as": "foot"}],
        "encoding": {
            "x": {**x, "axis": {"labelAngle": 0, "grid": False}},
            "y": {**y, "field": "foot"},
            "y2": {"field": "top"},
            "color": {"field": "mark", "type": "nominal", "scale": colours, "legend": None},
            "tooltip": tips,
        },
    }


def _parts(bars: list[Spec], x: Spec) -> list[Spec]:
    """Draw a line before the first patch of each part but the first."""
    first = [{"p": bar["p"]} for earlier, bar in pairwise(bars) if bar["part"] != earlier["part"]]
    dashed = {"type": "rule", "stroke": "var(--muted)", "strokeDash": [3, 3]}
    line = {
        "data": {"values": first},
        "mark": dashed,
        "encoding": {"x": {**x, "bandPosition": 0}},
    }
    return [line] if first else []
