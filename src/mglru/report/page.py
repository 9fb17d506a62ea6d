# SPDX-License-Identifier: GPL-2.0-only
"""Step 3 of a report: the page, from its sections and the templates beside this file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from mglru.core.figures import number
from mglru.core.paths import REPO
from mglru.report.charts import palette as colours
from mglru.report.charts.palette import Palette
from mglru.report.charts.ratio import heading
from mglru.report.charts.summary import summary_charts
from mglru.report.charts.vega import FONT, Chart, config, library
from mglru.report.inputs import ReportInputs
from mglru.report.sections import Section, make_sections
from mglru.report.summary import Summary, SummaryLine, summarise
from mglru.results import tables
from mglru.results.compare import Cell
from mglru.results.marks import Mark
from mglru.series.state import FOOTNOTE

TEMPLATES = Path(__file__).parent / "templates"
# What a page says about its limits, and where to read more.
LIMITS = (
    (
        "The machine is User Mode Linux: one CPU, no huge pages, no walker of page tables.",
        "docs/lab/methodology.md",
    ),
    (
        "In virtual time computing costs nothing: throughput is what waiting for the disk and "
        "for memory allows, and the CPU cost of reclaim is not seen.",
        "docs/lab/methodology.md",
    ),
    (
        "Workloads are scaled down, usually to 1/64, with their ratios kept: compare ratios "
        "between kernels, not figures with other machines.",
        "docs/lab/methodology.md",
    ),
    (
        "How near the stock kernel's profile is to the published one is said with each "
        "experiment; where it is far, the published ratio is only a direction.",
        "docs/use/experiments.md",
    ),
    (
        "Experiments in real time (their tables say so) depend on the host.",
        "docs/lab/methodology.md",
    ),
    ("The series is not finished; what is known to be worse is listed.", "README.md"),
)
# JSON without its brackets and quotes is easier to read.
BRACES = str.maketrans("", "", '{}"')
WORDS = {
    Mark.BETTER: "better",
    Mark.WORSE: "worse",
    Mark.SAME: "the same",
    Mark.NONE: "",
}


@dataclass(frozen=True)
class Page:
    """Everything that the templates show."""

    title: str
    palette: Palette
    kernels: tuple[str, ...]
    sections: tuple[Section, ...]
    summary: Summary
    summary_charts: tuple[Chart, ...]

    @property
    def charts(self) -> list[Chart]:
        """All charts, in the order of the page."""
        return [*self.summary_charts, *(c for section in self.sections for c in section.charts)]


def make_page(inputs: ReportInputs, *, baseline: str | None = None, title: str) -> Page:
    """Put the page together.

    Args:
        inputs: what the files hold.
        baseline: the kernel that ratios refer to; None: `baseline_of` decides.
        title: of the page.

    Raises:
        UsageError: an experiment has no such baseline.
    """
    palette = Palette(_kernels(inputs))
    sections = make_sections(inputs, palette, baseline)
    summary = summarise([m.comparison for section in sections for m in section.measured])
    kernels = tuple(dict.fromkeys(kernel for each in sections for kernel in each.kernels))
    charts = tuple(summary_charts(summary, palette))
    return Page(title, palette, kernels, tuple(sections), summary, charts)


def _kernels(inputs: ReportInputs) -> Iterable[str]:
    """Name all kernels in an order that depends on the files alone, for their colours."""
    for each in inputs.runs:
        yield from each.run.kernels
    for sweep in inputs.sweeps:
        yield from sweep.kernels
    for bound in inputs.bounds:
        yield from bound.kernels


def render(page: Page, target: Path | None = None) -> str:
    """Return the page as HTML.

    Args:
        page: what it shows.
        target: where it will lie; a file of the repository links to its documents.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    environment.filters["breakable"] = breakable
    environment.filters["plain"] = lambda value: json.dumps(value).translate(BRACES)
    environment.globals.update(_helpers(page, target))
    return environment.get_template("page.html").render(page=page, summary=page.summary)


def _helpers(page: Page, target: Path | None) -> dict[str, Any]:
    specs = {chart.key: chart.spec for chart in page.charts}
    return {
        "look": page.palette.look,
        "number": number,
        "times": tables.times,
        "heading": heading,
        "interval": interval,
        "says": says,
        "without_ratio": without_ratio,
        "words": WORDS,
        "symbols": {**tables.SYMBOLS, Mark.WORSE: "−"},  # noqa: RUF001  a minus, not a hyphen
        "footer": tables.footer,
        "document": lambda name: document(name, target),
        "limits": LIMITS,
        "state_note": FOOTNOTE,
        "light": colours.LIGHT,
        "dark": colours.DARK,
        "font": Markup(FONT),  # noqa: S704  a constant of ours, with quotes
        "specs": script_json(specs),
        "config": script_json(config()),
        "library": Markup(library()),  # noqa: S704  the library's own JavaScript
        "include_file": lambda name: Markup((TEMPLATES / name).read_text()),  # noqa: S704
        "REFAULTS": "workingset_refault_file",
    }


def breakable(text: str) -> Markup:
    """Return a name that a narrow column may break after an underscore."""
    return Markup("_<wbr>").join(text.split("_"))


def script_json(value: object) -> Markup:
    """Return JSON that can stand inside a script element."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    safe = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return Markup(safe)  # noqa: S704  no < is left


def interval(cell: Cell) -> str:
    """Return the interval of a ratio as tables write it; nothing if it is exact or missing."""
    if cell.interval is None or cell.interval.exact:
        return ""
    low, high = tables.times(cell.interval.low), tables.times(cell.interval.high)
    return f"{low}..{high}".replace("x", "")


def says(cell: Cell, *, is_baseline: bool) -> str:
    """Return the ratio of a cell as tables write it; nothing for the baseline."""
    return "" if is_baseline else tables.times(cell.ratio)


def without_ratio(line: SummaryLine, cell: Cell) -> str:
    """Return the figure of a cell whose baseline is zero, as `0 → 11`."""
    if cell.median == line.baseline:
        return number(cell.median)
    return f"{number(line.baseline)} → {number(cell.median)}"


def document(name: str, target: Path | None) -> str | None:
    """Return the address of a document of the repository, seen from a page that lies in it."""
    if target is None or not target.resolve().is_relative_to(REPO):
        return None
    return Path(os.path.relpath(REPO / name, target.resolve().parent)).as_posix()
