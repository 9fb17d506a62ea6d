# SPDX-License-Identifier: GPL-2.0-only
"""From an experiment to the steps that the guest's first process carries out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mglru.core.errors import UsageError
from mglru.experiment.dataset import IMAGE, PreparedDataset, PreparedStep
from mglru.experiment.filesystem import Filesystem, mkfs
from mglru.experiment.spec import RECORDER, SAMPLER, Disk, Experiment, Step
from mglru.guest import steps as plan
from mglru.guest.places import guest_path
from mglru.guest.steps import NO_CGROUP, PlanStep

CGROUP = "/sys/fs/cgroup/work"
# So that an experiment can be run on cgroup v1 as it is.
V1_FILES = {"memory.max": "memory.limit_in_bytes"}
DISK = "data"
SLOW_DISK = "slow"
SWAP_DISK = "swap"
DATA = "/mnt/data"
# What the data is copied from to other file systems than ext4.
SOURCE_DISK = "source"
SOURCE = "/mnt/source"
# Where a guest that makes something for the host sees the host's directory for it.
OUT = "/mnt/out"
# The accesses that guest/tools/recorder.c writes, and the room for them in the guest's memory: an
# event takes about 50 bytes.
ACCESSES = "accesses"
TRACE_MB = 384
TRACING = "/sys/kernel/tracing"
TRACEPOINTS = (
    *("filemap/mm_filemap_get_pages", "filemap/mm_filemap_fault", "filemap/mm_filemap_map_pages"),
    *("filemap/mm_filemap_add_to_page_cache", "ext4/ext4_write_begin", "ext4/ext4_da_write_begin"),
)


@dataclass(frozen=True)
class PlanInputs:
    """What a plan refers to on the host.

    Attributes:
        program: gives the path of a guest program by its name.
        image: the disk image, None for an experiment without a disk.
        trace: the file of operations, None for an experiment without.
        seed: the boot's seed, for programs that draw by themselves.
        symbols: kernel symbols whose presence the guest reports.
        classic: switch the multi-gen LRU off.
        userland: the tree that is the guest's root, None for the host's own.
        recording: the directory that gets the file ACCESSES of page accesses, None to record none.
    """

    program: Callable[[str], Path]
    image: Path | None
    trace: Path | None
    seed: int
    symbols: tuple[str, ...]
    classic: bool
    userland: Path | None = None
    recording: Path | None = None


def make_plan(experiment: Experiment, inputs: PlanInputs) -> tuple[PlanStep, ...]:
    """Return the plan of one boot.

    Raises:
        UsageError: a step uses a placeholder that the experiment does not define.
    """
    lines = _begin(inputs)
    if inputs.classic:
        lines.append(plan.Write("/sys/kernel/mm/lru_gen/enabled", "n"))
    lines.append(plan.ReportLruGen())
    for name, value in experiment.sysctl.items():
        lines.append(plan.Write("/proc/sys/" + name.replace(".", "/"), value))
    lines.append(plan.Cgroup(experiment.cgroup_version))
    if inputs.image and experiment.dataset:
        lines += disk_steps(inputs.image, experiment.dataset.size_mb, experiment.disk)
    lines += _swap_steps(experiment)
    lines += [plan.MakeDirectory(CGROUP), plan.Environment("MGLRU_CGROUP", CGROUP)]
    # Where processors take turns, a task's time has in it what others did meanwhile.
    if experiment.time == "instructions" and experiment.guest.cpus in (None, 1):
        lines.append(plan.Environment("MGLRU_CPU", "1"))
    lines += _memcg_steps(experiment)
    lines.append(plan.DropCaches())
    steps = [*_sampler_steps(experiment, inputs), *_program_steps(experiment, inputs)]
    steps += [plan.Stop(label) for label in _background(experiment)]
    if not experiment.driver_counts:
        steps = [plan.ReportCounters("begin"), *steps, plan.ReportCounters("end")]
    if inputs.recording:
        if experiment.disk.filesystem != "ext4":
            raise UsageError(
                f"{experiment.name}: of writes, only those to ext4 are recorded",
                next_step="--set disk.filesystem=ext4",
            )
        steps = _recorded(steps, inputs, inputs.recording)
    return (*lines, *steps)


def _begin(inputs: PlanInputs) -> list[PlanStep]:
    """Return how every plan begins: whose programs run, and which kernel this is."""
    userland = [plan.UseUserland(guest_path(inputs.userland))] if inputs.userland else []
    return [*userland, *(plan.ReportSymbol(name) for name in inputs.symbols)]


def _recorded(steps: Iterable[PlanStep], inputs: PlanInputs, into: Path) -> list[PlanStep]:
    """Return the steps with the kernel's tracepoints of page accesses on, and what they saw."""
    switches = {f"events/{event}/enable": "1" for event in TRACEPOINTS}
    # What does not fit is missing at the end, and counted, rather than overwritten.
    settings = {"buffer_size_kb": str(TRACE_MB << 10), "options/overwrite": "0", **switches}
    recorder = guest_path(inputs.program(RECORDER))
    return [
        plan.Mount("tracefs", "none", TRACING),
        *(plan.Write(f"{TRACING}/{name}", value) for name, value in settings.items()),
        *steps,
        plan.Write(f"{TRACING}/tracing_on", "0"),
        plan.Mount("hostfs", "none", OUT, str(into)),
        plan.Run(RECORDER, NO_CGROUP, (recorder, DATA, f"{OUT}/{ACCESSES}")),
        plan.Unmount(OUT),
    ]


