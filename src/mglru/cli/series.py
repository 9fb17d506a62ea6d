# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru series`: check."""

from __future__ import annotations

import click

from mglru import packages
from mglru.build import build_kernel
from mglru.errors import ExitCode
from mglru.kernel_id import SERIES_BASES, KernelId
from mglru.recipe import make_recipe
from mglru.series_check import CheckLine, check_series
from mglru.source import get_source
from mglru.ui import Ui


@click.group()
def series() -> None:
    """The patch series: check it."""


@series.command()
@click.argument("bases", nargs=-1, metavar="[BASE...]")
@click.option("--build", is_flag=True, help="Also build the kernel after each patch.")
def check(bases: tuple[str, ...], *, build: bool) -> int:
    """Check that every patch applies without fuzz, reads as it should, and builds."""
    ui = Ui()
    packages.ensure(packages.KERNEL_BUILD, ui)
    passed = [check_base(KernelId.parse(b).base, ui, build=build) for b in bases or SERIES_BASES]
    return ExitCode.OK if all(passed) else ExitCode.EXPECTATION_FAILED


def check_base(base: str, ui: Ui, *, build: bool = False) -> bool:
    """Check the series of one base, say what was found, and return whether all is well."""
    source = get_source(base, note=ui.note)

    def build_first(count: int) -> None:
        build_kernel(make_recipe(KernelId(base, series=True, upto=count), source), ui)

    def show(line: CheckLine) -> None:
        ui.note(str(line))

    report = check_series(base, source.path, build=build_first if build else None, report=show)
    return report.passed
