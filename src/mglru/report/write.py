# SPDX-License-Identifier: GPL-2.0-only
"""The last step: results in, files with their pages and pictures out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mglru.core.errors import LabError, UsageError
from mglru.core.files import write_whole
from mglru.core.ui import Ui
from mglru.report import page as pages
from mglru.report import picture as pictures
from mglru.report.charts.sweep import sweep_plot
from mglru.report.inputs import ReportInputs, load_inputs
from mglru.results.compare import Named
from mglru.results.model import RunResult
from mglru.study.sweep.file import Sweep

PAGE = Path("report.html")


def write_report(
    files: Sequence[str | Path],
    output: Path | None,
    picture: Path | None,
    ui: Ui,
    *,
    baseline: str | None,
    title: str,
) -> None:
    """Make a page, a picture or both of result files.

    Args:
        files: of any kind, or directories of them; see `load_inputs`.
        output: the page; None: none, or PAGE if there is no picture either.
        picture: an SVG of the headline ratios; None: none.
        ui: is told what was written.
        baseline: the kernel that ratios refer to; None: `baseline_of` decides.
        title: of the page.

    Raises:
        UsageError: a file is no result, has no such baseline, or is to be written to a directory.
        LabError: a file cannot be written.
    """
    if output is None and picture is None:
        output = PAGE
    for target in (output, picture):
        if target is not None and target.is_dir():
            raise UsageError(f"{target} is a directory", next_step="name a file in it")
    page = pages.make_page(load_inputs(files), baseline=baseline, title=title)
    if output is not None:
        text = pages.render(page, output)
        write(text, output)
        ui.note(f"{output}: {len(text.encode()) / 1e6:.1f} MB, {len(page.charts)} charts")
    if picture is not None:
        write(pictures.picture(page), picture)
        ui.note(f"{picture}: written")


def write_page(results: Sequence[RunResult], name: str, target: Path, title: str) -> None:
    """Make the page of results that are at hand.

    Args:
        results: one an experiment.
        name: of what they are of, as of a file without its suffix.
        target: the page.
        title: of the page.

    Raises:
        LabError: the file cannot be written.
    """
    inputs = ReportInputs(runs=[Named(name, result) for result in results])
    write(pages.render(pages.make_page(inputs, title=title), target), target)


def check_plot(path: Path) -> None:
    """Refuse a file that no plot can be written to, before there is anything to plot.

    Raises:
        UsageError: not an .svg, or in no directory.
    """
    if path.suffix != ".svg":
        raise UsageError(f"--plot {path}: plots are SVG", next_step="name a file that ends in .svg")
    if path.is_dir() or not path.parent.is_dir():
        raise UsageError(f"--plot {path}: no such directory", next_step="make it first")


def write_plot(sweep: Sweep, path: Path) -> bool:
    """Write the curves of a sweep; return whether there was anything to draw.

    Raises:
        LabError: the file cannot be written.
    """
    drawing = sweep_plot(sweep)
    if drawing:
        write(drawing, path)
    return bool(drawing)


def write(text: str, target: Path) -> None:
    """Write a page or picture, as a whole or not at all.

    Raises:
        LabError: the file cannot be written.
    """
    try:
        write_whole(target, text)
    except OSError as error:
        raise LabError(
            f"{target} cannot be written: {error.strerror}",
            next_step="name another file, or make its directory",
        ) from error
