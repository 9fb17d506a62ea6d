# SPDX-License-Identifier: GPL-2.0-only
"""What a run needs beside its kernels: guest programs, a userland, a disk image."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mglru.build.build import Build
from mglru.core.ui import Ui
from mglru.debian import packages
from mglru.debian.userland import Userland, get_userland
from mglru.disk.images import dataset_image
from mglru.experiment.dataset import PreparedDataset
from mglru.experiment.spec import Experiment
from mglru.guest.programs import guest_program
from mglru.run.kernels import build_all
from mglru.run.prepared import KERNEL, prepared_image


@dataclass(frozen=True)
class Ingredients:
    """What an experiment's boots share.

    Attributes:
        image: what is on the disk when a run starts; None for an experiment without a disk.
        userland: whose programs run; None: the host's.
    """

    image: Path | None
    userland: Userland | None


def stock_build(own: Sequence[Path], ui: Ui) -> Callable[[], Build]:
    """Return what gives the build of `prepared.KERNEL`, building it when it is asked for.

    Args:
        own: the user's kernel sources.
        ui: told of it.
    """
    return lambda: build_all([KERNEL], own, ui)[KERNEL]


def get_ingredients(experiment: Experiment, stock: Callable[[], Build], ui: Ui) -> Ingredients:
    """Return what an experiment needs, making what the cache has not.

    Before the boots, so that their limits do not cover compilers.

    Args:
        experiment: what is to run.
        stock: gives the build of `prepared.KERNEL`, called only if data is made with it now.
        ui: told of what takes long.

    Raises:
        LabError: a compiler is missing, no network, no space, a program failed.
    """
    for name in ("init", *experiment.programs):
        guest_program(name, note=ui.note)
    wanted = experiment.userland
    userland = get_userland(wanted.packages, ui, wanted.sources) if wanted else None
    return Ingredients(_image(experiment, userland, stock, ui), userland)


def _image(
    experiment: Experiment, userland: Userland | None, stock: Callable[[], Build], ui: Ui
) -> Path | None:
    spec = experiment.dataset
    if spec is None:
        return None
    if isinstance(spec, PreparedDataset):
        return prepared_image(experiment, userland, stock, ui)
    if needed := packages.FILESYSTEMS[experiment.disk.filesystem]:
        packages.ensure(needed, ui)
    return dataset_image(spec, note=ui.note)
