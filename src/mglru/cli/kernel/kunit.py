# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru kernel kunit`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mglru.cli.common import source_option
from mglru.core.errors import ExitCode
from mglru.source.kernel_id import KernelId

if TYPE_CHECKING:
    from rich.console import Console

    from mglru.checks.kunit import KunitOutcome, KunitReport

DEFAULT = "6.12+next"
# A case whose result the kernel did not live to tell, nor its name.
NAMELESS = "(no result)"


@click.command()
@click.argument("name", metavar="[ID]", default=DEFAULT)
@click.option("--only", metavar="GLOB", help="Only suites, or suite.case, that match: 'list*'.")
@click.option("--json", "json_file", metavar="FILE|-", help="Write the report as JSON.")
@source_option
def kunit(name: str, only: str | None, json_file: str | None, own_sources: tuple[Path, ...]) -> int:
    """Run the KUnit suites of a kernel (6.12+next) in User Mode Linux.

    Builds the kernel with the suites in kconfig/kunit.config, those that the series adds
    included, and boots it. Exit code 1 if a case fails or no suite ran.
    """
    from rich.console import Console

    from mglru.checks.kunit import check_kernel
    from mglru.core.ui import Ui
    from mglru.results.output_file import STDOUT

    kernel = KernelId.parse(name)
    report = check_kernel(kernel, own_sources, Ui(), only=only, json_file=json_file)
    if json_file != STDOUT:
        show(report, Console(soft_wrap=True, highlight=False))
    return ExitCode.OK if report.passed else ExitCode.EXPECTATION_FAILED


def show(report: KunitReport, out: Console) -> None:
    """Print suites and cases as a table, what failed in the kernel's words, and a summary."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("suite", "case", "result"):
        table.add_column(heading)
    for suite, case in _rows(report):
        name = (case.name or NAMELESS) if case else ""
        table.add_row(suite.name, name, (case or suite).status.word)
    if report.suites:
        out.print(table)
    for suite in report.suites:
        for line in suite.bad_lines():
            out.print(f"{suite.name}: {line}", markup=False)
    for problem in report.problems:
        out.print(problem, markup=False)
    out.print(_summary(report), markup=False)


def _rows(report: KunitReport) -> Iterator[tuple[KunitOutcome, KunitOutcome | None]]:
    for suite in report.suites:
        if not suite.tests:
            yield suite, None
        for case in suite.tests:
            yield suite, case


def _summary(report: KunitReport) -> str:
    if not report.suites:
        return f"{report.kernel}: no suite ran"
    words = [case.status.word for case in report.cases]
    counts = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
    return f"{report.kernel}: {len(report.suites)} suites, {len(words)} cases: {counts}"
