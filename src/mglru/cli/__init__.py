# SPDX-License-Identifier: GPL-2.0-only
"""The command line: `./mglru COMMAND`. Each module here holds one group of commands."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence
from types import FrameType

import click

from mglru.cli.lazy import LazyGroup
from mglru.core.errors import ExitCode, LabError

HELP = """Stock and patched kernels, real workloads, before beside after.

Builds Linux kernels with and without the mglru-next series, boots them as ordinary
processes, runs real databases in them under a memory limit, and compares.

\b
First:    ./mglru demo
Names:    ./mglru kernels, ./mglru experiments
Exit:     0 fine, 1 an expectation failed, 2 usage, 69 the infrastructure failed
"""

CLEANING_SECONDS = 20.0
"""After an interrupt others are ignored for so long: what was started is being ended."""

_ignored_until = 0.0

COMMANDS = {
    "Compare kernels": {
        "demo": ("run", "YCSB A and B over WiredTiger on four kernels, with charts."),
        "run": ("run", "Experiments, or all families of a suite, on kernels."),
        "try": ("try_", "Any program of this machine on several kernels, under a limit."),
        "compare": ("results", "The tables of result files."),
        "report": ("report", "One self-contained HTML page of result files."),
    },
    "Study them": {
        "sweep": ("study.sweep", "One experiment at many points: curves over the memory limit."),
        "cluster": ("study.cluster", "Many machines for one sweep."),
        "bound": ("study.bound", "How far the kernels are from the optimum."),
        "draw": ("study.draw", "Experiments drawn at random: what nobody tuned to."),
        "confirm": ("study.confirm", "Whether what a result found holds with other seeds."),
        "stress": ("study.stress", "All that can happen to memory management, on processors."),
    },
    "Work on them": {
        "kernel": ("kernel.kernel", "Kernels: fetch, build, work on, test, clean up."),
        "series": ("series.series", "The patch series: check it, what each patch does."),
    },
    "The lab": {
        "experiments": ("misc", "The experiments, by suite."),
        "kernels": ("misc", "The kernels, and which of them are built."),
        "selftest": ("run", "How far boots with one seed agree."),
        "test": ("misc", "All that CI runs."),
    },
}
"""What there is, by group: a command's module here, and what it does in one line."""


@click.group(
    cls=LazyGroup,
    commands_by_group=COMMANDS,
    help=HELP,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name=None, version="0.1.0", prog_name="mglru")
def cli() -> None:
    """Hold the commands; the help above is what the user sees."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with one of the documented codes."""
    # A terminated lab must clean up like an interrupted one.
    signal.signal(signal.SIGTERM, _interrupt_once)
    # A shell lets background jobs ignore it.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt_once)
    sys.exit(_guarded(arguments))


def _interrupt_once(_number: int, _frame: FrameType | None) -> None:
    """Interrupt the lab; a second signal would interrupt its cleaning up, and leave guests running.

    Both a user who presses Ctrl-C twice and `timeout` send two. After a while they count again.
    """
    global _ignored_until  # noqa: PLW0603
    if time.monotonic() < _ignored_until:
        return
    _ignored_until = time.monotonic() + CLEANING_SECONDS
    raise KeyboardInterrupt


def _guarded(arguments: Sequence[str] | None) -> int:
    try:
        result = cli.main(arguments, prog_name="mglru", standalone_mode=False)
        return int(result or 0)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return ExitCode.USAGE
    except click.ClickException as error:
        error.show()
        return ExitCode.USAGE
    except LabError as error:
        click.echo(error.render(), err=True)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("mglru: interrupted; finished work is kept", err=True)
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # The reader of our output left (`| head`): nothing is wrong.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK
