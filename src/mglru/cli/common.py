# SPDX-License-Identifier: GPL-2.0-only
"""What several commands share: kernels from names, options, packages."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from mglru.build.build import Build, build_kernel, find_build, planned
from mglru.build.recipe import Recipe, make_recipe
from mglru.core.ui import Ui
from mglru.debian import packages
from mglru.machine.registry import MACHINES, UML
from mglru.source.kernel_id import KernelId
from mglru.source.trees import Source, get_source, import_source

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


def machine_option(function: F) -> F:
    """Add `--machine uml|qemu|qemu-smp|qemu-threads|kvm`."""
    return click.option(
        "--machine",
        type=click.Choice(list(MACHINES)),
        default=UML,
        show_default=True,
        help="uml: computing is free. qemu: x86, each instruction takes a nanosecond, about ten "
        "times as slow to run. qemu-smp: the same with 1 to 4 processors and memory nodes (--set "
        "guest.cpus=4, --set guest.nodes=2). qemu-threads: processors in a race, each a thread of "
        "the host; its figures mean nothing. kvm: x86, real time.",
    )(function)


def import_sources(own: Sequence[Path], ui: Ui) -> dict[str, Source]:
    """Take the user's kernel trees into the cache, one a base."""
    sources = [import_source(path, note=ui.note) for path in own]
    return {source.base: source for source in sources}


def recipe_for(kernel: KernelId, sources: dict[str, Source], ui: Ui, machine: str = UML) -> Recipe:
    """Return the recipe of a kernel, fetching its source if need be (remembered in `sources`)."""
    if kernel.base not in sources:
        sources[kernel.base] = get_source(kernel.base, note=ui.note)
    return make_recipe(kernel, sources[kernel.base], MACHINES[machine].kernel)


def planned_builds(
    kernels: Sequence[KernelId], own: Sequence[Path], ui: Ui
) -> dict[KernelId, Build]:
    """Return the builds of kernels as values: where they will be, whether they are made or not."""
    sources = import_sources(own, ui)
    recipes = {kernel: recipe_for(kernel, sources, ui) for kernel in kernels}
    return {kernel: planned(recipe) for kernel, recipe in recipes.items()}


def build_all(
    kernels: Sequence[KernelId], own: Sequence[Path], ui: Ui, machine: str = UML
) -> dict[KernelId, Build]:
    """Build every kernel that is not in the cache, installing what that and the machine need."""
    packages.ensure({**packages.KERNEL_BUILD, **MACHINES[machine].packages}, ui)
    sources = import_sources(own, ui)
    recipes = {kernel: recipe_for(kernel, sources, ui, machine) for kernel in kernels}
    missing = {recipe.key for recipe in recipes.values() if not find_build(recipe)}
    if missing:
        ui.note(f"{len(missing)} kernel(s) to build")
    return {kernel: build_kernel(recipe, ui) for kernel, recipe in recipes.items()}
