# SPDX-License-Identifier: GPL-2.0-only
"""memory.retain, part 5 of the series: what a cgroup drops stays while there is room for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.checks.ci import FILESYSTEMS_KERNEL, GUEST_KERNELS
from mglru.core.ui import Ui
from mglru.disk.images import dataset_image
from mglru.experiment.dataset import PreparedDataset
from mglru.experiment.load import load_experiment
from mglru.guest import channel
from mglru.guest.plan import PlanInputs, make_plan
from mglru.guest.steps import PlanStep, Write, WriteIfThere
from mglru.machine.uml import boot
from mglru.results.model import BootRecord
from mglru.run.boots import run_jobs
from mglru.run.jobs import make_jobs
from mglru.source.kernel_id import KernelId
from support.guests import (
    CGROUP,
    DISK,
    file_system,
    kernel_build,
    memcg,
    read_report,
    request,
    step,
)
from support.runs import run

SMALL = ("dataset.size_mb=64", "dataset.file_mb=32", "limit=4M", "guest.memory_mb=512")
FILE, LIMIT = 32 << 8, 4 << 8  # pages
# Pages that are elsewhere for a moment: read ahead, being isolated, not yet on a list.
SOME = 256
# Of programs themselves, which a small cgroup evicts beside a stream and has to map again.
TEXT = 2048
INPUTS = PlanInputs(
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
    file = f"{CGROUP}/memory.retain"
    plan = make_plan(load_experiment("read-twice"), INPUTS)
    limit = plan.index(Write(f"{CGROUP}/memory.max", "10M"))
    assert limit < plan.index(WriteIfThere(file, "1"))
    assert WriteIfThere(file, "0") in make_plan(load_experiment("read-twice", ["retain=0"]), INPUTS)
    plain = make_plan(load_experiment("retain-stress"), INPUTS)
    assert not any(isinstance(step, WriteIfThere) for step in plain)


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


def counters(tmp_path: Path, *plan: str | PlanStep, limit: float = 60) -> dict[str, float]:
    """Return what a plan on the series counted, all of whose steps have to do their work."""
    tmp_path.mkdir(exist_ok=True)
    asked = request(kernel_build(GUEST_KERNELS[1]), "strict", *plan, limit=limit)
    report = read_report(boot(asked, tmp_path))
    assert report.done
    return channel.metrics_of(report)


@pytest.mark.guest
def test_groups_without_it_count_the_same_whoever_else_has_it(tmp_path: Path) -> None:
    """Once anybody had the switch on, the kernel asks for each batch, and nothing else changes."""
    mix = (
        "for i in 1 2 3; do dd if=/dev/data of=/dev/null bs=64k count=400 skip=$((i * 100)) & done"
    )
    found = [
        counters(
            tmp_path / switch,
            *DISK,
            *memcg("16M"),
            "mkdir\t/sys/fs/cgroup/other",
            f"write\t/sys/fs/cgroup/other/memory.retain\t{switch}",
            "counters\tbegin",
            step("mix", f"{mix}; wait"),
            step("again", "dd if=/dev/data of=/dev/null bs=1M count=32"),
            "counters\tend",
        )
        for switch in ("0", "1")
    ]
    assert found[0]["workingset_refault_file"] > 0
    assert found[0] == found[1]


@pytest.mark.guest
def test_the_kernel_reads_a_page_for_whom_it_does(tmp_path: Path) -> None:
    """swapon reads the first page of a file by read_cache_folio(): its caller is charged."""
    other = "/sys/fs/cgroup/other"
    use = (
        f"echo 0 >{other}/cgroup.procs; /sbin/swapon /mnt/data/swap; "
        f"grep -q 'pgretain_reuse [1-9]' {other}/memory.stat"
    )
    counters(
        tmp_path,
        *file_system(100),
        "step\tfile\t-\t/bin/sh\t-ec\tdd if=/dev/zero of=/mnt/data/swap bs=1M count=32; "
        "chmod 600 /mnt/data/swap; /sbin/mkswap /mnt/data/swap; sync",
        "drop_caches",
        *memcg("4M"),
        f"write\t{CGROUP}/memory.retain\t1",
        step("retain", "dd if=/mnt/data/swap of=/dev/null bs=1M"),
        f"mkdir\t{other}",
        f"step\tuse\t-\t/bin/sh\t-c\t{use}",
    )


@pytest.mark.guest
def test_a_thousand_containers_leave_nothing_with_their_parent(tmp_path: Path) -> None:
    """Each reads a file that all share, writes one of its own, and gives all to the parent."""
    one = (
        "mkdir c; echo 4M >c/memory.max; echo 1 >c/memory.retain; "
        "(echo 0 >c/cgroup.procs; dd if=/mnt/data/shared of=/dev/null bs=1M; echo >/mnt/data/$i); "
        "echo 0 >c/memory.max; rmdir c || exit 1"
    )
    # What ext4 itself holds keeps groups, with and without retention, until it is unmounted.
    script = (
        f"cd {CGROUP}; echo +memory >cgroup.subtree_control; "
        f"for i in $(seq 1000); do {one}; done 2>/dev/null; "
        "grep -q 'pgretain [1-9].....' memory.stat && umount /mnt/data && "
        "for i in $(seq 10); do echo 64M >memory.reclaim; sleep 1; done 2>/dev/null; "
        "grep -q 'nr_dying_descendants 0' cgroup.stat && "
        "grep -q 'retained 0' memory.stat && test $(cat memory.current) -lt $((1 << 20)) || "
        "{ cat cgroup.stat memory.current memory.stat; exit 1; }"
    )
    counters(
        tmp_path,
        *file_system(100),
        "step\tfile\t-\t/bin/sh\t-ec\tdd if=/dev/zero of=/mnt/data/shared bs=1M count=8; sync",
        "drop_caches",
        *memcg("200M"),
        f"step\tcontainers\t-\t/bin/sh\t-c\t{script}",
        limit=600,  # three thousand programs, on a host that may be busy
    )
