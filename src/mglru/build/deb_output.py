# SPDX-License-Identifier: GPL-2.0-only
"""Debian packages of a kernel where the user wants them: a kernel's name in, their paths out."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mglru.build.deb import DebPackages, DebPlan, build_packages, make_plan
from mglru.build.deb_config import choose
from mglru.core.errors import LabError, UsageError
from mglru.core.files import replacing
from mglru.core.ui import Ui
from mglru.debian import packages
from mglru.source.kernel_id import KernelId
from mglru.source.trees import get_source, import_sources


@dataclass(frozen=True)
class WrittenDebs:
    """Packages in the user's directory.

    Attributes:
        plan: what they were built of.
        files: all of them.
        image: that of the kernel and its modules.
    """

    plan: DebPlan
    files: tuple[Path, ...]
    image: Path


def make_debs(
    kernel: KernelId, config: Path | None, output: Path, own: Sequence[Path], ui: Ui
) -> WrittenDebs:
    """Build the packages of a kernel, unless they are in the cache, and copy them to a directory.

    Args:
        kernel: whose.
        config: a kernel's .config; None: see `choose`.
        output: the directory, made if there is none.
        own: the user's kernel sources.
        ui: gets the progress, and which configuration it is.

    Raises:
        UsageError: the directory cannot be written, before anything is built; or the
            configuration is none.
        LabError: no source, the build failed, or a package cannot be written.
    """
    _check_output(output)
    packages.ensure({**packages.KERNEL_BUILD, **packages.DEB}, ui)
    configuration = choose(config, kernel.base, ui.note)
    ui.note(f"configuration: {configuration.about}")
    source = import_sources(own, note=ui.note).get(kernel.base)
    plan = make_plan(kernel, source or get_source(kernel.base, note=ui.note), configuration)
    made = build_packages(plan, ui)
    return WrittenDebs(plan, copy_packages(made, output), output / made.image.name)


def _check_output(output: Path) -> None:
    """Refuse before the build what could not be written after it."""
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--output {output}: {error.strerror}") from error
    if not os.access(output, os.W_OK):
        raise UsageError(f"--output {output} cannot be written", next_step="name another directory")


def copy_packages(made: DebPackages, output: Path) -> tuple[Path, ...]:
    """Copy packages to a directory, each all or nothing, and return where they are there.

    Raises:
        LabError: one cannot be written.
    """
    targets = []
    for path in made.files:
        target = output / path.name
        try:
            with replacing(target) as new:
                shutil.copyfile(path, new)
        except OSError as error:
            raise LabError(
                f"{target} cannot be written: {error.strerror}",
                next_step=f"the packages are kept: {path.parent}",
            ) from error
        targets.append(target)
    return tuple(targets)
