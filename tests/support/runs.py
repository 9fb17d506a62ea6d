# SPDX-License-Identifier: GPL-2.0-only
"""Whole runs of small experiments on the kernels that `./mglru test` builds."""

from __future__ import annotations

from pathlib import Path

from mglru.build.build import Build, find_build
from mglru.build.recipe import make_recipe
from mglru.checks.ci import GUEST_KERNELS
from mglru.core.ui import Ui
from mglru.debian.userland import get_userland
from mglru.disk.images import dataset_image
from mglru.experiment.dataset import PreparedDataset
from mglru.experiment.spec import Experiment
from mglru.results.model import BootRecord
from mglru.run import prepared
from mglru.run.boots import run_jobs
from mglru.run.jobs import make_jobs, parallel_boots
from mglru.source.kernel_id import KernelId
from mglru.source.trees import cached


def builds() -> dict[KernelId, Build]:
    found = {}
    for kernel in map(KernelId.parse, GUEST_KERNELS):
        source = cached(kernel.base)
        assert source, "run ./mglru test"
        build = find_build(make_recipe(kernel, source))
        assert build, "run ./mglru test"
        found[kernel] = build
    return found


def run(experiment: Experiment, quiet: Ui, boots: int = 1) -> list[BootRecord]:
    spec, wanted = experiment.dataset, experiment.userland
    userland = get_userland(wanted.packages, quiet) if wanted else None
    if isinstance(spec, PreparedDataset):
        stock = builds()[prepared.KERNEL]
        image: Path | None = prepared.prepared_image(experiment, userland, lambda: stock, quiet)
    else:
        image = dataset_image(spec, note=quiet.note) if spec else None
    jobs = make_jobs(
        *(experiment, builds(), image), boots=boots, seed=1, vary_seed=False, userland=userland
    )
    records: list[BootRecord] = []
    run_jobs(jobs, quiet, records.append, parallel_boots(experiment))
    assert [record.problems for record in records] == [[]] * len(jobs)
    assert {record.kernel for record in records} == set(GUEST_KERNELS)
    return records
