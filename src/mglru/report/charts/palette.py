# SPDX-License-Identifier: GPL-2.0-only
"""Colours of the page, by name, for light and for dark; and which kernel has which.

The colours of kernels were chosen so that any two of the first four differ by at least 0.09
in OKLab for normal sight and for each of the three kinds of dichromacy (Machado, Oliveira and
Fernandes, 2009), and all have a contrast of at least 3:1 with the page. Lines and points also
differ by dashes and shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from mglru.core.errors import UsageError
from mglru.source.kernel_id import KernelId

LIGHT = {
    "page": "#ffffff",
    "panel": "#f6f7f9",
    "ink": "#1b2027",
    "muted": "#57606c",
    "rule": "#dfe3e8",
    "link": "#1558b8",
    "better": "#0a6148",
    "better-soft": "#e2f2ec",
    "worse": "#b3330a",
    "worse-soft": "#fcebe4",
    "classic": "#0a6148",
    "stock": "#8b909c",
    "newest": "#1766d6",
    "ours": "#d9541e",
    "extra1": "#74258a",
    "extra2": "#6b5200",
    "extra3": "#0f8f9c",
    "extra4": "#a3195b",
    "published": "#57606c",
    "age0": "#0b4f8a",
    "age1": "#2f86c4",
    "age2": "#7fbbe3",
    "age3": "#c3def2",
}
DARK = {
    "page": "#12161b",
    "panel": "#1a2027",
    "ink": "#e8ebef",
    "muted": "#a3adb9",
    "rule": "#313a45",
    "link": "#7db7ff",
    "better": "#7fdcc0",
    "better-soft": "#143229",
    "worse": "#ff9a6b",
    "worse-soft": "#3b2116",
    "classic": "#86e3d0",
    "stock": "#939fad",
    "newest": "#3d8fd6",
    "ours": "#f0773c",
    "extra1": "#a56cf0",
    "extra2": "#f7dd63",
    "extra3": "#4cc3cf",
    "extra4": "#ee7fb0",
    "published": "#a3adb9",
    "age0": "#d3e9fb",
    "age1": "#86bfe9",
    "age2": "#3f83b8",
    "age3": "#1f4d73",
}
EXTRAS = ("extra1", "extra2", "extra3", "extra4")
# What sets kernels apart beside the colour: [line, gap] in pixels, and a Vega shape.
DASHES = {"classic": [6, 3], "newest": [2, 2], "extra1": [8, 2, 2, 2], "extra3": [1, 3]}
SHAPES = {"classic": "square", "newest": "diamond", "ours": "circle", "stock": "cross"}


Paint = Callable[[str], str]


def css(name: str) -> str:
    """Return a colour as the page's style sheet knows it."""
    return f"var(--{name})"


@dataclass(frozen=True)
class Look:
    """How a kernel is drawn: the name of its colour, its line's dashes, its point's shape."""

    colour: str
    dash: tuple[int, ...]
    shape: str

    @property
    def css(self) -> str:
        """The colour, as the page's style sheet knows it."""
        return css(self.colour)

    @property
    def dash_css(self) -> str:
        """The dashes, as SVG writes them."""
        return " ".join(map(str, self.dash))


def _look(colour: str) -> Look:
    return Look(colour, tuple(DASHES.get(colour, ())), SHAPES.get(colour, "triangle-up"))


class Palette:
    """The look of every kernel of a report, the same wherever it is drawn."""

    def __init__(self, kernels: Iterable[str] = ()) -> None:
        self._looks: dict[str, Look] = {}
        for kernel in kernels:
            self.look(kernel)

    def look(self, kernel: str) -> Look:
        """Return a kernel's look; one that has no colour of its own gets the next free one."""
        if kernel not in self._looks:
            self._looks[kernel] = _look(_own_colour(kernel) or self._next_extra())
        return self._looks[kernel]

    def _next_extra(self) -> str:
        taken = sum(look.colour in EXTRAS for look in self._looks.values())
        return EXTRAS[taken % len(EXTRAS)]


def _own_colour(kernel: str) -> str | None:
    """Return the colour of the kernels that everything is compared with, else None."""
    try:
        named = KernelId.parse(kernel)
    except UsageError:  # a label such as `6.12 [file]`
        return None
    own = {
        KernelId("6.12", classic=True): "classic",
        KernelId("6.12"): "stock",
        KernelId("7.3"): "newest",
        KernelId("6.12", series=True): "ours",
    }
    return own.get(named)
