# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru try`: any program of the host, unchanged, on several kernels under a memory limit."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from mglru.cli.common import source_option
from mglru.cli.results import show
from mglru.core.cache import made_file, scratch
from mglru.core.errors import ExitCode, UsageError
from mglru.core.paths import cache_dir
from mglru.core.sizes import parse_size, shown
from mglru.core.ui import Ui
from mglru.debian import packages
from mglru.disk import user_files
from mglru.experiment.spec import Experiment
from mglru.guest.programs import guest_program
from mglru.results.compare import Named
from mglru.results.model import BootRecord, ResultFile, RunResult
from mglru.run.boots import available_bytes, output_file
from mglru.run.session import Session
from mglru.source.kernel_id import parse_list
from mglru.study.try_ import ending as verdict
from mglru.study.try_ import output as program_output
from mglru.study.try_.command import Command, resolve
from mglru.study.try_.experiment import (
    Options,
    disk_bytes,
    make_experiment,
    memory_needed,
    parse_environment,
    parse_swap,
)
from mglru.study.try_.guest_files import Places, visible

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
NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
# In real time boots differ: with three there is an interval.
REAL_BOOTS = 3
# Of the memory that the host could give.
USABLE = 0.9

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
    """Add the options that become `Options`."""
    for option in reversed(OPTIONS):
        function = option(function)
    return function


@click.command(name="try", help=HELP, context_settings={"allow_interspersed_args": False})
@trial_options
@click.option("--kernels", default="6.12,6.12+next", show_default=True, metavar="A,B,...")
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
    kernels: str,
    boots: int | None,
    seed: int,
    output: Path | None,
    json_file: str | None,
    everything: bool,
    own_sources: tuple[Path, ...],
    **chosen: Any,
) -> int:
    """Run a command on kernels; HELP is what the user sees."""
    ui = Ui()
    kernel_ids = parse_list(kernels)
    places = Places(Path.cwd(), chosen["data"], os.environ.get("PATH", os.defpath))
    options = _options(chosen, places, ui)
    command = _resolve(words, places, ui)
    experiment = _experiment(command, options, places, ui)
    with ResultFile.wanted(json_file) as file, _outputs(output) as outputs:
        session = Session(kernel_ids, own_sources, ui, file, packages.TRY)
        result = session.run(
            experiment,
            boots=boots or (REAL_BOOTS if options.time == "real" else 1),
            seed=seed,
            parameters=_parameters(command, chosen),
            outputs=outputs,
        )
        printed = {boot: file.read_bytes() for boot, file in _files(result, outputs).items()}
    _show(result, printed, everything=everything, to_stderr=json_file == "-")
    return _report(result, printed, options, ui)


def _options(chosen: Mapping[str, Any], places: Places, ui: Ui) -> Options:
    """Check what the user chose.

    Raises:
        UsageError: a value that does not fit.
    """
    if not NAME.fullmatch(chosen["name"]):
        raise UsageError(
            f"--name: '{chosen['name']}' is no name", next_step="use a-z, 0-9, - and _ only"
        )
    return Options(
        limit=chosen["limit"],
        swap=parse_swap(chosen["swap"]),
        disk=chosen["disk"],
        disk_size=chosen["disk_size"],
        memory=chosen["memory"],
        time=chosen["time"],
        timeout=chosen["timeout"],
        environment=parse_environment(chosen["env"], os.environ),
        preload=guest_program("no_spin", ui.note) if chosen["no_spin"] else None,
        stdin=_stdin(chosen["stdin"], places),
        name=chosen["name"],
    )


def _stdin(chosen: str | None, places: Places) -> str | None:
    """Return the guest's path of what the command reads, keeping the lab's own input if asked."""
    if chosen is None:
        return None
    if chosen == "-":
        text = sys.stdin.buffer.read()
        path = cache_dir("commands") / f"stdin-{hashlib.sha256(text).hexdigest()[:16]}"
        return visible(made_file(path, lambda new: new.write_bytes(text)))
    file = places.host_file(chosen)
    if file is None or not file.is_file():
        raise UsageError(f"--stdin: there is no file {chosen}", next_step="check its path")
    return places.in_guest(file)


