# SPDX-License-Identifier: GPL-2.0-only
"""What several commands share: options, the terminal, how failures are told."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mglru.cli.known import MACHINES, UML
from mglru.core.errors import ExitCode
from mglru.experiment.settings import Setting
from mglru.source.kernel_id import KernelId, parse_list

if TYPE_CHECKING:
    from mglru.core.ui import Ui
    from mglru.results.model import RunResult

F = TypeVar("F", bound=Callable[..., Any])


def terminal() -> tuple[int | None, bool]:
    """Return the width of stdout's terminal (None: it is none), and whether it is one."""
    on_terminal = sys.stdout.isatty()
    return (shutil.get_terminal_size().columns if on_terminal else None), on_terminal


def source_option(function: F) -> F:
    """Add `--source DIR|TARBALL`."""
    return click.option(
        "--source",
        "own_sources",
        type=click.Path(path_type=Path),
        multiple=True,
        metavar="DIR|TARBALL",
        help="A kernel source of your own instead of Debian's; its Makefile tells which base "
        "it is. Repeatable, one for each base.",
    )(function)


class _SettingType(click.ParamType[Setting]):
    name = "setting"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Setting:
        del param, ctx
        return value if isinstance(value, Setting) else Setting.parse(str(value))


class _KernelsType(click.ParamType[tuple[KernelId, ...]]):
    name = "kernels"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[KernelId, ...]:
        del param, ctx
        return value if isinstance(value, tuple) else tuple(parse_list(str(value)))


KERNELS = _KernelsType()
"""The type of `--kernels A,B,...`; the command gets them read."""


def kernels_option(function: F) -> F:
    """Add `--kernels A,B,...`, the first of which ratios refer to; None if nothing is said."""
    return click.option(
        "--kernels",
        type=KERNELS,
        metavar="A,B,...",
        help="Which kernels; the first is the baseline.",
    )(function)


def settings_option(function: F) -> F:
    """Add `--set KEY=VALUE`; the command gets them read, as `settings`."""
    return click.option(
        "--set",
        "settings",
        type=_SettingType(),
        multiple=True,
        metavar="KEY=VALUE",
        help="As limit=200M.",
    )(function)


def machine_option(function: F) -> F:
    """Add `--machine uml|qemu|qemu-smp|qemu-threads|kvm`."""
    return click.option(
        "--machine",
        type=click.Choice(MACHINES),
        default=UML,
        show_default=True,
        help="uml: computing is free. qemu: x86, each instruction takes a nanosecond, about ten "
        "times as slow to run. qemu-smp: the same with 1 to 4 processors and memory nodes (--set "
        "guest.cpus=4, --set guest.nodes=2). qemu-threads: processors in a race, each a thread of "
        "the host; its figures mean nothing. kvm: x86, real time.",
    )(function)


def report_failures(results: Sequence[RunResult], ui: Ui) -> int:
    """Warn of every boot that went wrong, and return the exit code."""
    from mglru.run.boots import failures

    found = [text for result in results for text in failures(result.raw)]
    for text in found:
        ui.warn(text)
    return ExitCode.EXPECTATION_FAILED if found else ExitCode.OK
