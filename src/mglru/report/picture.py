# SPDX-License-Identifier: GPL-2.0-only
"""The picture for the README: the headline ratios of all experiments, as one SVG file."""

from __future__ import annotations

import json
import re

import altair as alt

from mglru.core.errors import UsageError
from mglru.core.keys import sha256_of
from mglru.report.charts.palette import DARK, LIGHT
from mglru.report.charts.summary import dots_of, height_of, spec
from mglru.report.charts.vega import FONT, Row, spec_of, to_svg
from mglru.report.page import Page

WIDTH = 500
# Of labels, on average, in pixels.
WIDEST_LETTER = 7.2
# Colours that the picture uses beside those of kernels.
USED = ("ink", "muted", "rule", "page")


def picture(page: Page) -> str:
    """Return the picture as SVG; it follows the reader's preference for light or dark.

    Raises:
        UsageError: the page has nothing to draw.
    """
    kernels, base = page.summary.kernels, page.summary.baseline or "the baseline"
    dots = picture_dots(page)
    if not dots:
        raise UsageError(
            "these results have no ratios to draw a picture of",
            next_step="name results of two kernels or more",
        )
    longest = max(len(dot["e"]) for dot in dots)
    chart = spec(dots, kernels, page.palette, base, LIGHT.__getitem__, _legend()).properties(
        padding=14,
        background=LIGHT["page"],
        title=_title(base),
        config=_config(longest * WIDEST_LETTER),
    )
    svg = to_svg(spec_of(chart, height_of(dots), WIDTH))
    looks = [page.palette.look(kernel).colour for kernel in kernels]
    head = f"<!-- SPDX-License-Identifier: GPL-2.0-only -->\n<!-- figures: {digest(dots)} -->\n"
    return head + _follow_the_scheme(svg, [*USED, *looks]) + "\n"


def picture_dots(page: Page) -> list[Row]:
    """Return the points of the picture, each row named after experiment and metric."""
    dots = [dot for line in page.summary.lines for dot in dots_of(line, page.summary.kernels)]
    return [dot | {"e": f"{dot['e']} · {dot['m'][:-2]}"} for dot in dots]


def digest(dots: list[Row]) -> str:
    """Return what tells whether a picture shows these figures."""
    return sha256_of(json.dumps(dots, sort_keys=True))


def _title(base: str) -> alt.TitleParams:
    return alt.TitleParams(
        f"How many times as good as stock Linux {base}",
        subtitle="First metric of each experiment; to the right is better (logarithmic). "
        "1 → 0: one became none.",
        anchor="start",
        frame="bounds",
        color=LIGHT["ink"],
        subtitleColor=LIGHT["muted"],
        offset=10,
    )


def _legend() -> alt.Legend:
    return alt.Legend(
        title=None, orient="bottom", direction="horizontal", symbolSize=90, symbolOpacity=1
    )


def _config(widest: float) -> alt.Config:
    return alt.Config(
        font=FONT,
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(
            labelColor=LIGHT["muted"],
            gridColor=LIGHT["rule"],
            domain=False,
            ticks=False,
            labelFontSize=12,
            labelPadding=6,
            labelLimit=widest,
        ),
        # Whoever looks may have a wider font than the one that the picture was laid out with.
        axisY=alt.AxisConfig(minExtent=widest),
        legend=alt.LegendConfig(labelColor=LIGHT["ink"], labelFontSize=12.5, columnPadding=20),
        title=alt.TitleConfig(fontSize=16, subtitleFontSize=12.5, subtitlePadding=5),
    )


def _follow_the_scheme(svg: str, names: list[str]) -> str:
    """Add a style sheet that replaces each light colour by its dark one where dark is wanted."""
    rules = " ".join(
        f'[{what}="{LIGHT[name]}" i]{{{what}:{DARK[name]}}}'
        for name in dict.fromkeys(names)
        for what in ("fill", "stroke")
    )
    style = f"<style>@media (prefers-color-scheme: dark){{{rules}}}</style>"
    return re.sub(r"(<svg[^>]*>)", lambda match: match[1] + style, svg, count=1)
