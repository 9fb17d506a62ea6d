# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru series`: check."""

from __future__ import annotations

from pathlib import Path

import click

from mglru import packages
from mglru.build import build_kernel
from mglru.cli.common import import_sources, source_option
from mglru.errors import ExitCode
from mglru.kernel_id import SERIES_BASES, KernelId
from mglru.recipe import make_recipe
from mglru.series_check import CheckLine, check_series, compiler_warnings
from mglru.source import Source, get_source
from mglru.tested import describe_source
from mglru.ui import Ui


@click.group()
def series() -> None:
    """The patch series: check it."""


@series.command()
@click.argument("bases", nargs=-1, metavar="[BASE...]")
@click.option(
    "--build/--no-build",
    default=True,
    show_default=True,
    help="Also build the kernel after each patch.",
)
@source_option
def check(bases: tuple[str, ...], own_sources: tuple[Path, ...], *, build: bool) -> int:
    """Check that every patch applies without fuzz, reads as it should, and builds."""
    ui = Ui()
    packages.ensure(packages.KERNEL_BUILD, ui)
    own = import_sources(own_sources, ui)
    known = [KernelId.parse(f"{base}+next").base for base in bases or SERIES_BASES]
    passed = [check_base(base, ui, build=build, source=own.get(base)) for base in known]
    return ExitCode.OK if all(passed) else ExitCode.EXPECTATION_FAILED


def check_base(base: str, ui: Ui, *, build: bool = False, source: Source | None = None) -> bool:
    """Check the series of one base, say what was found, and return whether all is well."""
    made_on = source or get_source(base, note=ui.note)
    ui.note(describe_source(base, made_on.version))

    def build_first(count: int) -> list[str]:
        recipe = make_recipe(KernelId(base, series=True, upto=count), made_on)
        log = build_kernel(recipe, ui).directory / "build.log"
        return compiler_warnings(log.read_text(errors="replace"))

    def show(line: CheckLine) -> None:
        ui.note(str(line))

    report = check_series(base, made_on.path, build=build_first if build else None, report=show)
    ui.note(
        f"the series for {base} on Linux {made_on.version}: {len(report.lines)} checks, "
        f"{len(report.failed)} not passed"
    )
    return report.passed
