# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru kernel selftests`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from mglru.build.build import Build
from mglru.checks.selftests.build import selftest_programs
from mglru.checks.selftests.run import (
    PROGRAMS,
    KernelRun,
    Row,
    choose,
    compare,
    merge_runs,
    new_problems,
    run_selftests,
    with_selftests,
)
from mglru.checks.selftests.tap import Result
from mglru.cli.common import machine_option, source_option
from mglru.core.errors import ExitCode, UsageError
from mglru.core.ui import Ui
from mglru.debian import packages
from mglru.results.output_file import STDOUT, OutputFile
from mglru.run.kernels import build_all
from mglru.source.kernel_id import parse_list

KERNELS = "6.12,6.12+next"
# Some of the tests are a matter of chance, on every kernel.
TRIES = 3


class SelftestsFile(OutputFile):
    """What all kernels gave, as JSON."""

    runs: Sequence[KernelRun] = ()

    def text(self) -> str:
        """Return the document, nothing before there is a run."""
        return json.dumps(to_document(self.runs), indent=1) + "\n" if self.runs else ""


def to_document(runs: Sequence[KernelRun]) -> dict[str, object]:
    """Return runs as JSON's values."""
    rows = compare(runs)
    return {
        "kernels": [{"kernel": run.kernel, "release": run.release} for run in runs],
        "cases": [
            {
                "program": row.program,
                "case": row.case,
                "results": {
                    run.kernel: result for run, result in zip(runs, row.results, strict=True)
                },
                "regressed": row.regressed,
            }
            for row in rows
        ],
        "problems": {run.kernel: list(run.problems) for run in runs},
        "passed": passed(runs, rows),
    }


def passed(runs: Sequence[KernelRun], rows: Sequence[Row]) -> bool:
    """Whether no kernel is worse than the first, and something was run."""
    return bool(rows) and not any(row.regressed for row in rows) and not new_problems(runs)


@click.command()
@click.option(
    "--kernels",
    default=KERNELS,
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
    kernels: str,
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
    ui = Ui()
    if output and not output.is_dir():
        raise UsageError(f"--output {output}: not a directory", next_step="make it first")
    names = choose(only)
    with SelftestsFile.wanted(json_file) as file:
        packages.ensure(packages.TRY, ui)
        identities = [with_selftests(each) for each in parse_list(kernels)]
        builds = build_all(identities, own_sources, ui, machine)
        runs = _run_all([builds[identity] for identity in identities], names, machine, ui)
        if file:
            file.runs = runs
            file.write()
    if output:
        for run in runs:
            (output / f"{run.kernel}.txt").write_text(run.output)
    if json_file != STDOUT:
        show(runs, Console(soft_wrap=True, highlight=False), everything=everything)
    return ExitCode.OK if passed(runs, compare(runs)) else ExitCode.EXPECTATION_FAILED


def _run_all(
    builds: Sequence[Build], names: Sequence[str], machine: str, ui: Ui
) -> list[KernelRun]:
    """Run programs on all kernels; what is worse is tried again on all, to find what is flaky."""
    runs = [_run(build, names, machine, ui) for build in builds]
    for _ in range(TRIES - 1):
        worse = {row.program for row in compare(runs) if row.regressed}
        if not worse:
            break
        ui.note(f"worse, tried again: {', '.join(sorted(worse))}")
        again = [_run(build, sorted(worse), machine, ui) for build in builds]
        runs = [merge_runs(run, more) for run, more in zip(runs, again, strict=True)]
    return runs


def _run(build: Build, names: Sequence[str], machine: str, ui: Ui) -> KernelRun:
    made = selftest_programs(build.recipe, PROGRAMS, ui)
    programs = {name: path for name, path in made.items() if name in names}
    with ui.bar(f"running {len(programs)} selftests on {build.recipe.kernel}", None):
        return run_selftests(build, programs, machine)


def show(runs: Sequence[KernelRun], out: Console, *, everything: bool) -> None:
    """Print test x kernel, then every difference and every complaint."""
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
    return {Result.FAILED: "FAIL", None: "-"}.get(result, str(result))


def _cases(rows: Sequence[Row]) -> list[list[str]]:
    return [[row.program, row.case, *map(_word, row.results)] for row in rows]


def _programs(rows: Sequence[Row], kernels: int) -> list[list[str]]:
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
    counts = {each: results.count(each) for each in Result}
    return ", ".join(f"{count} {_word(each)}" for each, count in counts.items() if count) or "-"