def make_preparation(
    experiment: Experiment, inputs: PlanInputs, into: Path
) -> tuple[PlanStep, ...]:
    """Return the plan of the boot that makes an experiment's prepared data.

    Args:
        experiment: its dataset is a PreparedDataset.
        inputs: the image is that of an empty file system.
        into: the host's directory that gets the new image, the only one that the guest can write.

    Raises:
        UsageError: a step uses a placeholder that the experiment does not define.
    """
    spec = experiment.dataset
    if not isinstance(spec, PreparedDataset) or not inputs.image:
        return ()
    values = {"data": DATA, **experiment.parameters}
    return (
        *_begin(inputs),
        plan.ReportLruGen(),
        *disk_steps(inputs.image, spec.size_mb, Disk(completion_us=0, mbps=0)),
        plan.ReportCounters("begin"),
        plan.Strict(),
        *(
            plan.Run(step.label, NO_CGROUP, fill(step, values, experiment, inputs.program))
            for step in spec.steps
        ),
        plan.ReportCounters("end"),
        plan.Unmount(DATA),
        plan.Mount("hostfs", "none", OUT, str(into)),
        plan.Save(f"/dev/{DISK}", f"{OUT}/{IMAGE}"),
        plan.Unmount(OUT),
    )


def disk_steps(image: Path, size_mb: int, disk: Disk) -> list[PlanStep]:
    """Return the steps that make a disk with an image on it and mount it at DATA."""
    device = f"/dev/{DISK}"
    steps: list[PlanStep] = [plan.MakeDisk(DISK, size_mb, disk.completion_us, disk.mbps)]
    if disk.filesystem == "ext4":
        steps.append(plan.Load(guest_path(image), device))
    else:
        steps += _copy_steps(image, size_mb, disk.filesystem)
    if disk.write_delay_ms:
        steps.append(plan.Delay(SLOW_DISK, device, 0, disk.write_delay_ms))
        device = f"/dev/mapper/{SLOW_DISK}"
    return [*steps, plan.Mount(disk.filesystem, device, DATA)]


def _copy_steps(image: Path, size_mb: int, filesystem: Filesystem) -> list[PlanStep]:
    """Return the steps that fill the disk with another file system of the image's content."""
    source, target = f"/dev/{SOURCE_DISK}", f"/dev/{DISK}"
    return [
        plan.MakeDisk(SOURCE_DISK, size_mb, completion_us=0),
        plan.Load(guest_path(image), source),
        plan.Mount("ext4", source, SOURCE, "ro"),
        plan.Run("mkfs", NO_CGROUP, tuple(mkfs(filesystem, target))),
        plan.Mount(filesystem, target, DATA),
        plan.Run("copy", NO_CGROUP, ("/bin/cp", "-a", f"{SOURCE}/.", DATA)),
        # Mounted anew, it has nothing in memory.
        plan.Unmount(DATA),
        plan.Unmount(SOURCE),
        plan.RemoveDisk(SOURCE_DISK),
    ]


