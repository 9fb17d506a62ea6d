# SPDX-License-Identifier: GPL-2.0-only
"""The bound of recorded boots."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.core.ui import Ui
from mglru.disk.images import dataset_image
from mglru.experiment.dataset import FileDataset
from mglru.experiment.load import load_experiment
from mglru.run.boots import run_job
from mglru.run.jobs import Job, make_jobs
from mglru.run.session import Session
from mglru.source.kernel_id import KernelId
from mglru.study.bound import bound as bounds
from support.guests import kernel_build

pytestmark = pytest.mark.guest


# A file of 8 MiB in 4 MiB of memory, read twice in pieces of 128 kB, in random order and
# backwards, then a quarter of it, which does fit, three times.
READS = """
summary = "reads a file"
[guest]
memory_mb = 256
[dataset]
kind = "file"
size_mb = 32
file_mb = 8
[memcg]
"memory.max" = "4M"
[[steps]]
label = "read"
argv = ["/bin/sh", "-c", '''
for block in $(seq 0 63 | shuf --random-source={data}/file) $(seq 63 -1 0) ; do
  dd if={data}/file of=/dev/null bs=128k count=1 skip=$block 2>/dev/null
done
for pass in 1 2 3; do dd if={data}/file of=/dev/null bs=128k count=16 2>/dev/null; done''']
"""


@pytest.fixture
def reads(tmp_path: Path) -> Job:
    (tmp_path / "reads.toml").write_text(READS)
    experiment = load_experiment("reads", directory=tmp_path)
    assert isinstance(experiment.dataset, FileDataset)
    kernel = KernelId.parse("6.12")
    image = dataset_image(experiment.dataset)
    builds = {kernel: kernel_build("6.12")}
    return make_jobs(experiment, builds, image, boots=1, seed=1)[0]


def test_every_page_that_a_guest_reads_is_recorded_and_what_the_kernel_did_with_it(
    reads: Job,
) -> None:
    kernel = KernelId.parse("6.12")
    session = Session([kernel], (), Ui(quiet=True), builds={kernel: kernel_build("6.12")})
    bound = bounds.find_bound(session, [reads], "6.12")
    # shuf reads a page of it, too.
    assert bound.accesses == 2048 * 2 + 512 * 3 + 1
    assert bound.pages == bound.first_time == 2048
    assert 500 <= bound.capacity_pages <= 1024
    outcome = bound.kernels["6.12"]
    # In so little memory a batch of reclaim is a large part, and the kernel is far from LRU.
    assert bound.policies["Belady"].misses < bound.policies["LRU"].misses <= outcome.misses
    assert outcome.misses < bound.accesses
    # The kernel counts pages that were read ahead for nothing, too.
    assert outcome.workingset_refault_file == outcome.refaults + outcome.unused


def test_recording_does_not_change_the_run(reads: Job, tmp_path: Path) -> None:
    plain, recorded = run_job(reads), run_job(Job(**{**vars(reads), "recording": tmp_path}))
    assert recorded.problems == plain.problems == []
    for name in ("workingset_refault_file", "pgpgin"):
        assert recorded.metrics[name] == pytest.approx(plain.metrics[name], rel=0.01), name
