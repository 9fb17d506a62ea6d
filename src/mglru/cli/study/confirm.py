# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru confirm`: does what seeds 1 to 5 found hold with seeds that nobody looked at?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mglru.cli.common import report_failures, source_option, terminal
from mglru.cli.known import CONFIRMING_SEED, MIN_PAIRS
from mglru.core.errors import ExitCode

if TYPE_CHECKING:
    from mglru.results.model import RunResult


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="EXPERIMENT...")
@click.option(
    "--found",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where the findings are.  [default: results/SUITE/EXPERIMENT.json]",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**31 - 1), default=CONFIRMING_SEED, show_default=True
)
@click.option("--boots", type=click.IntRange(MIN_PAIRS, 1000), default=MIN_PAIRS, show_default=True)
@click.option("--json", "json_file", metavar="FILE|-", help="Write the new boots as JSON.")
@source_option
def confirm(
    names: tuple[str, ...],
    *,
    found: Path | None,
    seed: int,
    boots: int,
    json_file: str | None,
    own_sources: tuple[Path, ...],
) -> int:
    """Boot experiments with other seeds, and say whether what was found holds.

    A finding is a figure that is marked better or worse; it holds if the new boots mark it so,
    too. Kernels, machine and settings are those of the result. Exit code 1 if one does not hold.
    """
    from mglru.core.ui import Ui
    from mglru.results.result_file import ResultFile
    from mglru.study.confirm.confirm import check_seeds, confirm_run, load_found

    ui = Ui()
    earlier = [load_found(name, found) for name in names]
    for run in earlier:
        check_seeds(run, seed, boots)
    hold, made = True, []
    with ResultFile.wanted(json_file) as file:
        for run in earlier:
            again = confirm_run(run, file, own_sources, ui, seed=seed, boots=boots)
            made.append(again)
            hold &= _show(run, again, to_stderr=json_file == "-")
    code = report_failures(made, ui)
    return code if hold else ExitCode.EXPECTATION_FAILED


def _show(run: RunResult, again: RunResult, *, to_stderr: bool) -> bool:
    """Print the table of one experiment; return whether all that was found holds."""
    from mglru.results.compare import Named, compare
    from mglru.study.confirm import table as confirm_table
    from mglru.study.confirm.confirm import all_hold, findings

    (before,), (after,) = (compare([Named(each.experiment, each)]) for each in (run, again))
    all_findings = findings(before, after)
    width, colour = terminal()
    text = confirm_table.render(
        before, after, all_findings, width=width, colour=colour and not to_stderr
    )
    click.echo(text, nl=False, err=to_stderr)
    return all_hold(all_findings)
