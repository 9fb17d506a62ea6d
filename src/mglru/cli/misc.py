# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru test`, `experiments` and `kernels`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from mglru.cli.known import UML
from mglru.core.errors import UsageError
from mglru.source.kernel_id import BASES, SERIES_BASES, KernelId

if TYPE_CHECKING:
    from rich.table import Table


@click.command()
@click.option("--quick", is_flag=True, help="Only what needs no kernel.")
@click.option(
    "--machine",
    type=click.Choice([UML, "qemu"]),
    default=UML,
    show_default=True,
    help="qemu: only the tests that boot kernels on x86, which CI has no time for.",
)
def test(*, quick: bool, machine: str) -> int:
    """Run all that CI runs: linters, types, tests, the series, builds and boots.

    Of the series it builds the whole, and compiles what is touched where a part ends;
    `./mglru series check` builds each patch.
    """
    from mglru.checks.ci import run_ci
    from mglru.core.ui import Ui

    return run_ci(Ui(), quick=quick, machine=machine)


def _table(*headings: str) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


WORDS = {"real": "in real time", "instructions": "for --machine qemu"}


@click.command()
@click.argument("suites", nargs=-1, metavar="[SUITE...]")
@click.option("--schema", is_flag=True, help="Print the JSON schema of an experiment's file.")
def experiments(suites: tuple[str, ...], *, schema: bool) -> None:
    """List the experiments by suite; each is told once, where its file lies."""
    from rich.console import Console

    from mglru.experiment.schema import file_schema
    from mglru.study.suite.families import all_suites

    if schema:
        if suites:
            raise UsageError("--schema is the same for all suites", next_step="name none")
        click.echo(json.dumps(file_schema(), indent=2))
        return
    found = all_suites()
    if unknown := [name for name in suites if name not in found]:
        raise UsageError(f"no suite '{unknown[0]}'", next_step=f"there are: {', '.join(found)}")
    console = Console(emoji=False)
    for suite in suites or found:
        console.print(f"[bold]{suite}[/bold]")
        table = _table("  experiment", "points", "what it does")
        for experiment in found[suite]:
            at_home = suites or experiment.folder in (suite, None)
            points = str(len(experiment.points) or "")
            time = "" if experiment.time == "virtual" else f" ({WORDS[experiment.time]})"
            says = f"{experiment.summary}{time}" if at_home else f"(see {experiment.folder})"
            table.add_row(f"  {experiment.name}", points, says)
        console.print(table)
        console.print()
    console.print("All of a suite: ./mglru run --suite NAME", markup=False)


@click.command()
def kernels() -> None:
    """List the kernels, and which of them are built."""
    from rich.console import Console

    from mglru.series.listing import load_series

    table = _table("kernel", "what it is", "state")
    for base in BASES:
        table.add_row(base, f"Linux {base} as Debian ships it", _state(KernelId(base)))
        if base in SERIES_BASES:
            patches = load_series(base).patches
            table.add_row(f"{base}+next", "with our series", _state(KernelId(base, series=True)))
            for patch in patches:
                table.add_row(f"{base}+next:{patch.number}", f"... to: {patch.subject}", "")
    table.add_row("KERNEL@classic", "the multi-gen LRU switched off at run time", "")
    table.add_row(
        "KERNEL%OPTION=n,...",
        "another configuration; %debug, %checks, %kunit, %filesystems: as in kconfig/",
        "",
    )
    Console().print(table)


def _state(kernel: KernelId) -> str:
    from mglru.build.build import find_build
    from mglru.build.recipe import make_recipe
    from mglru.source.trees import cached

    source = cached(kernel.base)
    if source is None:
        return "source not fetched"
    built = find_build(make_recipe(kernel, source))
    return f"{source.version}, {'built' if built else 'not built'}"
