# SPDX-License-Identifier: GPL-2.0-only
"""Boots of real kernels: what the machine promises, and how it fails.

The kernels are those that `./mglru test` builds; a missing build is a failure, not a skip.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mglru.build.build import Build
from mglru.checks.ci import GUEST_KERNELS
from mglru.core.errors import LabError
from mglru.core.paths import REPO
from mglru.guest import channel, console
from mglru.guest.places import guest_path
from mglru.guest.programs import guest_program
from mglru.machine.uml import boot
from mglru.run.judge import Expectation, problems, prove
from support.guests import (
    CGROUP,
    DISK,
    kernel_build,
    memcg,
    read_report,
    request,
    step,
)
from support.places import PROGRAMS

pytestmark = pytest.mark.guest


READ = "dd if=/dev/data of=/dev/null bs=64k count=400"
# Memory that cannot be reclaimed without swap: a file in a tmpfs.
FILL = f"step\tfill\t{CGROUP}\t/bin/dd\tif=/dev/zero\tof=/mnt/full\tbs=1M\tcount=64"


@pytest.fixture(params=GUEST_KERNELS)
def build(request: pytest.FixtureRequest) -> Build:
    return kernel_build(request.param)


def test_the_guest_says_which_kernel_it_runs(build: Build, tmp_path: Path) -> None:
    symbols = [f"symbol\t{name}" for name in (*build.recipe.proofs, *build.recipe.absent)]
    outcome = boot(request(build, *symbols), tmp_path)
    report = read_report(outcome)
    expected = Expectation(build.recipe.kernel, build.recipe, ())
    prove(report, expected)
    assert report.done
    assert outcome.exit_status == 0
    assert report.lru_gen
    assert int(report.lru_gen, 16) & 1
    assert console.scan(outcome.console.read_bytes()) == []


def test_a_kernel_that_is_not_the_one_asked_for_is_refused(tmp_path: Path) -> None:
    stock, patched = (kernel_build(name) for name in GUEST_KERNELS)
    symbols = [f"symbol\t{name}" for name in patched.recipe.proofs]
    report = read_report(boot(request(stock, *symbols), tmp_path))
    with pytest.raises(LabError, match="does not run") as caught:
        prove(report, Expectation(patched.recipe.kernel, patched.recipe, ()))
    for name in patched.recipe.proofs:
        assert f"no symbol {name}" in str(caught.value)
    classic = replace(stock.recipe.kernel, classic=True)
    with pytest.raises(LabError, match="lru_gen/enabled"):
        prove(report, Expectation(classic, stock.recipe, ()))


def test_reading_a_file_twice_the_limit_refaults_every_page_of_it(
    build: Build, tmp_path: Path
) -> None:
    # 32 MiB on the disk, read twice in a cgroup that holds 16 MiB: plain LRU keeps nothing of
    # such a loop, and no policy can keep more than the limit.
    pages, limit = 32 << 8, 16 << 8
    plan = [
        *DISK,
        *memcg("16M"),
        step("first", "dd if=/dev/data of=/dev/null bs=1M count=32"),
        "counters\tbegin",
        step("second", "dd if=/dev/data of=/dev/null bs=1M count=32"),
        "counters\tend",
    ]
    outcome = boot(request(build, *plan), tmp_path)
    report = read_report(outcome)
    assert problems(outcome, report, Expectation(build.recipe.kernel, build.recipe, ()), 60) == []
    metrics = channel.metrics_of(report)
    # The programs' own pages, from the host's file system, may be among them.
    assert pages - limit <= metrics["workingset_refault_file"] <= pages * 1.01
    assert 4 * (pages - limit) <= metrics["pgpgin"] <= 4 * pages * 1.01
    assert metrics["oom_kill"] == 0


def test_two_boots_with_one_seed_agree_to_the_last_counter(build: Build, tmp_path: Path) -> None:
    plan = [
        *DISK,
        *memcg("16M"),
        "counters\tbegin",
        step("mix", f"for i in 1 2 3; do {READ} skip=$((i * 100)) & done; wait"),
        step("again", READ),
        "counters\tend",
    ]
    outcomes = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        outcomes.append(boot(request(build, *plan), tmp_path / name))
    first, second = (channel.metrics_of(read_report(outcome)) for outcome in outcomes)
    assert first["workingset_refault_file"] > 0
    assert first == second


def test_virtual_time_is_the_disks_and_not_the_hosts(build: Build, tmp_path: Path) -> None:
    # Reads one after another from a disk that takes 80 us for each. A timer fires up to 3 % late,
    # and a step ends with a tick of the clock, every 10 ms.
    read = "dd if=/dev/data of=/dev/null bs=4k iflag=direct count=10000"
    plan = [*DISK, *memcg("64M"), step("read", read)]
    report = read_report(boot(request(build, *plan), tmp_path))
    assert 0.8 <= report.steps[0].seconds <= 0.8 * 1.03 + 0.01


def test_a_limit_that_is_too_small_is_an_oom_kill_and_reported(
    build: Build, tmp_path: Path
) -> None:
    plan = [*memcg("16M"), "counters\tbegin", FILL, "counters\tend"]
    outcome = boot(request(build, *plan), tmp_path)
    report = read_report(outcome)
    assert channel.metrics_of(report)["oom_kill"] >= 1
    expected = Expectation(build.recipe.kernel, build.recipe, ())
    found = problems(outcome, report, expected, 60)
    assert any("memcg_oom" in problem for problem in found)
    assert any("step fill" in problem for problem in found)


def test_a_guest_that_hangs_is_killed_at_its_limit(build: Build, tmp_path: Path) -> None:
    # In virtual time a spinning program never ends: time stands still while it computes.
    plan = [*memcg("64M"), step("hang", "while :; do :; done")]
    outcome = boot(request(build, *plan, limit=3), tmp_path)
    assert outcome.timed_out
    expected = Expectation(build.recipe.kernel, build.recipe, ())
    found = problems(outcome, read_report(outcome), expected, 3)
    assert any("killed after its limit of 3 s" in problem for problem in found)


def test_a_guest_that_panics_is_reported(build: Build, tmp_path: Path) -> None:
    # With panic_on_oom the next kill is a panic.
    plan = [
        "write\t/proc/sys/vm/panic_on_oom\t2",
        *memcg("16M"),
        FILL,
    ]
    outcome = boot(request(build, *plan), tmp_path)
    report = read_report(outcome)
    assert not report.done
    found = problems(outcome, report, Expectation(build.recipe.kernel, build.recipe, ()), 60)
    assert any("panic" in problem for problem in found)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("step\tx\t-\t/no/such/program", "cannot start /no/such/program"),
        ("nonsense", "unknown verb 'nonsense'"),
        ("write\t/proc/sys/vm/nosuch\t1", "cannot open /proc/sys/vm/nosuch"),
        ("mount\text4\t/dev/nosuch\t/mnt/data", "cannot mount /dev/nosuch"),
    ],
)
def test_a_plan_that_cannot_be_carried_out_says_where(
    build: Build, tmp_path: Path, line: str, message: str
) -> None:
    report = read_report(boot(request(build, line), tmp_path))
    assert any(message in error for error in report.errors)


def test_the_guest_cannot_write_to_the_host(build: Build, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    plan = [*memcg("64M"), step("write", f"echo no > {guest_path(victim)}")]
    (tmp_path / "boot").mkdir()
    report = read_report(boot(request(build, *plan), tmp_path / "boot"))
    assert report.steps[0].status != 0
    assert victim.read_text() == "untouched"


def test_a_host_that_forbids_ptrace_is_told_apart(build: Build, tmp_path: Path) -> None:
    jail = tmp_path / "jail"
    subprocess.run(["gcc", "-o", jail, PROGRAMS / "no_ptrace.c"], check=True)
    (tmp_path / "boot").mkdir()
    program = (
        "from pathlib import Path; from mglru.machine.uml import *\n"
        f"boot(BootRequest(Path({str(build.image)!r}), Path({str(guest_program('init'))!r}), (), "
        f"512, 1, True, 30), Path({str(tmp_path / 'boot')!r}))"
    )
    environment = {**os.environ, "PYTHONPATH": str(REPO / "src")}
    outcome = subprocess.run(
        [jail, sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "does not let a program trace its own children" in outcome.stderr


def test_background_programs_are_stopped_with_what_they_started(
    build: Build, tmp_path: Path
) -> None:
    plan = [
        *memcg("64M"),
        # One that has a child, one that does not listen, one that ends early, one that fails.
        f"spawn\tparent\t{CGROUP}\t/bin/sh\t-c\tsleep 1000 & sleep 1000",
        "spawn\tdeaf\t-\t/bin/sh\t-c\ttrap '' TERM; while :; do sleep 1000; done",
        "spawn\tearly\t-\t/bin/true",
        "spawn\tfailing\t-\t/bin/sh\t-c\texit 3",
        "spawn\tkilled\t-\t/bin/sh\t-c\tkill -9 $$",
        "counters\tbegin",
        "step\tmain\t-\t/bin/sleep\t2",
        *(f"stop\t{label}" for label in ("killed", "failing", "early", "deaf", "parent")),
        "counters\tend",
        step("left", f"test $(wc -l < {CGROUP}/cgroup.procs) = 2"),  # the shell and wc
    ]
    outcome = boot(request(build, *plan), tmp_path)
    report = read_report(outcome)
    steps = {step.label: step for step in report.steps}
    assert 2 <= steps["main"].seconds <= 2.02
    assert (steps["parent"].stopped, steps["parent"].signal) == (True, 15)
    assert (steps["deaf"].stopped, steps["deaf"].signal) == (True, 9)
    assert steps["deaf"].seconds >= 30
    assert (steps["early"].stopped, steps["early"].failed) == (False, False)
    assert not steps["left"].failed
    found = problems(outcome, report, Expectation(build.recipe.kernel, build.recipe, ()), 60)
    assert found == ["step killed was killed by signal 9", "step failing returned 3"]


def test_swap_in_zram_is_charged_to_nobody_but_its_owner(build: Build, tmp_path: Path) -> None:
    # A file of 48 MiB in a tmpfs, in a cgroup that holds 16 MiB. Pages of zeros never reach swap.
    write = FILL.replace("/dev/zero", "/dev/urandom").replace("count=64", "count=48")
    plan = [
        "write\t/sys/block/zram0/disksize\t64M",
        "swap\t/dev/zram0",
        *memcg("16M"),
        "counters\tbegin",
        write,
        step("count", f"test $(cat {CGROUP}/memory.swap.current) -ge {32 << 20}"),
        step("kernel", f"test $(sed -n 's/^kernel //p' {CGROUP}/memory.stat) -lt {2 << 20}"),
        "counters\tend",
        step("remove", "rm /mnt/full"),
        f"write\t{CGROUP}/memory.swap.max\t0",
        write.replace("fill", "again"),
    ]
    outcome = boot(request(build, *plan), tmp_path)
    report = read_report(outcome)
    metrics = channel.metrics_of(report)
    assert 32 << 8 <= metrics["pswpout"] <= 48 << 8
    assert metrics["oom_kill"] == 0
    assert [step.label for step in report.steps if step.failed] == ["again"]


def test_cgroup_v1_has_the_same_figures_by_the_same_names(build: Build, tmp_path: Path) -> None:
    plan = [
        *DISK,
        "cgroup\t1",
        *(line.replace("memory.max", "memory.limit_in_bytes") for line in memcg("16M")[1:]),
        "counters\tbegin",
        step("read", READ),
        FILL,
        "counters\tend",
    ]
    outcome = boot(request(build, *plan), tmp_path)
    metrics = channel.metrics_of(read_report(outcome))
    assert 0 < metrics["file"] <= 16 << 20
    assert {"anon", "file_dirty", "file_writeback", "file_mapped"} <= metrics.keys()
    assert metrics["workingset_refault_file"] >= 0
    assert metrics["oom_kill"] >= 1


def test_a_delayed_disk_is_late_with_writes_only(build: Build, tmp_path: Path) -> None:
    dd = "dd bs=1M count=4"
    plan = [
        *DISK,
        "delay\tslow\t/dev/data\t0\t1000",
        *memcg("64M"),
        step("read", f"{dd} if=/dev/mapper/slow of=/dev/null iflag=direct"),
        step("write", f"{dd} if=/dev/zero of=/dev/mapper/slow oflag=direct"),
    ]
    report = read_report(boot(request(build, *plan), tmp_path))
    read, write = report.steps
    assert not read.failed
    assert not write.failed
    assert read.seconds <= 0.1
    # Four writes, one after another; the timer of each comes with the next tick.
    assert 4 <= write.seconds <= 4.2


def test_samples_come_at_their_interval_and_change_nothing(build: Build, tmp_path: Path) -> None:
    sampler = guest_path(guest_program("sampler"))
    names = "nr_dirty,nr_file_pages,nr_shmem"
    reports = []
    for name, with_sampler in (("one", True), ("two", False)):
        plan = [
            *DISK,
            *memcg("16M"),
            *([f"spawn\tsampler\t-\t{sampler}\t10\t{names}\tfile"] * with_sampler),
            "counters\tbegin",
            step("read", READ),
            step("write", "dd if=/dev/zero of=/dev/data bs=1M count=1 conv=notrunc"),
            step("pause", "sleep 1"),
            "counters\tend",
            *(["stop\tsampler"] * with_sampler),
        ]
        (tmp_path / name).mkdir()
        reports.append(read_report(boot(request(build, *plan), tmp_path / name)))
    watched = reports[0]
    assert watched.problems == ()
    gaps = [b.clock_ns - a.clock_ns for a, b in itertools.pairwise(watched.samples)]
    assert len(gaps) >= 100
    assert all(9_900_000 <= gap <= 10_500_000 for gap in gaps)
    for sample in watched.samples:
        assert sorted(sample.vmstat) == sorted(names.split(","))
        assert list(sample.memory_stat) == ["file"]
        assert sample.generations
        # What was charged a moment ago waits in a batch; the cgroup has nothing but this file.
        pages = sum(sample.generations.file) + sum(sample.generations.anon)
        assert pages * 4096 <= sample.memory_current <= 16 << 20
    assert watched.samples[-1].generations
    assert sum(watched.samples[-1].generations.file) > 3000
    line = channel.timeline_of(watched)
    assert line
    assert line.figures["memory_current"][-1] == watched.samples[-1].memory_current
    first, second = map(channel.metrics_of, reports)
    assert 1.04 <= first["file_dirty_peak_mb"] <= 1.1
    # Of the cgroup's 16 MiB, and some outside of it.
    assert 1 / 20 <= first["dirty_share_peak"] <= 1 / 16
    for name in ("workingset_refault_file", "pgpgin", "pgscan", "pgsteal"):
        assert first[name] == second[name]


def test_swapping_to_a_filled_disk_frees_memory(build: Build, tmp_path: Path) -> None:
    # 300 MiB of 512 are the disk's from its start; the rest cannot hold 240 MiB more.
    plan = [
        "disk\tswap\tsize=300\tmemory_backed=1\tblocksize=4096\tirqmode=2\tcompletion_nsec=80000",
        "fill\t/dev/swap",
        "swap\t/dev/swap",
        "cgroup\t2",
        "counters\tbegin",
        "step\twrite\t-\t/bin/dd\tif=/dev/urandom\tof=/mnt/full\tbs=1M\tcount=240",
        "counters\tend",
    ]
    report = read_report(boot(request(build, *plan), tmp_path))
    assert [step.label for step in report.steps if step.failed] == []
    metrics = channel.metrics_of(report)
    assert metrics["oom_kill"] == 0
    assert metrics["pswpout"] >= 40 << 8


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("fill\t/dev/nosuch", "cannot fill /dev/nosuch"),
        ("stop\tnobody", "no background program 'nobody'"),
        ("swap\t/dev/nosuch", "mkswap /dev/nosuch ended with status 1"),
        ("delay\tslow\t/dev/nosuch\t0\t1000", "cannot read the size of /dev/nosuch"),
        ("cgroup\t3", "cannot mount cgroup v3"),
    ],
)
def test_a_machine_that_cannot_be_had_says_why(
    build: Build, tmp_path: Path, line: str, message: str
) -> None:
    report = read_report(boot(request(build, line), tmp_path))
    assert any(message in error for error in report.errors)
