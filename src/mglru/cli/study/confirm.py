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
    from mglru.study.confirm.run import ConfirmedRun


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
    from mglru.results.output_file import STDOUT
    from mglru.study.confirm.run import WantedConfirmation, confirm_runs

    ui = Ui()
    wanted = WantedConfirmation(
        names=names,
        found=found,
        seed=seed,
        boots=boots,
        json_file=json_file,
        own_sources=own_sources,
    )
    to_stderr = json_file == STDOUT
    confirmed = confirm_runs(wanted, ui, lambda each: _show(each, to_stderr=to_stderr))
    code = report_failures([each.result for each in confirmed], ui)
    return code if all(each.holds for each in confirmed) else ExitCode.EXPECTATION_FAILED


def _show(confirmed: ConfirmedRun, *, to_stderr: bool) -> None:
    """Print the table of one experiment."""
    from mglru.study.confirm import table as confirm_table

    width, colour = terminal()
    text = confirm_table.render(
        confirmed.found,
        confirmed.again,
        confirmed.figures,
        width=width,
        colour=colour and not to_stderr,
    )
    click.echo(text, nl=False, err=to_stderr)
