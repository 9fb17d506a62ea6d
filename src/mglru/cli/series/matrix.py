# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru series check --matrix`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from rich.table import Table

from mglru.checks.matrix.build import compile_side, stock_and_next
from mglru.checks.matrix.check import MatrixOutcome, check_matrix, to_document
from mglru.checks.matrix.config import Configuration, load_configurations
from mglru.cli.common import terminal
from mglru.core.errors import ExitCode, UsageError
from mglru.core.ui import Ui
from mglru.debian import packages
from mglru.results.output_file import STDOUT, OutputFile
from mglru.results.tables import text_console
from mglru.run.kernels import import_sources
from mglru.series.listing import load_series
from mglru.source.kernel_id import SERIES_BASES, KernelId
from mglru.source.trees import Source, get_source


class MatrixFile(OutputFile):
    """The outcomes as JSON."""

    document: dict[str, object] | None = None

    def text(self) -> str:
        """Return the document, nothing before there is one."""
        return json.dumps(self.document, indent=1) + "\n" if self.document else ""


def check_matrices(
    bases: Sequence[str], own_sources: Sequence[Path], only: Sequence[str], json_file: str | None
) -> int:
    """Compile the series of a base under every configuration, show what came of it.

    Raises:
        UsageError: more than one base, or no such configuration.
        LabError: no source, or no compiler.
    """
    base = KernelId.parse(f"{_one(bases)}+next").base
    configurations = load_configurations(only)
    ui = Ui()
    with MatrixFile.wanted(json_file) as file:
        packages.ensure(_packages(configurations), ui)
        source = import_sources(own_sources, ui).get(base) or get_source(base, note=ui.note)
        outcomes = _check(base, source, configurations, ui)
        if file:
            file.document = to_document(base, source.version, outcomes)
            file.write()
    if json_file != STDOUT:
        width, colour = terminal()
        click.echo(render(outcomes, width=width, colour=colour), nl=False)
    passed = all(outcome.passed for outcome in outcomes)
    return ExitCode.OK if passed else ExitCode.EXPECTATION_FAILED


def _one(bases: Sequence[str]) -> str:
    if len(bases) > 1:
        raise UsageError("--matrix checks one base at a time", next_step=f"name {bases[0]} alone")
    return bases[0] if bases else SERIES_BASES[0]


def _packages(configurations: Sequence[Configuration]) -> dict[str, str]:
    needed = dict(packages.MATRIX)
    for configuration in configurations:
        needed |= configuration.packages
    return needed


def _check(
    base: str, source: Source, configurations: Sequence[Configuration], ui: Ui
) -> tuple[MatrixOutcome, ...]:
    series = load_series(base)
    pairs = [stock_and_next(each, source, series) for each in configurations]
    return check_matrix(
        pairs,
        lambda task: compile_side(task, ui),
        lambda outcome: ui.note(f"{outcome.configuration.name}: {_word(outcome)}"),
    )


def _word(outcome: MatrixOutcome) -> str:
    return "passed" if outcome.passed else "FAILED"


def render(
    outcomes: Sequence[MatrixOutcome], *, width: int | None = None, colour: bool = False
) -> str:
    """Return a table, and below it every new message and whatever did not compile.

    Args:
        outcomes: what `check_matrix` gave.
        width: of the terminal, in characters.
        colour: whether the terminal has colours.
    """
    console, buffer = text_console(width, colour=colour)
    console.print(_table(outcomes))
    for outcome in outcomes:
        for line in _lines(outcome):
            text = f"{outcome.configuration.name}: {line}"
            console.print(text, markup=False, soft_wrap=True)
    return buffer.getvalue()


def _table(outcomes: Sequence[MatrixOutcome]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("configuration", "arch"):
        table.add_column(heading, no_wrap=True)
    table.add_column("what")
    for heading in ("objects", "messages of stock", "new"):
        table.add_column(heading, justify="right")
    table.add_column("outcome", no_wrap=True)
    for outcome in outcomes:
        it = outcome.configuration
        numbers = [str(n) for n in (outcome.objects, outcome.stock, len(outcome.new))]
        table.add_row(it.name, it.arch, it.about, *numbers, _word(outcome))
    return table


def _lines(outcome: MatrixOutcome) -> Iterator[str]:
    yield from outcome.problem
    yield from (f"{name} does not compile" for name in outcome.failed)
    yield from (f"{name} does not compile, nor does stock's" for name in outcome.broken)
    yield from (str(message) for message in outcome.new)
