# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru try`: any program of the host, unchanged, on several kernels under a memory limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mglru.cli.common import KERNELS, source_option
from mglru.cli.results import show
from mglru.core.errors import ExitCode
from mglru.core.sizes import parse_size
from mglru.source.kernel_id import KernelId

if TYPE_CHECKING:
    from mglru.core.ui import Ui
    from mglru.results.model import BootRecord, RunResult
    from mglru.study.try_.experiment import TryOptions
    from mglru.study.try_.trial import Printed

HELP = """Run a program of this machine on several kernels, under a memory limit.

COMMAND is any program that is installed here, unchanged; or one quoted line for the shell.
It runs inside each kernel, in a memory cgroup with --limit, in a directory on the guest's disk:
a copy of --data DIR, or an empty one. It sees the host's other files, read-only. What it prints
is shown, then how it fared on each kernel, side by side.

\b
  ./mglru try --limit 24M --data ./db -- sqlite3 app.db "SELECT count(*) FROM t"
  ./mglru try --limit 64M -- python3 script.py
  ./mglru try --limit 64M --data ./logs -- 'cat *.log | sort | uniq -c | tail'

Time is virtual unless --time real is given: only waiting (disk, sleep) takes any. More, with
examples: docs/use/try.md.

Exit status: 0 if the command returned 0 in every boot, 1 if not.
"""
Function = Callable[..., Any]
_PATH = click.Path(path_type=Path)


def _size(what: str) -> click.ParamType[int]:
    class Size(click.ParamType[int]):
        name = "size"

        def convert(
            self, value: object, param: click.Parameter | None, ctx: click.Context | None
        ) -> int:
            del param, ctx
            return value if isinstance(value, int) else parse_size(str(value), what)

    return Size()


OPTIONS: tuple[Callable[[Function], Function], ...] = (
    click.option(
        "--limit", type=_size("--limit"), required=True, metavar="SIZE", help="Memory: 256M."
    ),
    click.option("--swap", default="none", metavar="KIND:SIZE", help="zram:512M, disk:1G [none]."),
    click.option("--disk", type=click.Choice(["nvme", "hdd"]), default="nvme", show_default=True),
    click.option("--data", type=_PATH, metavar="DIR", help="Copied to the guest's disk."),
    click.option("--disk-size", type=_size("--disk-size"), metavar="SIZE", help="[as needed]"),
    click.option("--memory", type=_size("--memory"), metavar="SIZE", help="Guest's [as needed]"),
    click.option(
        "--time",
        type=click.Choice(["virtual", "real"]),
        default="virtual",
        show_default=True,
        help="Only waiting takes time, or the host's clock.",
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(1, 86_400),
        default=300,
        show_default=True,
        metavar="SECONDS",
        help="Real time for the command, in each boot.",
    ),
    click.option("--env", multiple=True, metavar="NAME[=VALUE]", help="For the command."),
    click.option("--stdin", metavar="FILE|-", help="The command's standard input [nothing]."),
    click.option("--no-spin", is_flag=True, help="Yielding and locking take virtual time."),
    click.option("--name", default="try", show_default=True, help="Of the result."),
)


def trial_options(function: Function) -> Function:
    """Add the options that become `TryOptions`."""
    for option in reversed(OPTIONS):
        function = option(function)
    return function


@click.command(name="try", help=HELP, context_settings={"allow_interspersed_args": False})
@trial_options
@click.option(
    "--kernels", type=KERNELS, default="6.12,6.12+next", show_default=True, metavar="A,B,..."
)
@click.option("--boots", type=click.IntRange(1, 1000), help="Of each kernel [1; in real time 3].")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=1, show_default=True)
@click.option("--output", type=_PATH, metavar="DIR", help="Keep what every boot printed.")
@click.option("--json", "json_file", metavar="FILE|-", help="Write the results as JSON.")
@click.option("--all", "everything", is_flag=True, help="Show every counter that differs.")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[--] COMMAND...")
@source_option
def try_(
    words: tuple[str, ...],
    *,
    kernels: tuple[KernelId, ...],
    boots: int | None,
    seed: int,
    output: Path | None,
    json_file: str | None,
    everything: bool,
    own_sources: tuple[Path, ...],
    **chosen: Any,
) -> int:
    """Run a command on kernels; HELP is what the user sees."""
    from mglru.core.ui import Ui
    from mglru.study.try_.trial import make_trial, run_trial

    ui = Ui()
    trial = make_trial(words, chosen, ui)
    result, printed = run_trial(
        trial,
        kernels,
        own_sources,
        ui,
        boots=boots,
        seed=seed,
        output=output,
        json_file=json_file,
    )
    _show(result, printed, everything=everything, to_stderr=json_file == "-")
    return _report(result, printed, trial.options, ui)


def _show(
    result: RunResult,
    printed: Printed,
    *,
    everything: bool,
    to_stderr: bool,
) -> None:
    """Print what the command said in the first boots, then the table."""
    from mglru.results.compare import Named
    from mglru.study.try_ import output as program_output

    first = {kernel: text for (kernel, boot), text in printed.items() if boot == 0}
    click.echo(program_output.render(first), nl=False, err=to_stderr)
    if not to_stderr:
        click.echo()
        show([Named(result.experiment, result)], everything=everything)


def _report(result: RunResult, printed: Printed, options: TryOptions, ui: Ui) -> int:
    """Say how the command ended, and return the lab's exit status."""
    from mglru.study.try_ import ending

    failed = False
    for record in result.raw:
        text = printed.get((record.kernel, record.boot), b"")
        where = f"{record.kernel}, boot {record.boot}" if result.boots > 1 else record.kernel
        for found in ending.judge(record, text, options):
            failed |= found.failed
            serious = found.failed or record.metrics.get("oom_kill")
            (ui.warn if serious else ui.note)(f"{where}: the command {found}")
        failed |= bool(record.problems)
        for problem in _others(record):
            ui.warn(f"{where}: {problem}")
    for note in ending.general(result.raw, options):
        ui.note(f"note: {note}")
    return ExitCode.EXPECTATION_FAILED if failed else ExitCode.OK


def _others(record: BootRecord) -> Iterator[str]:
    """Return the problems of a boot whose command did come to its end."""
    if "exit_status" in record.metrics:
        yield from record.problems
