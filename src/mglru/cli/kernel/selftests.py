# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru kernel selftests`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mglru.cli.common import KERNELS, machine_option, source_option
from mglru.core.errors import ExitCode
from mglru.source.kernel_id import KernelId

if TYPE_CHECKING:
    from rich.console import Console

    from mglru.checks.selftests.run import CaseRow, KernelRun
    from mglru.checks.selftests.tap import Result

DEFAULT_KERNELS = "6.12,6.12+next"


@click.command()
@click.option(
    "--kernels",
    type=KERNELS,
    default=DEFAULT_KERNELS,
    show_default=True,
    metavar="A,B",
    help="The first is what the others are compared with.",
)
@click.option("--only", multiple=True, metavar="GLOB", help="Only these: cgroup, test_core, 'm*'.")
@click.option("--all", "everything", is_flag=True, help="Show every case, not each program's sum.")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Keep what the programs print, a file a kernel.",
)
@click.option("--json", "json_file", metavar="FILE|-", help="Write the results as JSON.")
@machine_option
@source_option
def selftests(
    kernels: tuple[KernelId, ...],
    *,
    only: tuple[str, ...],
    everything: bool,
    output: Path | None,
    json_file: str | None,
    machine: str,
    own_sources: tuple[Path, ...],
) -> int:
    """Run the kernel's selftests of cgroups and memory on kernels, and compare.

    Each kernel is built with kconfig/selftests.config, and its programs are compiled from its own
    source: those of the series run where the series is. Exit code 1 if a kernel does not pass what
    the first one does, fails what the first one does not have, or complains.
    """
    from rich.console import Console

    from mglru.checks.selftests.document import passed
    from mglru.checks.selftests.kernels import WantedPrograms, run_programs
    from mglru.checks.selftests.run import compare
    from mglru.core.ui import Ui
    from mglru.results.output_file import STDOUT

    wanted = WantedPrograms(
        kernels=kernels,
        machine=machine,
        only=only,
        output=output,
        json_file=json_file,
        own_sources=own_sources,
    )
    runs = run_programs(wanted, Ui())
    if json_file != STDOUT:
        show(runs, Console(soft_wrap=True, highlight=False), everything=everything)
    return ExitCode.OK if passed(runs, compare(runs)) else ExitCode.EXPECTATION_FAILED


def show(runs: Sequence[KernelRun], out: Console, *, everything: bool) -> None:
    """Print test x kernel, then every difference and every complaint."""
    from rich.table import Table

    from mglru.checks.selftests.run import compare
    from mglru.checks.selftests.tap import Result

    rows = compare(runs)
    table = Table(box=None, pad_edge=False)
    for heading in ("test", *(["case"] if everything else []), *(run.kernel for run in runs)):
        table.add_column(heading, overflow="fold")
    for cells in _cases(rows) if everything else _programs(rows, len(runs)):
        table.add_row(*cells)
    out.print(table)
    for row in rows:
        if row.regressed or Result.FLAKY in row.results:
            words = ", ".join(
                f"{run.kernel} {_word(result)}"
                for run, result in zip(runs, row.results, strict=True)
            )
            out.print(f"{row.program}: {row.case or 'all of it'}: {words}", markup=False)
    for run in runs:
        for problem in run.problems:
            out.print(f"{run.kernel}: {problem}", markup=False)
    count = sum(row.regressed for row in rows)
    out.print(f"{len(rows)} cases, {count} worse than on {runs[0].kernel}", markup=False)


def _word(result: Result | None) -> str:
    from mglru.checks.selftests.tap import Result

    return {Result.FAILED: "FAIL", None: "-"}.get(result, str(result))


def _cases(rows: Sequence[CaseRow]) -> list[list[str]]:
    return [[row.program, row.case, *map(_word, row.results)] for row in rows]


def _programs(rows: Sequence[CaseRow], kernels: int) -> list[list[str]]:
    """Return a line a program: how many of its cases passed, failed, were skipped."""
    lines = []
    for program in dict.fromkeys(row.program for row in rows):
        cells = [program]
        for number in range(kernels):
            results = [row.results[number] for row in rows if row.program == program]
            cells.append(_sum(results))
        lines.append(cells)
    return lines


def _sum(results: Sequence[Result | None]) -> str:
    from mglru.checks.selftests.tap import Result

    counts = {each: results.count(each) for each in Result}
    return ", ".join(f"{count} {_word(each)}" for each, count in counts.items() if count) or "-"
