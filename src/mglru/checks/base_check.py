# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru series check` of whole bases: their names in, whether all is well with them out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mglru.build.build import build_kernel
from mglru.build.recipe import make_recipe
from mglru.checks.releases.tested import describe_source
from mglru.checks.series_check import CheckLine, check_series, compiler_warnings
from mglru.core.ui import Ui
from mglru.debian import packages
from mglru.run.kernels import import_sources
from mglru.series.listing import load_series
from mglru.source.kernel_id import SERIES_BASES, KernelId
from mglru.source.trees import Source, get_source


def check_bases(
    bases: Sequence[str], own: Sequence[Path], ui: Ui, *, build: bool, parts: bool
) -> bool:
    """Check the series of several bases, and return whether all is well with all of them.

    Args:
        bases: as `6.12`; none: all that have a series.
        own: the user's kernel sources.
        ui: told what is found.
        build: also build the kernel after each patch.
        parts: build only where a part of the series ends.

    Raises:
        UsageError: a base that has no series.
        LabError: no source, or the series cannot be read.
    """
    packages.ensure(packages.KERNEL_BUILD, ui)
    sources = import_sources(own, ui)
    known = [KernelId.parse(f"{base}+next").base for base in bases or SERIES_BASES]
    passed = [_check_base(base, sources.get(base), ui, build=build, parts=parts) for base in known]
    return all(passed)


def _check_base(base: str, source: Source | None, ui: Ui, *, build: bool, parts: bool) -> bool:
    """Check one, say what was found, and return whether all is well."""
    made_on = source or get_source(base, note=ui.note)
    ui.note(describe_source(base, made_on.version, series=load_series(base)))

    def build_first(count: int) -> list[str]:
        recipe = make_recipe(KernelId(base, series=True, upto=count), made_on)
        log = build_kernel(recipe, ui).directory / "build.log"
        return compiler_warnings(log.read_text(errors="replace"))

    def show(line: CheckLine) -> None:
        ui.note(str(line))

    builds = build_first if build else None
    report = check_series(base, made_on.path, build=builds, report=show, parts=parts)
    ui.note(
        f"the series for {base} on Linux {made_on.version}: {len(report.lines)} checks, "
        f"{len(report.failed)} not passed"
    )
    return report.passed
