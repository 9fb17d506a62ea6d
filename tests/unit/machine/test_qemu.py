# SPDX-License-Identifier: GPL-2.0-only
"""The x86 machine: how it is put together, and (marked `qemu`) what it promises when it boots."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from mglru.build.build import Build, find_build
from mglru.build.recipe import make_recipe
from mglru.checks.ci import GUEST_KERNELS, SMP_KERNEL
from mglru.cli import cli
from mglru.core.errors import LabError, UsageError
from mglru.core.ui import Ui
from mglru.disk.images import dataset_image
from mglru.disk.root import HOST_PROGRAMS, PLAN, host_programs, libraries, make_root
from mglru.experiment.load import load_experiment
from mglru.experiment.spec import Experiment
from mglru.guest import channel
from mglru.guest.counters import cpu_figures
from mglru.guest.events import Counters
from mglru.guest.plan import PlanInputs, make_plan
from mglru.guest.programs import guest_program
from mglru.guest.steps import NO_CGROUP, Environment, PlanStep, ReportLruGen, Run
from mglru.machine import qemu
from mglru.machine.registry import KVM, MACHINES, SMP, THREADS, UML
from mglru.machine.request import Boot, BootRequest, Lines
from mglru.results.model import BootRecord
from mglru.run.boots import run_jobs
from mglru.run.jobs import make_jobs, parallel_boots
from mglru.run.judge import Expectation, prove
from mglru.run.provenance import run_info
from mglru.source.kernel_id import KernelId
from mglru.source.trees import cached

GB = 1 << 30


def a_request(tmp_path: Path, memory_mb: int = 512) -> BootRequest:
    return BootRequest(
        tmp_path / "vmlinux", Path("/init"), (), memory_mb, 7, virtual_time=True, limit_seconds=60
    )


def image(path: Path, megabytes: int) -> Path:
    with path.open("wb") as file:
        file.truncate(megabytes << 20)
    return path


def files_of(root: Path, directory: str) -> str:
    """What debugfs lists of a directory of an image."""
    return subprocess.run(
        ["/usr/sbin/debugfs", "-R", f"ls -p {directory}", root],
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def test_images_lie_one_after_another_above_4_gb(tmp_path: Path) -> None:
    files = [image(tmp_path / "a", 3), image(tmp_path / "b", 700), image(tmp_path / "c", 8)]
    images = qemu.in_memory(files)
    assert [one.address for one in images] == [4 * GB, 4 * GB + (3 << 20), 4 * GB + (703 << 20)]
    command = qemu.command_line(a_request(tmp_path), tmp_path, images)
    assert command[command.index("-m") + 1] == f"{3072 + 711}M"
    words = command[command.index("-append") + 1].split()
    assert "mem=512M" in words
    assert f"memmap=8M${4 * GB + (703 << 20):#x}" in words
    # The root is the last of them, and what comes after `--` is not for the kernel.
    assert f"phram.phram=image,{4 * GB + (703 << 20):#x},8Mi" in words
    assert words[words.index("--") + 1 :] == ["/run/host/plan", "restart"]


def test_instructions_are_counted_and_the_seed_is_told(tmp_path: Path) -> None:
    images = qemu.in_memory([image(tmp_path / "root", 1)])
    counted = " ".join(qemu.command_line(a_request(tmp_path), tmp_path, images))
    assert "-icount shift=0,sleep=off" in counted
    assert " lab_seed=7 " in counted
    real = " ".join(qemu.command_line(a_request(tmp_path), tmp_path, images, qemu.KVM))
    assert "-accel kvm" in real
    assert "icount" not in real
    assert "lab_seed" not in real
    assert "tsc" not in real


def on_four_processors(tmp_path: Path, accelerator: qemu.Accelerator) -> str:
    images = qemu.in_memory([image(tmp_path / "root", 1)])
    request = replace(a_request(tmp_path), cpus=4, nodes=2)
    return " ".join(qemu.command_line(request, tmp_path, images, accelerator))


def test_part_of_the_memory_can_be_a_zone_of_its_own(tmp_path: Path) -> None:
    images = qemu.in_memory([image(tmp_path / "root", 1)])
    plain = a_request(tmp_path)
    for request, said in ((replace(plain, movable_mb=160), True), (plain, False)):
        command = " ".join(qemu.command_line(request, tmp_path, images))
        assert (" movablecore=160M " in command) == said


@pytest.mark.parametrize(
    ("machine", "settings", "message", "next_step"),
    [
        ("uml", ["guest.movable_mb=64"], "one zone of memory", "--machine qemu"),
        ("qemu", ["guest.movable_mb=2000"], "too little", "guest.movable_mb=1984"),
    ],
)
def test_a_zone_that_cannot_be_is_told(
    machine: str, settings: list[str], message: str, next_step: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        MACHINES[machine].fit(load_experiment("read-twice", settings))
    assert next_step in caught.value.next_step


def test_several_counted_processors_take_turns_on_one_thread(tmp_path: Path) -> None:
    command = on_four_processors(tmp_path, qemu.COUNTED)
    assert "-accel tcg,thread=single -icount shift=0,sleep=off" in command
    assert "clock=vm" in command
    assert "-smp 4" in command
    assert " tsc_early_khz=1000000 tsc=reliable " in command
    assert " lab_seed=7 " in command
    assert " numa=fake=2 " in command


def test_processors_in_a_race_are_threads(tmp_path: Path) -> None:
    command = on_four_processors(tmp_path, qemu.THREADS)
    assert "thread=multi" in command
    assert "-smp 4" in command
    assert " numa=fake=2 " in command
    assert "icount" not in command
    assert "lab_seed" not in command


def test_one_node_is_not_made_by_cutting(tmp_path: Path) -> None:
    images = qemu.in_memory([image(tmp_path / "root", 1)])
    assert "numa=fake" not in " ".join(qemu.command_line(a_request(tmp_path), tmp_path, images))


def test_more_memory_than_the_board_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="at most 3072 MB") as caught:
        qemu.boot(a_request(tmp_path, 4096), tmp_path)
    assert "guest.memory_mb=3072" in caught.value.next_step


def test_a_host_without_kvm_is_told_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qemu, "KVM_DEVICE", tmp_path / "kvm")
    with pytest.raises(LabError, match="has no") as caught:
        qemu.check_kvm()
    assert "--machine qemu" in caught.value.next_step


def test_a_kvm_that_gives_up_is_told_apart_from_a_guest_that_hangs(tmp_path: Path) -> None:
    lines = Lines(tmp_path)
    for path in (lines.console, lines.channel, lines.samples, lines.output):
        path.touch()
    paths = (lines.console, lines.channel, lines.samples, lines.output)
    hung = Boot(*paths, timed_out=True, exit_status=-9, real_seconds=1, command="qemu")
    qemu._check_kvm_works(hung)
    lines.console.write_text("Booting\nKVM internal error. Suberror: 1\nemulation failure\n")
    with pytest.raises(LabError, match="gave up"):
        qemu._check_kvm_works(hung)


def test_stale_code_is_told_apart_from_a_kernel_that_fails(tmp_path: Path) -> None:
    lines = Lines(tmp_path)
    paths = (lines.console, lines.channel, lines.samples, lines.output)
    died = Boot(*paths, timed_out=False, exit_status=0, real_seconds=1, command="qemu")
    lines.console.write_text("[    0.52] int3: 0000 [#1] SMP NOPTI\nRIP: 0010:some_function+0x7\n")
    with pytest.raises(LabError, match="before another processor patched it") as caught:
        qemu._check_code_is_fresh(died, "QEMU emulator version 7.2.22 (Debian)")
    assert "JUMP_LABEL=n" in caught.value.next_step
    for newer in ("QEMU emulator version 8.1.0", "QEMU emulator version 10.0.2"):
        qemu._check_code_is_fresh(died, newer)
    lines.console.write_text("Kernel panic - not syncing: Attempted to kill init!\n")
    qemu._check_code_is_fresh(died, "QEMU emulator version 7.2.22 (Debian)")


def test_a_missing_emulator_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = qemu.command_line
    monkeypatch.setattr(
        qemu, "command_line", lambda *arguments: ["no-such-program", *real(*arguments)]
    )
    request = replace(a_request(tmp_path), init=Path("/bin/true"))
    with pytest.raises(LabError, match="no-such-program") as caught:
        qemu.boot(request, tmp_path)
    assert "qemu-system-x86" in caught.value.next_step


def test_a_root_has_what_the_plan_names_at_its_own_path(tmp_path: Path) -> None:
    program = tmp_path / "some" / "program"
    program.parent.mkdir()
    program.write_text("content")
    (tmp_path / "boot").mkdir()
    root = make_root(
        tmp_path / "boot",
        "the plan",
        [program],
        links={tmp_path / "disk": "/dev/mtd1"},
        mount_points=[tmp_path / "userland"],
    )
    assert {"proc", "sys", "dev", "run", "tmp", "mnt", PLAN} <= set(files_of(root, "/").split("/"))
    assert "/program/" in files_of(root, str(program.parent))
    assert {"disk", "userland"} <= set(files_of(root, str(tmp_path)).split("/"))
    assert root.stat().st_size % (1 << 20) == 0


def test_programs_of_the_host_bring_their_libraries(tmp_path: Path) -> None:
    found = host_programs([Path("/usr/sbin/mke2fs")])
    assert {path.name for path in found} >= {"sh", "touch", "mkswap", "mke2fs"}
    shell = next(path for path in found if path.name == "sh")
    needed = libraries(shell)
    assert any(path.name.startswith("libc.") for path in needed)
    root = make_root(tmp_path, "", [shell, *needed], {}, [])
    # The shell is a link on Debian, and comes with what it points to.
    assert f"/{shell.resolve().name}/" in files_of(root, "/usr/bin")


def test_what_else_the_host_has_makes_no_difference() -> None:
    names = [path.name for path in host_programs()]
    assert sorted(names) == sorted(HOST_PROGRAMS)
    # Installed here, and words of some experiments.
    assert not {"make", "ld", "file", "python3", "git"} & set(names)


def test_a_program_that_the_host_lacks_is_told() -> None:
    with pytest.raises(LabError, match="which this system does not have"):
        host_programs([Path("/usr/sbin/mkfs.nosuch")])


def test_an_experiment_gets_the_machines_time_and_a_longer_limit() -> None:
    experiment = load_experiment("memcg-create")
    assert MACHINES["uml"].fit(experiment).time == "real"
    fitting = MACHINES["qemu"].fit(experiment)
    assert fitting.time == "instructions"
    assert fitting.limit_seconds > experiment.limit_seconds
    assert MACHINES["kvm"].fit(experiment).time == "real"
    assert parallel_boots(MACHINES["kvm"].fit(experiment)) == 1


def test_only_a_machine_that_counts_runs_what_is_about_instructions() -> None:
    experiment = load_experiment("read-twice", ["time=instructions"])
    for name in (UML, THREADS, KVM):
        with pytest.raises(UsageError, match="does not count"):
            MACHINES[name].fit(experiment)
    for name in ("qemu", SMP):
        assert MACHINES[name].fit(experiment).time == "instructions"


def test_processors_and_nodes_are_chosen_or_left_to_the_machine() -> None:
    usual = MACHINES[SMP].fit(load_experiment("ycsb-b"))
    assert (usual.guest.cpus, usual.guest.nodes, usual.time) == (4, 2, "instructions")
    chosen = load_experiment("ycsb-b", ["guest.cpus=3", "guest.nodes=4"])
    assert MACHINES[SMP].fit(chosen).guest == chosen.guest
    # Counted, so that it does not matter how many boot at once.
    assert usual.time != "real"


@pytest.mark.parametrize(
    ("setting", "message", "next_step"),
    [
        ("guest.cpus=5", "at most 4 cpus, not 5", "guest.cpus=4"),
        ("guest.nodes=6", "at most 4 nodes, not 6", "guest.nodes=4"),
        ("guest.memory_mb=8192", "at most 3072 MB of memory, not 8192", "--machine uml"),
        ("guest.memory_mb=128", "2 memory nodes need 256 MB, not 128", "fewer guest.nodes"),
    ],
)
def test_what_several_processors_cannot_have_is_told(
    setting: str, message: str, next_step: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        MACHINES[SMP].fit(load_experiment("read-twice", [setting]))
    assert next_step in caught.value.next_step


def test_a_machine_is_asked_before_anything_is_built() -> None:
    for command in ("run", "selftest"):
        words = [command, "ycsb-b", "--machine", SMP, "--set", "guest.cpus=9"]
        result = CliRunner().invoke(cli, words)
        assert isinstance(result.exception, UsageError)
        assert "at most 4 cpus, not 9" in str(result.exception)


def test_threads_of_the_host_never_repeat() -> None:
    result = CliRunner().invoke(cli, ["selftest", "ycsb-b", "--machine", THREADS])
    assert isinstance(result.exception, UsageError)
    assert "never repeats" in str(result.exception)


def test_where_sampling_takes_time_only_what_is_asked_for_is_sampled() -> None:
    experiment = load_experiment("oom-aging")
    assert experiment.sampling
    assert MACHINES["qemu"].fit(experiment).sampling is None
    asked = load_experiment("oom-aging", ["sample.interval_ms=100"])
    assert MACHINES["qemu"].fit(asked).sampling


def test_the_processors_time_is_counted_where_computing_takes_time() -> None:
    inputs = PlanInputs(lambda name: Path("/", name), None, None, 1, (), classic=False)
    line = Environment("MGLRU_CPU", "1")
    assert line not in make_plan(load_experiment("memcg-create"), inputs)
    assert line in make_plan(MACHINES["qemu"].fit(load_experiment("memcg-create")), inputs)
    # Processors that take turns count each other's time.
    assert line not in make_plan(MACHINES[SMP].fit(load_experiment("memcg-create")), inputs)
    one = load_experiment("memcg-create", ["guest.cpus=1"])
    assert line in make_plan(MACHINES[SMP].fit(one), inputs)


def snapshot(phase: str, clock_ns: int, usage: int) -> Counters:
    stat = {"usage_usec": usage, "user_usec": usage // 4, "system_usec": usage - usage // 4}
    fields = {"event": "counters", "phase": phase, "clock_ns": clock_ns, "vmstat": {}}
    return Counters.model_validate({**fields, "cpu.stat": stat})


def test_instructions_are_shared_out_to_operations() -> None:
    begin, end = snapshot("begin", 1_000_000_000, 4_000), snapshot("end", 3_000_000_000, 1_204_000)
    figures = cpu_figures(begin, end, per_second=300.0)
    assert figures["cpu_seconds"] == 1.2
    assert figures["cpu_user_seconds"] + figures["cpu_system_seconds"] == pytest.approx(1.2)
    # 1.2 G instructions for 600 operations.
    assert figures["instructions_per_operation"] == pytest.approx(2e6)
    assert "instructions_per_operation" not in cpu_figures(begin, end, None)
    assert cpu_figures(begin, begin, 300.0) == {}


# --- with kernels: ./mglru test --machine qemu


def builds(names: Sequence[str] = GUEST_KERNELS, machine: str = "qemu") -> dict[KernelId, Build]:
    found = {}
    for kernel in map(KernelId.parse, names):
        source = cached(kernel.base)
        assert source, "run ./mglru test --machine qemu"
        build = find_build(make_recipe(kernel, source, machine))
        assert build, "run ./mglru test --machine qemu"
        found[kernel] = build
    return found


def run(
    experiment: Experiment,
    quiet: Ui,
    boots: int = 1,
    kernels: Sequence[str] = GUEST_KERNELS,
    machine: str = "qemu",
) -> list[BootRecord]:
    picture = dataset_image(experiment.dataset, note=quiet.note) if experiment.dataset else None  # type: ignore[arg-type]
    found = builds(kernels, MACHINES[machine].kernel)
    jobs = make_jobs(
        *(experiment, found, picture), boots=boots, seed=1, vary_seed=False, machine=machine
    )
    records: list[BootRecord] = []
    run_jobs(jobs, quiet, records.append, parallel_boots(jobs[0].experiment))
    assert [record.problems for record in records] == [[]] * len(jobs)
    return records


def small_guest(init: Path, *plan: PlanStep, limit_seconds: float) -> BootRequest:
    image = builds()[KernelId.parse("6.12")].image
    return BootRequest(image, init, plan, 512, 1, virtual_time=True, limit_seconds=limit_seconds)


@pytest.mark.qemu
def test_one_seed_gives_one_result_to_the_instruction(quiet: Ui) -> None:
    settings = ["dataset.size_mb=64", "dataset.file_mb=32", "limit=8M", "guest.memory_mb=512"]
    records = run(load_experiment("read-twice", settings), quiet, boots=2)
    for kernel in GUEST_KERNELS:
        first, second = (record.metrics for record in records if record.kernel == kernel)
        assert first == second
        # Every page of the second pass was read before.
        assert first["workingset_refault_file"] >= (32 - 8) << 8
        assert first["cpu_seconds"] > 0


@pytest.mark.qemu
def test_four_processors_on_two_nodes_give_one_result(quiet: Ui) -> None:
    settings = ["trace.operations=4000", "trace.warmup=500"]
    records = run(load_experiment("ycsb-b", settings), quiet, 2, [SMP_KERNEL], SMP)
    first, second = (record.metrics for record in records)
    assert first == second
    # Pages on both nodes, so both are reclaimed from.
    assert first["workingset_refault_file"] > 0


@pytest.mark.qemu
def test_a_result_names_the_processors_and_the_emulator() -> None:
    experiment = load_experiment("ycsb-b", ["guest.cpus=3"])
    found = builds([SMP_KERNEL], SMP)
    info = run_info(experiment, found, None, boots=1, seed=1, machine=MACHINES[SMP])
    options = info.provenance.machine.options
    assert (options["cpus"], options["nodes"]) == (3, 2)
    assert str(options["emulator"]).startswith("QEMU emulator version")
    assert info.provenance.machine.virtual_time


@pytest.mark.qemu
def test_a_guest_with_fewer_processors_than_asked_for_is_refused(tmp_path: Path) -> None:
    build = builds()[KernelId.parse("6.12")]
    request = small_guest(guest_program("init"), ReportLruGen(), limit_seconds=120)
    report = channel.parse(qemu.boot(request, tmp_path).reported)
    asked = Expectation(build.recipe.kernel, build.recipe, (), walks=True, cpus=4, nodes=2)
    with pytest.raises(LabError, match="has 1 processors and 1 memory nodes, not 4 and 2"):
        prove(report, asked)


@pytest.mark.qemu
def test_aging_walks_page_tables(tmp_path: Path) -> None:
    build = builds()[KernelId.parse("6.12")]
    request = small_guest(guest_program("init"), ReportLruGen(), limit_seconds=120)
    report = channel.parse(qemu.boot(request, tmp_path).reported)
    prove(report, Expectation(build.recipe.kernel, build.recipe, (), walks=True))
    with pytest.raises(LabError, match="lru_gen/enabled"):
        prove(report, Expectation(build.recipe.kernel, build.recipe, (), walks=False))


@pytest.mark.qemu
def test_a_guest_that_hangs_is_killed_at_its_limit(tmp_path: Path) -> None:
    loop = Run("loop", NO_CGROUP, ("/bin/sh", "-c", "while :; do :; done"))
    request = small_guest(guest_program("init"), loop, limit_seconds=15)
    assert qemu.boot(request, tmp_path).timed_out


@pytest.mark.qemu
def test_a_panic_ends_the_guest_and_is_told(tmp_path: Path) -> None:
    no_program = tmp_path / "init"
    no_program.write_text("not a program\n")
    (tmp_path / "boot").mkdir()
    request = small_guest(no_program, limit_seconds=120)
    with pytest.raises(LabError, match="before its first process could report") as caught:
        qemu.boot(request, tmp_path / "boot")
    assert any("Kernel panic" in line for line in caught.value.log_tail)
