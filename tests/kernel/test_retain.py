# SPDX-License-Identifier: GPL-2.0-only
"""memory.retain, part 5 of the series: what a cgroup drops stays while there is room for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.checks.ci import FILESYSTEMS_KERNEL
from mglru.core.ui import Ui
from mglru.disk.images import dataset_image
from mglru.experiment.dataset import PreparedDataset
from mglru.experiment.load import load_experiment
from mglru.guest.plan import Inputs, make_plan
from mglru.results.model import BootRecord
from mglru.run.boots import make_jobs, run_jobs
from mglru.source.kernel_id import KernelId
from support.guests import kernel_build
from support.runs import run

SMALL = ("dataset.size_mb=64", "dataset.file_mb=32", "limit=4M", "guest.memory_mb=512")
FILE, LIMIT = 32 << 8, 4 << 8  # pages
# Pages that are elsewhere for a moment: read ahead, being isolated, not yet on a list.
SOME = 256
# Of programs themselves, which a small cgroup evicts beside a stream and has to map again.
TEXT = 2048
INPUTS = Inputs(
    program=lambda name: Path("/guest") / name, image=Path("/disk.img"), trace=None, seed=1,
    symbols=(), classic=False,
)  # fmt: skip


def patched(name: str, quiet: Ui, *settings: str) -> BootRecord:
    """The record of one boot of the patched kernel; the stock one has to run as well."""
    records = run(load_experiment(name, settings), quiet)
    stock, ours = sorted(records, key=lambda record: len(str(record.kernel)))
    assert "pgretain" not in stock.metrics
    return ours


def filesystems(name: str, quiet: Ui, *settings: str) -> dict[str, float]:
    """The figures of one boot of the kernel that has more file systems."""
    experiment = load_experiment(name, settings)
    spec, kernel = experiment.dataset, KernelId.parse(FILESYSTEMS_KERNEL)
    assert spec
    assert not isinstance(spec, PreparedDataset)
    builds = {kernel: kernel_build(FILESYSTEMS_KERNEL)}
    image = dataset_image(spec, note=quiet.note)
    records: list[BootRecord] = []
    run_jobs(make_jobs(experiment, builds, image, boots=1, seed=1), quiet, records.append, 1)
    assert records[0].problems == []
    return records[0].metrics


def test_a_file_that_not_every_kernel_has_is_written_where_it_is() -> None:
    wanted = "write_if_there\t/sys/fs/cgroup/work/memory.retain\t"
    plan = make_plan(load_experiment("read-twice"), INPUTS)
    assert plan.index("write\t/sys/fs/cgroup/work/memory.max\t10M") < plan.index(wanted + "1")
    assert wanted + "0" in make_plan(load_experiment("read-twice", ["retain=0"]), INPUTS)
    plain = make_plan(load_experiment("retain-stress"), INPUTS)
    assert not any(line.startswith("write_if_there") for line in plain)


@pytest.mark.guest
def test_the_second_reading_needs_no_disk(quiet: Ui) -> None:
    metrics = patched("read-twice", quiet, *SMALL).metrics
    assert metrics["pgpgin"] <= (FILE + SOME) * 4
    assert FILE - LIMIT - SOME <= metrics["pgretain_reuse"] <= FILE + TEXT
    assert 2 * (FILE - LIMIT - SOME) <= metrics["pgretain"] <= 2 * FILE + TEXT
    assert metrics["first_pass_seconds"] >= 39 * metrics["second_pass_seconds"]
    assert metrics["workingset_refault_file"] == 0


@pytest.mark.guest
def test_switched_off_nothing_is_kept(quiet: Ui) -> None:
    metrics = patched("read-twice", quiet, *SMALL, "retain=0").metrics
    assert (metrics["pgretain"], metrics["pgretain_reuse"]) == (0, 0)
    assert metrics["pgpgin"] >= 2 * FILE * 4 - LIMIT * 4


@pytest.mark.guest
def test_another_cgroup_is_charged_for_what_it_finds(quiet: Ui) -> None:
    metrics = patched("retain-shared", quiet, *SMALL).metrics
    assert metrics["pgpgin"] <= (FILE + SOME) * 4
    # By the first when it comes again: all but what is still charged to it or to the other one.
    assert metrics["pgretain_reuse"] >= FILE - 2 * LIMIT - 2 * SOME
    assert metrics["first_pass_seconds"] >= 39 * metrics["other_pass_seconds"]


@pytest.mark.guest
def test_nothing_is_left_of_a_stress(quiet: Ui) -> None:
    metrics = patched("retain-stress", quiet, "workers=3", "rounds=6").metrics
    assert metrics["retained_pages"] > 0
    assert metrics["reused_pages"] > 0
    assert metrics["charged_peak_share"] <= 1
    left = {name: value for name, value in metrics.items() if name.startswith("left_")}
    assert left == dict.fromkeys(left, 0)
    assert metrics["wrong_pages"] == metrics["workers_failed"] == 0


@pytest.mark.guest
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("read-twice", ("disk.filesystem=xfs", "dataset.size_mb=320", "guest.memory_mb=640")),
        # Its readahead is 4 MB; making it waits for ever where computing takes no time.
        ("read-twice", ("disk.filesystem=btrfs", "dataset.size_mb=128", "limit=16M", "time=real")),
        ("retain-uring", ()),
    ],
)
def test_other_ways_to_a_page_need_no_disk(quiet: Ui, name: str, settings: tuple[str, ...]) -> None:
    metrics = filesystems(name, quiet, *SMALL, *settings)
    assert metrics["pgpgin"] <= (FILE + SOME) * 4
    # Some are dropped before they are read, where more is read ahead.
    assert FILE - 4 * LIMIT - SOME <= metrics["pgretain_reuse"] <= 2 * FILE
    assert metrics.get("uring_bytes_missing", 0) == 0
    assert metrics["workingset_refault_file"] <= SOME + TEXT


@pytest.mark.guest
def test_many_small_files_leave_room_for_memory(quiet: Ui) -> None:
    """What keeps inodes in memory can be dropped by the cgroup that is charged for them."""
    stock, ours = sorted(
        run(load_experiment("small-files-then-memory:retain", ()), quiet),
        key=lambda record: len(str(record.kernel)),
    )
    assert stock.metrics["oom_kill"] == ours.metrics["oom_kill"] == 0
    assert ours.metrics["pgretain"] > 0
    assert ours.metrics["pgpgin"] <= stock.metrics["pgpgin"]