def _memcg_steps(experiment: Experiment) -> list[PlanStep]:
    names = V1_FILES if experiment.cgroup_version == 1 else {}
    return [
        plan.Write(f"{CGROUP}/{names.get(name, name)}", str(value))
        for name, value in experiment.memcg.items()
    ] + [
        plan.WriteIfThere(f"{CGROUP}/{name}", str(value))
        for name, value in experiment.memcg_optional.items()
    ]


def _swap_steps(experiment: Experiment) -> list[PlanStep]:
    swap = experiment.swap
    if swap is None:
        return []
    if swap.disk_mb is None:
        return [
            plan.Write("/sys/block/zram0/disksize", f"{swap.zram_mb}M"),
            plan.SwapOn("/dev/zram0"),
        ]
    device = f"/dev/{SWAP_DISK}"
    return [
        plan.MakeDisk(SWAP_DISK, swap.disk_mb, swap.completion_us),
        # So that to swap a page out takes no memory.
        plan.Fill(device),
        plan.SwapOn(device),
    ]


def _sampler_steps(experiment: Experiment, inputs: PlanInputs) -> list[PlanStep]:
    sample = experiment.sampling
    if sample is None:
        return []
    names = (",".join(sample.vmstat), ",".join(sample.memory_stat))
    program = guest_path(inputs.program(SAMPLER))
    return [plan.Spawn(SAMPLER, NO_CGROUP, (program, str(sample.interval_ms), *names))]


def _background(experiment: Experiment) -> list[str]:
    """Return what is to be stopped, the last started first."""
    labels = [step.label for step in experiment.steps if step.background]
    return [*reversed(labels), *([SAMPLER] if experiment.sampling else [])]


def _program_steps(experiment: Experiment, inputs: PlanInputs) -> Iterable[PlanStep]:
    for step in experiment.steps:
        if step.fresh_cache:
            yield plan.DropCaches()
        cgroup = CGROUP if step.join == "init" else NO_CGROUP
        kind = plan.Spawn if step.background else plan.Run
        yield kind(step.label, cgroup, _argv(step, experiment, inputs))


def _argv(step: Step, experiment: Experiment, inputs: PlanInputs) -> tuple[str, ...]:
    values: dict[str, object] = {"data": DATA, "seed": inputs.seed, **experiment.parameters}
    if inputs.trace and experiment.trace:
        values |= {"trace": guest_path(inputs.trace), "warmup": experiment.trace.warmup}
    return fill(step, values, experiment, inputs.program)


class _Programs:
    """What {program:NAME} stands for: NAME is the format in which it is asked for."""

    def __init__(self, program: Callable[[str], Path]) -> None:
        self._program = program

    def __format__(self, name: str) -> str:
        return guest_path(self._program(name))


def fill(
    step: Step | PreparedStep,
    values: Mapping[str, object],
    experiment: Experiment,
    program: Callable[[str], Path],
) -> tuple[str, ...]:
    """Return a step's argv with its placeholders filled.

    Args:
        step: of the experiment, or of its dataset.
        values: by placeholder.
        experiment: for messages.
        program: gives the path of a guest program by its name.

    Raises:
        UsageError: a placeholder that has no value.
    """
    argv = []
    for word in step.argv:
        try:
            argv.append(word.format_map({**values, "program": _Programs(program)}))
        except (KeyError, ValueError, IndexError) as error:
            raise UsageError(
                f"experiment {experiment.name}, step {step.label}: '{word}' does not fit",
                next_step="placeholders are {program:NAME}, "
                + ", ".join(f"{{{v}}}" for v in values),
            ) from error
    return tuple(argv)
