# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru run --suite NAME`: every family of a suite, and where the last kernel is worse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mglru.cli.common import terminal
from mglru.core.errors import ExitCode
from mglru.experiment.settings import Setting

if TYPE_CHECKING:
    from mglru.core.ui import Ui
    from mglru.results.model import RunResult

KERNELS = "6.12@classic,6.12,7.3,6.12+next"
MAX_FAILURES_SHOWN = 10


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What `run` was asked for, by the names of its options; None where nothing was said.

    Attributes:
        names: of experiments; none with a suite.
        suite: its name; empty: experiments are run.
        kernels: as on the command line.
        machine: a name in `registry.MACHINES`.
        boots: of each kernel, for each experiment or point.
        seed: of the first boot.
        settings: of all experiments or points.
        json_file: where the results are kept.
        everything: show every counter that differs; not of a suite.
        quick: of a suite: only the points marked so.
        allow: of a suite: the ratio up to which it is no harm.
        only: of a suite: families or points that are run; none: all.
        leave_out: of a suite: families or points that are not run.
        anew: of a suite: whether the file is replaced instead of gone on with.
        renew: whether what has changed since is booted again, and only that.
        own_sources: the user's kernel sources.
    """

    names: Sequence[str]
    suite: str
    kernels: str | None
    machine: str
    boots: int | None
    seed: int
    settings: Sequence[Setting]
    json_file: str | None
    everything: bool
    quick: bool
    allow: float | None
    only: Sequence[str]
    leave_out: Sequence[str]
    anew: bool
    renew: bool
    own_sources: Sequence[Path]

    @property
    def path(self) -> str:
        """Where the results of a suite are kept."""
        return self.json_file or f"mglru-suite-{self.suite}.json"


def run_suite(options: RunOptions) -> int:
    """Run what a file lacks of a suite, print the table, return the exit code."""
    from mglru.core.ui import Ui
    from mglru.study.suite.plan import WantedSuite
    from mglru.study.suite.run import run_suite as runs_of

    ui = Ui()
    wanted = WantedSuite(
        suite=options.suite,
        kernels=options.kernels or KERNELS,
        machine=options.machine,
        seeds=options.boots,
        seed=options.seed,
        settings=options.settings,
        path=options.path,
        baseline=options.kernels is not None,
        quick=options.quick,
        only=options.only,
        leave_out=options.leave_out,
        anew=options.anew,
        renew=options.renew,
        own_sources=options.own_sources,
    )
    return _show(runs_of(wanted, ui), options, ui)


def _show(runs: Sequence[RunResult], options: RunOptions, ui: Ui) -> int:
    """Print the table, and return 1 if something in it is worse than allowed."""
    from mglru.results.output_file import STDOUT
    from mglru.study.suite import table as suite_table
    from mglru.study.suite.harm import ALLOWED, harm, judged_kernel

    allowed = options.allow or ALLOWED
    found = harm(runs)
    subject = judged_kernel(runs[0].kernels)[0]
    to_stdout = options.path == STDOUT
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
        ui.note(f"Results: {options.path}; each point: ./mglru compare {options.path}")
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