def _resolve(words: Sequence[str], places: Places, ui: Ui) -> Command:
    command = resolve(words, places)
    for note in command.notes:
        ui.note(note)
    for warning in command.warnings:
        ui.warn(warning)
    return command


def _experiment(command: Command, options: Options, places: Places, ui: Ui) -> Experiment:
    """Read the data, size the guest, and make sure that this machine has the memory.

    Raises:
        UsageError: it does not fit.
    """
    if command.binary_bytes > options.limit:
        ui.warn(
            f"the program alone has {shown(command.binary_bytes)}, more than the limit of "
            f"{shown(options.limit)}: its pages may be read again and again"
        )
    content, usable = user_files.EMPTY, int(available_bytes() * USABLE)
    if places.data:
        ui.note(f"Reading {places.data}")
        content = user_files.read(places.data, usable)
        if content.skipped:
            ui.warn(f"not copied (sockets, pipes, devices): {', '.join(content.skipped)}")
    experiment = make_experiment(command, options, places.data, content)
    needed = memory_needed(experiment)
    disk = f"a disk of {shown(disk_bytes(experiment))}"
    if needed > usable:
        raise UsageError(
            f"the guest may take {shown(needed)} of memory, with {disk} in it; "
            f"this machine has {shown(usable)} to give",
            next_step="give a smaller --data, --disk-size, --limit or --swap, or free some memory",
        )
    files = f"{content.entries} files, {shown(content.bytes)}" if content.entries else "empty"
    ui.note(f"The guest has {shown(needed)} of memory, and in it {disk} ({files})")
    return experiment


@contextlib.contextmanager
def _outputs(chosen: Path | None) -> Iterator[Path]:
    """Give the directory that gets what the command prints."""
    if chosen is None:
        with scratch("output") as directory:
            yield directory
        return
    try:
        chosen.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"--output: {chosen} cannot be a directory: {error.strerror}", next_step="name another"
        ) from error
    yield chosen


def _parameters(command: Command, chosen: Mapping[str, Any]) -> dict[str, str]:
    """Return what the result remembers of the options."""
    names = ("limit", "swap", "disk", "disk_size", "memory", "timeout", "no_spin")
    return {
        "command": command.shown,
        **{name: str(chosen[name]) for name in names if chosen[name]},
    }


def _files(result: RunResult, outputs: Path) -> dict[tuple[str, int], Path]:
    """Return the outputs by kernel and boot, of boots that came so far."""
    files = {
        (record.kernel, record.boot): output_file(outputs, record.kernel, record.boot)
        for record in result.raw
    }
    return {boot: file for boot, file in files.items() if file.exists()}


def _show(
    result: RunResult,
    printed: Mapping[tuple[str, int], bytes],
    *,
    everything: bool,
    to_stderr: bool,
) -> None:
    """Print what the command said in the first boots, then the table."""
    first = {kernel: text for (kernel, boot), text in printed.items() if boot == 0}
    click.echo(program_output.render(first), nl=False, err=to_stderr)
    if not to_stderr:
        click.echo()
        show([Named(result.experiment, result)], everything=everything)


def _report(
    result: RunResult, printed: Mapping[tuple[str, int], bytes], options: Options, ui: Ui
) -> int:
    """Say how the command ended, and return the lab's exit status."""
    failed = False
    for record in result.raw:
        text = printed.get((record.kernel, record.boot), b"")
        where = f"{record.kernel}, boot {record.boot}" if result.boots > 1 else record.kernel
        for found in verdict.judge(record, text, options):
            failed |= found.failed
            serious = found.failed or record.metrics.get("oom_kill")
            (ui.warn if serious else ui.note)(f"{where}: the command {found}")
        failed |= bool(record.problems)
        for problem in _others(record):
            ui.warn(f"{where}: {problem}")
    for note in verdict.general(result.raw, options):
        ui.note(f"note: {note}")
    return ExitCode.EXPECTATION_FAILED if failed else ExitCode.OK


def _others(record: BootRecord) -> Iterator[str]:
    """Return the problems of a boot whose command did come to its end."""
    if "exit_status" in record.metrics:
        yield from record.problems
