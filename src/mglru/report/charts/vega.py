# SPDX-License-Identifier: GPL-2.0-only
"""What charts have in common: how altair is asked for them, and the library that draws them.

Colours are names of the page's style sheet (`var(--ink)`), so a chart follows the page from
light to dark without being drawn again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import altair as alt
import vl_convert

from mglru.report.charts.palette import Paint, Palette, css

Spec = dict[str, Any]
Row = dict[str, Any]
# What altair gives for layers may be a facet, to its types.
Drawing = alt.Chart | alt.LayerChart | alt.FacetChart
VEGA_LITE = alt.SCHEMA_VERSION.removeprefix("v").rpartition(".")[0]
ROOM_FOR_AXIS = 44
# The rows of a chart stay in it, not in a place of their own.
alt.data_transformers.consolidate_datasets = False
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', sans-serif"


@dataclass(frozen=True)
class Chart:
    """One chart of the page.

    Attributes:
        key: its name in the page, unique.
        title: its heading.
        alt: what it shows, in words, for those who do not see it.
        spec: Vega-Lite's.
        note: how to read it; may be empty.
        wide: whether it takes the whole width of the page.
    """

    key: str
    title: str
    alt: str
    spec: Spec
    note: str = ""
    wide: bool = False

    @property
    def room(self) -> int:
        """The height to keep free until it is drawn, in pixels: its own, and that of the axis."""
        return int(self.spec["height"]) + ROOM_FOR_AXIS


def slug(text: str) -> str:
    """Return a text as a name that HTML and CSS accept."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def config() -> Spec:
    """Return what all charts have in common."""
    muted, rule = "var(--muted)", "var(--rule)"
    common = alt.Config(
        font=FONT,
        aria=False,  # the figure around it has the words
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(
            labelColor=muted,
            titleColor=muted,
            labelFontSize=11.5,
            titleFontSize=11.5,
            titleFontWeight="normal",
            domainColor=rule,
            tickColor=rule,
            gridColor=rule,
            labelLimit=172,
            labelOverlap=True,
        ),
        axisY=alt.AxisConfig(ticks=False, domain=False, labelPadding=6),
        line=alt.LineConfig(strokeWidth=1.8, strokeCap="butt"),
        text=alt.MarkConfig(color="var(--ink)", fontSize=11.5),
    )
    # The page's own background is behind it.
    return {"background": None, **common.to_dict()}


def rows(data: Iterable[Row]) -> alt.InlineData:
    """Return the rows of a chart, which stand in its specification."""
    return alt.InlineData(values=list(data))


def spec_of(chart: Drawing, height: int, width: int | str = "container") -> Spec:
    """Return the specification of a chart: of this height, as wide as the page allows."""
    sized = chart.properties(width=width, height=height)
    # As a part of something larger: the page has the library's version and what all have in common.
    return sized.to_dict(context={"top_level": False})


def by_kernel(
    kernels: Sequence[str],
    palette: Palette,
    paint: Paint = css,
    legend: alt.Legend | None = None,
) -> alt.Color:
    """Return an encoding of colour by kernel.

    Args:
        kernels: in order.
        palette: which look each has.
        paint: gives a colour by its name.
        legend: which is which; the page has its own, outside of its charts.
    """
    colours = [paint(palette.look(kernel).colour) for kernel in kernels]
    scale = alt.Scale(domain=list(kernels), range=colours)
    return alt.Color("k:N", scale=scale, legend=legend)


def dashes(
    kernels: Sequence[str], palette: Palette, legend: alt.Legend | None = None
) -> alt.StrokeDash:
    """Return an encoding of a line's dashes by kernel."""
    ranges = [list(palette.look(kernel).dash) or [1, 0] for kernel in kernels]
    scale = alt.Scale(domain=list(kernels), range=ranges)
    return alt.StrokeDash("k:N", scale=scale, legend=legend)


def shapes(kernels: Sequence[str], palette: Palette, legend: alt.Legend | None = None) -> alt.Shape:
    """Return an encoding of a point's shape by kernel."""
    ranges = [palette.look(kernel).shape for kernel in kernels]
    return alt.Shape("k:N", scale=alt.Scale(domain=list(kernels), range=ranges), legend=legend)


def tip(field: str, title: str, *, number: str | None = None) -> alt.Tooltip:
    """Return one line of a tooltip."""
    if number:
        return alt.Tooltip(field=field, type="quantitative", title=title, format=number)
    return alt.Tooltip(field=field, type="nominal", title=title)


def hover(*tips: alt.Tooltip) -> alt.Chart:
    """Return a layer of points that are not seen, but say their figures under the pointer."""
    # altair's `encode` has no type.
    layer: alt.Chart = (
        alt.Chart().mark_point(filled=True, opacity=0, size=90).encode(tooltip=list(tips))
    )
    return layer


@cache
def library() -> str:
    """Return the JavaScript of Vega, Vega-Lite and Vega-Embed, to be put into a page."""
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", VEGA_LITE)
    return bundle.replace("</script", "<\\/script")


def to_svg(spec: Spec) -> str:
    """Return a chart as an SVG picture."""
    picture: str = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE)
    return picture
