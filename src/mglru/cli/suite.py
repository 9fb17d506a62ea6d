# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru run --suite NAME`: every family of a suite, and where the last kernel is worse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from mglru.cli.common import terminal
from mglru.core.errors import ExitCode

if TYPE_CHECKING:
    from mglru.core.ui import Ui
    from mglru.results.model import RunResult
    from mglru.study.suite.plan import WantedSuite

DEFAULT_KERNELS = "6.12@classic,6.12,7.3,6.12+next"
MAX_FAILURES_SHOWN = 10


def show_suite(wanted: WantedSuite, allow: float | None) -> int:
    """Run what a file lacks of a suite, print the table, return the exit code.

    Args:
        wanted: what is to be run.
        allow: the ratio up to which it is no harm; None: the usual one.
    """
    from mglru.core.ui import Ui
    from mglru.study.suite.harm import ALLOWED
    from mglru.study.suite.run import run_suite

    ui = Ui()
    return _show(run_suite(wanted, ui), wanted.path, allow or ALLOWED, ui)


def _show(runs: Sequence[RunResult], path: str, allowed: float, ui: Ui) -> int:
    """Print the table, and return 1 if something in it is worse than allowed."""
    from mglru.results.output_file import STDOUT
    from mglru.study.suite import table as suite_table
    from mglru.study.suite.harm import harm, judged_kernel

    found = harm(runs)
    subject = judged_kernel(runs[0].kernels)[0]
    to_stdout = path == STDOUT
    width, colour = terminal()
    text = suite_table.render(
        found,
        subject=subject,
        allowed=allowed,
        width=width,
        colour=colour and not to_stdout,
    )
    click.echo(text, nl=False, err=to_stdout)
    _tell_failures(runs, ui)
    if not to_stdout:
        ui.note(f"Results: {path}; each point: ./mglru compare {path}")
    over = suite_table.failures(found, allowed)
    for line in over:
        ui.warn(line)
    return ExitCode.EXPECTATION_FAILED if over else ExitCode.OK


def _tell_failures(runs: Sequence[RunResult], ui: Ui) -> None:
    from mglru.run.boots import failures

    texts = [f"{run.experiment}: {text}" for run in runs for text in failures(run.raw)]
    for text in texts[:MAX_FAILURES_SHOWN]:
        ui.warn(text)
    if len(texts) > MAX_FAILURES_SHOWN:
        ui.warn(f"and {len(texts) - MAX_FAILURES_SHOWN} more problems")
