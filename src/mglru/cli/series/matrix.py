# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru series check --matrix`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mglru.cli.common import terminal
from mglru.core.errors import ExitCode

if TYPE_CHECKING:
    from rich.table import Table

    from mglru.checks.matrix.check import MatrixOutcome


def check_matrices(
    bases: Sequence[str], own_sources: Sequence[Path], only: Sequence[str], json_file: str | None
) -> int:
    """Compile the series of a base under every configuration, show what came of it.

    Raises:
        UsageError: more than one base, or no such configuration.
        LabError: no source, or no compiler.
    """
    from mglru.checks.matrix.run import run_matrix
    from mglru.core.ui import Ui
    from mglru.results.output_file import STDOUT

    outcomes = run_matrix(bases, own_sources, only, json_file, Ui())
    if json_file != STDOUT:
        width, colour = terminal()
        click.echo(render(outcomes, width=width, colour=colour), nl=False)
    passed = all(outcome.passed for outcome in outcomes)
    return ExitCode.OK if passed else ExitCode.EXPECTATION_FAILED


def render(
    outcomes: Sequence[MatrixOutcome], *, width: int | None = None, colour: bool = False
) -> str:
    """Return a table, and below it every new message and whatever did not compile.

    Args:
        outcomes: what `check_matrix` gave.
        width: of the terminal, in characters.
        colour: whether the terminal has colours.
    """
    from mglru.results.tables import text_console

    console, buffer = text_console(width, colour=colour)
    console.print(_table(outcomes))
    for outcome in outcomes:
        for line in _lines(outcome):
            text = f"{outcome.configuration.name}: {line}"
            console.print(text, markup=False, soft_wrap=True)
    return buffer.getvalue()


def _table(outcomes: Sequence[MatrixOutcome]) -> Table:
    from rich.table import Table

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
        table.add_row(it.name, it.arch, it.about, *numbers, outcome.word)
    return table


def _lines(outcome: MatrixOutcome) -> Iterator[str]:
    yield from outcome.problem
    yield from (f"{name} does not compile" for name in outcome.failed)
    yield from (f"{name} does not compile, nor does stock's" for name in outcome.broken)
    yield from (str(message) for message in outcome.new)
