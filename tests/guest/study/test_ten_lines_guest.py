# SPDX-License-Identifier: GPL-2.0-only
"""The experiment of ten lines, booted."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.checks.ci import GUEST_KERNELS
from mglru.core.ui import Ui
from mglru.disk.images import dataset_image
from mglru.results.model import BootRecord
from mglru.run.boots import run_jobs
from mglru.run.jobs import make_jobs, parallel_boots
from support.runs import builds
from support.ten_lines import experiment

pytestmark = pytest.mark.guest


def test_the_example_runs_and_shows_what_it_says(tmp_path: Path, quiet: Ui) -> None:
    read = experiment(tmp_path)
    assert read.dataset
    assert read.dataset.kind == "file"
    jobs = make_jobs(read, builds(), dataset_image(read.dataset), boots=1, seed=1)
    records: list[BootRecord] = []
    run_jobs(jobs, quiet, records.append, parallel_boots(read))
    assert [record.kernel for record in records] == list(GUEST_KERNELS)
    assert [record.problems for record in records] == [[], []]
    refaults = [record.metrics["workingset_refault_file"] for record in records]
    # Four passes over a file of 48 MB after the first, and 32 MB of it can be there. At most, all
    # is read again, the beginning twice.
    pages, limit, beginning = 48 << 8, 32 << 8, 8 << 8
    assert 4 * (pages - limit) <= min(refaults) <= max(refaults) <= 4 * (pages + beginning)
    # Both kernels want to keep something, and the series keeps what is read twice as often.
    assert refaults[1] < refaults[0]
    for record in records:
        megabytes = (pages + record.metrics["workingset_refault_file"]) / 256
        # null_blk grants its bandwidth in fiftieths of a second: one may be in hand at the start.
        assert record.metrics["read_seconds"] >= megabytes / 1700 - 0.02
