# SPDX-License-Identifier: GPL-2.0-only
"""Data that real servers made: inside a guest, once, cached as a disk image.

The guest runs the stock kernel in virtual time, with no memory limit and a disk that costs
nothing. Its steps fill an empty file system, which is then copied out.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from mglru.build.build import Build
from mglru.core import process
from mglru.core.cache import made, scratch
from mglru.core.errors import LabError, UsageError
from mglru.core.keys import key_of
from mglru.core.paths import cache_dir, require_space
from mglru.core.ui import Ui
from mglru.debian.userland import Userland
from mglru.disk.images import LIMIT_SECONDS, SEED, dataset_image
from mglru.experiment.dataset import IMAGE, EmptyDataset, PreparedDataset
from mglru.experiment.spec import Experiment
from mglru.guest.plan import DATA, PlanInputs, fill, make_preparation
from mglru.guest.programs import guest_program
from mglru.run.judged import Judged, PlainBoot, boot_plain
from mglru.source.kernel_id import KernelId

# The kernel that makes data for all others.
KERNEL = KernelId.parse("6.12")
# Images are made anew when this module makes them differently.
FORMAT = 1


def prepared_image(
    experiment: Experiment, userland: Userland | None, kernel: Callable[[], Build], ui: Ui
) -> Path:
    """Return the image of an experiment's prepared dataset, made if it is not in the cache.

    Args:
        experiment: its dataset is a PreparedDataset.
        userland: whose programs make the data.
        kernel: gives the build of KERNEL, called only if the data is made now.
        ui: told of it.

    Raises:
        LabError: no space, or a step failed (the message has the end of its output).
    """
    spec = experiment.dataset
    if not isinstance(spec, PreparedDataset) or userland is None:
        raise UsageError(
            f"experiment {experiment.name}: prepared data is made by the programs of a userland",
            next_step=f"add [userland] packages to {experiment.name}.toml",
        )
    target = cache_dir("datasets") / f"{spec.kind}-{_key(experiment, spec, userland)}"
    made(target, lambda staging: _make(experiment, spec, userland, kernel(), staging, ui))
    return target / IMAGE


def _key(experiment: Experiment, spec: PreparedDataset, userland: Userland) -> str:
    """Identify the content: the steps with their parameters, the packages, the size."""
    values = {"data": DATA, **experiment.parameters}
    # The directory of a guest program is named by its content, and lies in any cache.
    argvs = [
        fill(step, values, experiment, lambda name: Path("/", guest_program(name).parent.name))
        for step in spec.steps
    ]
    content = [FORMAT, SEED, spec.size_mb, spec.memory_mb, userland.digest, argvs]
    return key_of(json.dumps(content))


def _make(
    experiment: Experiment,
    spec: PreparedDataset,
    userland: Userland,
    kernel: Build,
    staging: Path,
    ui: Ui,
) -> None:
    require_space(staging, spec.size_mb << 20, f"preparing the data of {experiment.name}")
    empty = dataset_image(EmptyDataset(kind="empty", size_mb=spec.size_mb))
    with (
        ui.bar(f"preparing the data of {experiment.name} in a guest, once", None),
        scratch("prepare") as directory,
    ):
        inputs = PlanInputs(
            program=guest_program,
            image=empty,
            trace=None,
            seed=SEED,
            symbols=(),
            classic=False,
            userland=userland.root,
        )
        plan = make_preparation(experiment, inputs, staging)
        plain = PlainBoot(plan, memory_mb=spec.memory_mb, limit_seconds=LIMIT_SECONDS)
        _check(experiment, boot_plain(f"prepare-{experiment.name}", kernel, plain, directory))


def _check(experiment: Experiment, judged: Judged) -> None:
    """Make sure that every step did its work.

    Raises:
        LabError: one did not; the console's end is the end of its output.
    """
    if judged.problems:
        # A step's own message says more than what is missing because of it.
        first = [f"step {step.label} {step.how}" for step in judged.report.steps if step.failed]
        raise LabError(
            f"cannot prepare the data of {experiment.name}: {'; '.join(first or judged.problems)}",
            log_tail=process.tail(judged.outcome.console),
            next_step=f"see the steps of [dataset] in {experiment.name}.toml; "
            "if the disk or the memory was full, raise size_mb or memory_mb there",
        )
