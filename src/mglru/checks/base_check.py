# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru series check` of whole bases: their names in, whether all is well with them out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mglru.build.build import build_kernel, compile_objects
from mglru.build.recipe import Recipe, make_recipe
from mglru.checks.matrix.objects import objects_to_compile
from mglru.checks.releases.tested import describe_source
from mglru.checks.series_check import CheckLine, check_series, compiler_warnings
from mglru.core.cache import made_file
from mglru.core.paths import cache_dir
from mglru.core.ui import Ui
from mglru.debian import packages
from mglru.series.listing import load_series
from mglru.series.overlay import touched_files
from mglru.source.kernel_id import SERIES_BASES, KernelId
from mglru.source.trees import Source, get_source, import_sources


def check_bases(
    bases: Sequence[str], own: Sequence[Path], ui: Ui, *, build: bool, parts: bool
) -> bool:
    """Check the series of several bases, and return whether all is well with all of them.

    Args:
        bases: as `6.12`; none: all that have a series.
        own: the user's kernel sources.
        ui: told what is found.
        build: also build the kernel after each patch.
        parts: only where a part of the series ends, and before its end only what is touched.

    Raises:
        UsageError: a base that has no series.
        LabError: no source, or the series cannot be read.
    """
    packages.ensure(packages.KERNEL_BUILD, ui)
    sources = import_sources(own, note=ui.note)
    known = [KernelId.parse(f"{base}+next").base for base in bases or SERIES_BASES]
    passed = [_check_base(base, sources.get(base), ui, build=build, parts=parts) for base in known]
    return all(passed)


def _check_base(base: str, source: Source | None, ui: Ui, *, build: bool, parts: bool) -> bool:
    """Check one, say what was found, and return whether all is well."""
    made_on = source or get_source(base, note=ui.note)
    series = load_series(base)
    ui.note(describe_source(base, made_on.version, series=series))

    def build_first(count: int) -> list[str]:
        recipe = make_recipe(KernelId(base, series=True, upto=count), made_on)
        some = parts and count < len(series.patches)
        return compiler_warnings((compile_touched if some else _build_log)(recipe, ui))

    def show(line: CheckLine) -> None:
        ui.note(str(line))

    builds = build_first if build else None
    report = check_series(base, made_on.path, build=builds, report=show, parts=parts)
    ui.note(
        f"the series for {base} on Linux {made_on.version}: {len(report.lines)} checks, "
        f"{len(report.failed)} not passed"
    )
    return report.passed


def _build_log(recipe: Recipe, ui: Ui) -> str:
    return (build_kernel(recipe, ui).directory / "build.log").read_text(errors="replace")


def compile_touched(recipe: Recipe, ui: Ui) -> str:
    """Return what make says of what a kernel's patches touch, and of users of their headers.

    That is a tenth of the kernel, and takes as much of the time. It is kept.
    """

    def objects(tree: Path) -> tuple[str, ...]:
        return objects_to_compile(touched_files(recipe.series.patches), tree, tree)

    def make(log: Path) -> None:
        log.write_text(compile_objects(recipe, ui, objects))

    kept = made_file(cache_dir("matrix") / f"{recipe.key}.log", make)
    return kept.read_text()
