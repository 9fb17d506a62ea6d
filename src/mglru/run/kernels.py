# SPDX-License-Identifier: GPL-2.0-only
"""From kernels' names to their builds: sources and packages fetched, what is missing built."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mglru.build.build import Build, build_kernel, find_build, planned
from mglru.build.recipe import Recipe, make_recipe, series_for
from mglru.core.ui import Ui
from mglru.debian import packages
from mglru.machine.registry import MACHINES, UML
from mglru.source.kernel_id import KernelId
from mglru.source.trees import Source, get_source, import_sources


def recipe_for(kernel: KernelId, sources: dict[str, Source], ui: Ui, machine: str = UML) -> Recipe:
    """Return the recipe of a kernel, fetching its source if need be (remembered in `sources`)."""
    if kernel.base not in sources:
        # A patch that there is not is told before the source is fetched, which takes minutes.
        series_for(kernel)
        sources[kernel.base] = get_source(kernel.base, note=ui.note)
    return make_recipe(kernel, sources[kernel.base], MACHINES[machine].kernel)


def planned_builds(
    kernels: Sequence[KernelId], own: Sequence[Path], ui: Ui, machine: str = UML
) -> dict[KernelId, Build]:
    """Return the builds of kernels as values: where they will be, whether they are made or not."""
    sources = import_sources(own, note=ui.note)
    recipes = {kernel: recipe_for(kernel, sources, ui, machine) for kernel in kernels}
    return {kernel: planned(recipe) for kernel, recipe in recipes.items()}


def build_all(
    kernels: Sequence[KernelId], own: Sequence[Path], ui: Ui, machine: str = UML
) -> dict[KernelId, Build]:
    """Build every kernel that is not in the cache, installing what that and the machine need."""
    packages.ensure({**packages.KERNEL_BUILD, **MACHINES[machine].packages}, ui)
    sources = import_sources(own, note=ui.note)
    recipes = {kernel: recipe_for(kernel, sources, ui, machine) for kernel in kernels}
    missing = {recipe.key for recipe in recipes.values() if not find_build(recipe)}
    if missing:
        ui.note(f"{len(missing)} kernel(s) to build")
    return {kernel: build_kernel(recipe, ui) for kernel, recipe in recipes.items()}
