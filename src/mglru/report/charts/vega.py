# SPDX-License-Identifier: GPL-2.0-only
"""Charts as Vega-Lite specifications, and the library that draws them.

Colours are names of the page's style sheet (`var(--ink)`), so a chart follows the page from
light to dark without being drawn again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import vl_convert

from mglru.report.charts.palette import Palette

Spec = dict[str, Any]
VEGA_LITE = "6.4"
ROOM_FOR_AXIS = 44
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
    text = {"labelColor": "var(--muted)", "titleColor": "var(--muted)"}
    return {
        "font": FONT,
        "background": None,
        "aria": False,  # the figure around it has the words
        "view": {"stroke": None},
        "axis": {
            **text,
            "labelFontSize": 11.5,
            "titleFontSize": 11.5,
            "titleFontWeight": "normal",
            "domainColor": "var(--rule)",
            "tickColor": "var(--rule)",
            "gridColor": "var(--rule)",
            "labelLimit": 172,
            "labelOverlap": True,
        },
        "axisY": {"ticks": False, "domain": False, "labelPadding": 6},
        "line": {"strokeWidth": 1.8, "strokeCap": "butt"},
        "text": {"color": "var(--ink)", "fontSize": 11.5},
    }


def base(data: Iterable[Spec]) -> Spec:
    """Return the beginning of a specification: its data, as wide as the page allows."""
    return {"width": "container", "data": {"values": list(data)}}


def by_kernel(kernels: Sequence[str], palette: Palette, title: str | None = None) -> Spec:
    """Return an encoding of colour by kernel; the page's own legend says which is which."""
    looks = [palette.look(kernel).css for kernel in kernels]
    scale = {"domain": list(kernels), "range": looks}
    return {"field": "k", "type": "nominal", "scale": scale, "legend": None, "title": title}


def dashes(kernels: Sequence[str], palette: Palette) -> Spec:
    """Return an encoding of a line's dashes by kernel."""
    ranges = [list(palette.look(kernel).dash) or [1, 0] for kernel in kernels]
    scale = {"domain": list(kernels), "range": ranges}
    return {"field": "k", "type": "nominal", "scale": scale, "legend": None}


def shapes(kernels: Sequence[str], palette: Palette) -> Spec:
    """Return an encoding of a point's shape by kernel."""
    ranges = [palette.look(kernel).shape for kernel in kernels]
    scale = {"domain": list(kernels), "range": ranges}
    return {"field": "k", "type": "nominal", "scale": scale, "legend": None}


def tip(field: str, title: str, *, number: str | None = None) -> Spec:
    """Return one line of a tooltip."""
    kind = {"type": "quantitative", "format": number} if number else {"type": "nominal"}
    return {"field": field, "title": title, **kind}


def hover(*tips: Spec) -> Spec:
    """Return a layer of points that are not seen, but say their figures under the pointer."""
    return {
        "mark": {"type": "point", "filled": True, "opacity": 0, "size": 90},
        "encoding": {"tooltip": list(tips)},
    }


@cache
def library() -> str:
    """Return the JavaScript of Vega, Vega-Lite and Vega-Embed, to be put into a page."""
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", VEGA_LITE)
    return bundle.replace("</script", "<\\/script")


def to_svg(spec: Spec) -> str:
    """Return a chart as an SVG picture."""
    picture: str = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE)
    return picture
