# SPDX-License-Identifier: GPL-2.0-only
"""Part 1 of the series in a guest: reclaim that may not do everything, or finds odd things.

Beside stock, which does the same work: it may cost the series a twentieth more.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from mglru.build.build import find_build
from mglru.build.recipe import make_recipe
from mglru.checks.ci import GUEST_KERNELS
from mglru.guest import channel
from mglru.guest.programs import guest_program
from mglru.guest.steps import PlanStep
from mglru.machine import qemu
from mglru.machine.request import BootRequest
from mglru.source.kernel_id import KernelId
from mglru.source.trees import cached
from support.guests import (
    CGROUP,
    DATA,
    as_steps,
    file_system,
    memcg,
    plan_metrics,
    read_report,
    step,
)

STOCK, SERIES = GUEST_KERNELS[:2]
LIMIT_SECONDS = 300
PAGES_OF_MB = 256
DISK = file_system(200, completion_us=80)
# Of what it costs stock: kB written and seconds.
AT_MOST = 1.05
# What reclaim of cgroups may do, by the flags of whoever runs into the limit.
TRACING = "/sys/kernel/tracing"
TRACED = (
    f"mount\ttracefs\tnone\t{TRACING}",
    f"write\t{TRACING}/events/vmscan/mm_vmscan_memcg_reclaim_begin/enable\t1",
)
# Memory that is written again in each round, in a cgroup that holds half of it.
ANON_MB, ROUNDS = 32, 3
LIMIT = "{limit}"
HALF = ("15M", "15500K", "16M", "16500K", "17M")  # half of it in the mean
ANON = step("anon", f"dd if=/dev/urandom of=/dev/null bs={ANON_MB}M count={ROUNDS}")


def beside_stock(tmp_path: Path, *plan: str | PlanStep, limits: tuple[str, ...]) -> Counter[str]:
    """Return the counters of a plan on the series, which may cost a little more than on stock.

    Sums over `limits`, each in place of `{limit}`: where one figure is what is left at the end of
    a lap, a page more or less of some program's text can change it by a tenth on either kernel.
    """
    stock, found = Counter[str](), Counter[str]()
    for limit in limits:
        directory = tmp_path / limit
        directory.mkdir()
        steps = [step.replace(LIMIT, limit) if isinstance(step, str) else step for step in plan]
        stock.update(plan_metrics(directory, STOCK, *steps))
        found.update(plan_metrics(directory, SERIES, *steps))
    assert found["oom_kill"] <= stock["oom_kill"]
    for cost in ("written_kb", "elapsed_seconds"):
        assert found[cost] <= stock[cost] * AT_MOST, f"{cost}: {found[cost]}, stock {stock[cost]}"
    return found


@pytest.mark.guest
def test_a_loop_device_is_written_in_a_full_cgroup(tmp_path: Path) -> None:
    """The loop device's worker charges its writer's cgroup, and must not wait for itself."""
    copy = "cd /mnt/loop; dd if=/dev/urandom of=one bs=1M count=24; cp one two; sync; cmp one two"
    # Of the worker, which has no bit for IO or file systems, and of the file system above it.
    seen = (
        f"test $(grep -c 'GFP_NOIO' {TRACING}/trace) -gt 100 && "
        f"test $(grep -c 'GFP_NOFS' {TRACING}/trace) -gt 100"
    )
    found = beside_stock(
        tmp_path,
        *DISK,
        *TRACED,
        "step\timage\t-\t/bin/sh\t-ec\ttruncate -s 100M /mnt/data/image; mkdir /mnt/loop; "
        "/sbin/mkfs.ext4 -qF /mnt/data/image; /sbin/losetup /dev/loop0 /mnt/data/image",
        "mount\text4\t/dev/loop0\t/mnt/loop",
        *memcg(LIMIT),
        # Little at once: whose dirty pages fill a cgroup is killed for them, on stock as well.
        "write\t/proc/sys/vm/dirty_background_bytes\t1048576",
        "write\t/proc/sys/vm/dirty_bytes\t4194304",
        # With it, requests know whose they are.
        "write\t/sys/fs/cgroup/cgroup.subtree_control\t+io",
        "counters\tbegin",
        step("copy", copy),
        "counters\tend",
        step("seen", seen),
        limits=("32M",),
    )
    assert found["oom_kill"] == 0
    assert found["pgsteal_file"] > 8 * PAGES_OF_MB


@pytest.mark.guest
def test_swap_over_a_file(tmp_path: Path) -> None:
    """Its pages are written by the block device below the file system."""
    found = beside_stock(
        tmp_path,
        *DISK,
        "step\tfile\t-\t/bin/sh\t-ec\tdd if=/dev/zero of=/mnt/data/swap bs=1M count=64; "
        "chmod 600 /mnt/data/swap; mkswap -q /mnt/data/swap; swapon /mnt/data/swap",
        *memcg(LIMIT),
        "counters\tbegin",
        ANON,
        "counters\tend",
        limits=HALF,
    )
    assert found["oom_kill"] == 0
    assert found["pswpout"] >= len(HALF) * (ANON_MB - 16) * PAGES_OF_MB


@pytest.mark.guest
def test_what_is_swapped_out_late_is_not_written_twice(tmp_path: Path) -> None:
    """A swap device that takes 20 ms: what was written waits at the old end, and is freed."""
    found = beside_stock(
        tmp_path,
        "disk\tslow\tsize=64\tmemory_backed=1\tblocksize=4096\tirqmode=2\tcompletion_nsec=20000000",
        "swap\t/dev/slow",
        *memcg(LIMIT),
        "counters\tbegin",
        ANON,
        "counters\tend",
        limits=HALF,
    )
    assert found["oom_kill"] == 0
    assert found["pgrotated"] > 0
    # Each page is written once each time that its contents have changed.
    assert found["pswpout"] <= len(HALF) * ANON_MB * PAGES_OF_MB * ROUNDS * 1.02


@pytest.mark.guest
@pytest.mark.parametrize("removed", [True, False])
def test_a_removed_cgroup_is_scraped_whole(tmp_path: Path, removed: bool) -> None:
    """And one that is still there gives no more than it was asked for."""
    remove = "rmdir child;" if removed else ""
    left = "-lt 3" if removed else "-gt 12"
    script = (
        f"cd {CGROUP}; echo +memory >cgroup.subtree_control; mkdir child; "
        "(echo 0 >child/cgroup.procs; dd if=/mnt/data/file of=/dev/null bs=1M); "
        f"{remove} test $(cat memory.current) -gt $((16 << 20)) && "
        f"echo 1M >memory.reclaim && test $(($(cat memory.current) >> 20)) {left}"
    )
    plan_metrics(
        tmp_path,
        SERIES,
        *DISK,
        "step\tfile\t-\t/bin/sh\t-ec\tdd if=/dev/zero of=/mnt/data/file bs=1M count=16; sync",
        "drop_caches",
        *memcg("100M"),
        f"step\tchild\t-\t/bin/sh\t-c\t{script}",
    )


# Of the movable zone and of the others.
MOVABLE_MB, KERNEL_MB = 160, 160
KERNEL_CACHE = "sed -n '/zone  *DMA32/,/zone  *Normal/s/ *nr_zone_inactive_file //p' /proc/zoneinfo"
MOVABLE_CACHE = "sed -n '/zone  Movable/,$s/ *nr_zone_inactive_file //p' /proc/zoneinfo"


def with_zones(tmp_path: Path, kernel: str, script: str) -> dict[str, float]:
    """Return the counters of a script on DATA, in a guest of x86 that has a movable zone."""
    # User Mode Linux has one zone only.
    name = KernelId.parse(kernel)
    source = cached(name.base)
    build = source and find_build(make_recipe(name, source, "qemu"))
    assert build, "run ./mglru test --machine qemu"
    plan: tuple[str | PlanStep, ...] = (
        *("lru_gen", "strict"),
        *file_system(64),
        "counters\tbegin",
        f"step\tscript\t-\t/bin/sh\t-c\tcd {DATA}; {script}",
        "counters\tend",
    )
    asked = BootRequest(
        build.image, guest_program("init"), as_steps(plan), MOVABLE_MB + KERNEL_MB, 1,
        virtual_time=True, limit_seconds=LIMIT_SECONDS, movable_mb=MOVABLE_MB,
    )  # fmt: skip
    directory = tmp_path / kernel
    directory.mkdir()
    outcome = qemu.boot(asked, directory)
    report = read_report(outcome)
    assert report.done, outcome.console.read_text()[-2000:]
    assert [step.label for step in report.steps if step.failed] == []
    return channel.metrics_of(report)


@pytest.mark.qemu
def test_zones_that_do_not_help_are_left_alone(tmp_path: Path) -> None:
    """Kernel memory cannot be had of the movable zone: its page cache stays, and nobody loops."""
    script = (
        "truncate -s 400M holes; dd if=holes of=/dev/null bs=1M; "
        f"before=$({MOVABLE_CACHE}); test $before -gt 20000 || exit 1; kernel=$({KERNEL_CACHE}); "
        "mkdir /mnt/many; seq -f /mnt/many/%.0f 40000 | xargs touch; "
        f"after=$({MOVABLE_CACHE}); test $after -gt $((before * 9 / 10)) && "
        # What the kernel wanted came from its own zone.
        f"test $({KERNEL_CACHE}) -lt $((kernel - 1000))"
    )
    stock, found = (with_zones(tmp_path, kernel, script) for kernel in (STOCK, SERIES))
    assert found["oom_kill"] == 0
    assert found["elapsed_seconds"] < stock["elapsed_seconds"] * AT_MOST


@pytest.mark.qemu
def test_each_zone_turns_over(tmp_path: Path) -> None:
    """A long stream gets its pages from both zones: neither has pages that nobody reclaims."""
    script = "truncate -s 1600M holes; dd if=holes of=/dev/null bs=1M"
    stock, found = (with_zones(tmp_path, kernel, script) for kernel in (STOCK, SERIES))
    for zone, megabytes in (("dma32", KERNEL_MB), ("movable", MOVABLE_MB)):
        assert found[f"pgalloc_{zone}"] > 2 * megabytes * PAGES_OF_MB
    assert found["elapsed_seconds"] < stock["elapsed_seconds"] * AT_MOST
