# SPDX-License-Identifier: GPL-2.0-only
"""A user's command tried on kernels: words and options in; out: the result and what was printed."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mglru.core.cache import made_file, scratch
from mglru.core.errors import UsageError
from mglru.core.keys import key_of
from mglru.core.paths import cache_dir
from mglru.core.sizes import shown
from mglru.core.ui import Ui
from mglru.debian import packages
from mglru.disk import user_files
from mglru.experiment.spec import Experiment
from mglru.guest.programs import guest_program
from mglru.results.model import RunResult
from mglru.results.result_file import ResultFile
from mglru.run.boots import output_file
from mglru.run.jobs import available_bytes
from mglru.run.session import Session
from mglru.source.kernel_id import KernelId
from mglru.study.try_.command import Command, resolve
from mglru.study.try_.experiment import (
    TryOptions,
    disk_bytes,
    make_experiment,
    memory_needed,
    parse_environment,
    parse_swap,
)
from mglru.study.try_.guest_files import Places, visible

NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
# In real time boots differ: with three there is an interval.
REAL_BOOTS = 3
# Of the memory that the host could give.
USABLE = 0.9
# What the command printed, by kernel and boot.
Printed = Mapping[tuple[str, int], bytes]


@dataclass(frozen=True)
class CommandTrial:
    """A command, ready to be run.

    Attributes:
        experiment: that runs it.
        options: what the user chose, checked.
        parameters: what the result remembers of it.
    """

    experiment: Experiment
    options: TryOptions
    parameters: Mapping[str, str]


def make_trial(words: Sequence[str], chosen: Mapping[str, Any], ui: Ui) -> CommandTrial:
    """Return the trial of a command of the user's, who is told what was made of it.

    Args:
        words: the program and its arguments, or one line for the shell.
        chosen: values of the options of `./mglru try`, by name.
        ui: told.

    Raises:
        UsageError: a value that does not fit, or no such program.
    """
    places = Places(Path.cwd(), chosen["data"], os.environ.get("PATH", os.defpath))
    options = _options(chosen, places, ui)
    command = _resolve(words, places, ui)
    experiment = _experiment(command, options, places, ui)
    return CommandTrial(experiment, options, _parameters(command, chosen))


def _make_output(directory: Path) -> None:
    """Make the directory that keeps what the command prints, before anything is built for it.

    Raises:
        UsageError: it cannot be one.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"--output: {directory} cannot be a directory: {error.strerror}",
            next_step="name another",
        ) from error


def run_trial(
    trial: CommandTrial,
    kernels: Sequence[KernelId],
    own: Sequence[Path],
    ui: Ui,
    *,
    boots: int | None,
    seed: int,
    output: Path | None,
    json_file: str | None,
) -> tuple[RunResult, Printed]:
    """Run a command on kernels, and return the result and what the command printed.

    Args:
        trial: the command.
        kernels: in the order of the table's columns.
        own: the user's kernel sources.
        ui: gets the progress.
        boots: of each kernel; None: as many as it takes for an interval.
        seed: of the first boot.
        output: the directory that keeps what it printed, made if need be; None: nothing does.
        json_file: where the result is kept, boot by boot; None: nowhere.

    Raises:
        UsageError: the directory cannot be one; before anything is built.
        LabError: no kernel, no boot.
    """
    if output:
        _make_output(output)
    with ResultFile.wanted(json_file) as file, _outputs(output) as outputs:
        session = Session(kernels, own, ui, file, packages.TRY)
        result = session.run(
            trial.experiment,
            boots=boots or (REAL_BOOTS if trial.options.time == "real" else 1),
            seed=seed,
            parameters=trial.parameters,
            outputs=outputs,
        )
        return result, {boot: path.read_bytes() for boot, path in _files(result, outputs).items()}


def _options(chosen: Mapping[str, Any], places: Places, ui: Ui) -> TryOptions:
    """Check what the user chose.

    Raises:
        UsageError: a value that does not fit.
    """
    if not NAME.fullmatch(chosen["name"]):
        raise UsageError(
            f"--name: '{chosen['name']}' is no name", next_step="use a-z, 0-9, - and _ only"
        )
    return TryOptions(
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
        path = cache_dir("commands") / f"stdin-{key_of(text, length=16)}"
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


def _experiment(command: Command, options: TryOptions, places: Places, ui: Ui) -> Experiment:
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
