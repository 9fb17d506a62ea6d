# SPDX-License-Identifier: GPL-2.0-only
"""From an experiment to the lines that the guest's first process carries out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mglru.core.errors import UsageError
from mglru.experiment.dataset import IMAGE, PreparedDataset, PreparedStep
from mglru.experiment.filesystem import Filesystem, mkfs
from mglru.experiment.spec import RECORDER, SAMPLER, Disk, Experiment, Step
from mglru.guest.places import guest_path

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
class Inputs:
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


def make_plan(experiment: Experiment, inputs: Inputs) -> tuple[str, ...]:
    """Return the plan of one boot, in the format of guest/init/init.c.

    Raises:
        UsageError: a step uses a placeholder that the experiment does not define.
    """
    lines = [_line("userland", guest_path(inputs.userland))] if inputs.userland else []
    lines += [_line("symbol", name) for name in inputs.symbols]
    if inputs.classic:
        lines.append(_line("write", "/sys/kernel/mm/lru_gen/enabled", "n"))
    lines.append("lru_gen")
    for name, value in experiment.sysctl.items():
        lines.append(_line("write", "/proc/sys/" + name.replace(".", "/"), value))
    lines.append(_line("cgroup", str(experiment.cgroup_version)))
    if inputs.image and experiment.dataset:
        lines += disk_lines(inputs.image, experiment.dataset.size_mb, experiment.disk)
    lines += _swap_lines(experiment)
    lines += [_line("mkdir", CGROUP), _line("env", "MGLRU_CGROUP", CGROUP)]
    # Where processors take turns, a task's time has in it what others did meanwhile.
    if experiment.time == "instructions" and experiment.guest.cpus in (None, 1):
        lines.append(_line("env", "MGLRU_CPU", "1"))
    lines += _memcg_lines(experiment)
    lines.append("drop_caches")
    steps = [*_sampler_lines(experiment, inputs), *_step_lines(experiment, inputs)]
    steps += [_line("stop", label) for label in _background(experiment)]
    if not experiment.driver_counts:
        steps = [_line("counters", "begin"), *steps, _line("counters", "end")]
    if inputs.recording:
        if experiment.disk.filesystem != "ext4":
            raise UsageError(
                f"{experiment.name}: of writes, only those to ext4 are recorded",
                next_step="--set disk.filesystem=ext4",
            )
        steps = _recorded(steps, inputs, inputs.recording)
    return (*lines, *steps)


def _recorded(steps: Iterable[str], inputs: Inputs, into: Path) -> list[str]:
    """Return the steps with the kernel's tracepoints of page accesses on, and what they saw."""
    switches = {f"events/{event}/enable": "1" for event in TRACEPOINTS}
    # What does not fit is missing at the end, and counted, rather than overwritten.
    settings = {"buffer_size_kb": str(TRACE_MB << 10), "options/overwrite": "0", **switches}
    recorder = guest_path(inputs.program(RECORDER))
    return [
        _line("mount", "tracefs", "none", TRACING),
        *(_line("write", f"{TRACING}/{name}", value) for name, value in settings.items()),
        *steps,
        _line("write", f"{TRACING}/tracing_on", "0"),
        _line("mount", "hostfs", "none", OUT, str(into)),
        _line("step", RECORDER, "-", recorder, DATA, f"{OUT}/{ACCESSES}"),
        _line("umount", OUT),
    ]


def make_preparation(experiment: Experiment, inputs: Inputs, into: Path) -> tuple[str, ...]:
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
        *([_line("userland", guest_path(inputs.userland))] if inputs.userland else []),
        *(_line("symbol", name) for name in inputs.symbols),
        "lru_gen",
        *disk_lines(inputs.image, spec.size_mb, Disk(completion_us=0, mbps=0)),
        _line("counters", "begin"),
        "strict",
        *(
            _line("step", step.label, "-", *fill(step, values, experiment, inputs.program))
            for step in spec.steps
        ),
        _line("counters", "end"),
        _line("umount", DATA),
        _line("mount", "hostfs", "none", OUT, str(into)),
        _line("save", f"/dev/{DISK}", f"{OUT}/{IMAGE}"),
        _line("umount", OUT),
    )


def _line(*fields: str) -> str:
    """Join fields as guest/init/init.c separates them.

    Raises:
        UsageError: a field has a tab in it.
    """
    if any("\t" in field for field in fields):
        raise UsageError(
            f"a tab in the argv of '{fields[1]}' would end the argument",
            next_step="write it with spaces",
        )
    return "\t".join(field.replace("\n", "\v") for field in fields)


def disk_lines(image: Path, size_mb: int, disk: Disk) -> list[str]:
    """Return the lines that make a disk with an image on it and mount it at DATA."""
    device = f"/dev/{DISK}"
    lines = [_null_blk(DISK, size_mb, disk.completion_us, disk.mbps)]
    if disk.filesystem == "ext4":
        lines.append(_line("load", guest_path(image), device))
    else:
        lines += _copy_lines(image, size_mb, disk.filesystem)
    if disk.write_delay_ms:
        lines.append(_line("delay", SLOW_DISK, device, "0", str(disk.write_delay_ms)))
        device = f"/dev/mapper/{SLOW_DISK}"
    return [*lines, _line("mount", disk.filesystem, device, DATA)]


def _copy_lines(image: Path, size_mb: int, filesystem: Filesystem) -> list[str]:
    """Return the lines that fill the disk with another file system of the image's content."""
    source, target = f"/dev/{SOURCE_DISK}", f"/dev/{DISK}"
    return [
        _null_blk(SOURCE_DISK, size_mb, 0, 0),
        _line("load", guest_path(image), source),
        _line("mount", "ext4", source, SOURCE, "ro"),
        _line("step", "mkfs", "-", *mkfs(filesystem, target)),
        _line("mount", filesystem, target, DATA),
        _line("step", "copy", "-", "/bin/cp", "-a", f"{SOURCE}/.", DATA),
        # Mounted anew, it has nothing in memory.
        _line("umount", DATA),
        _line("umount", SOURCE),
        _line("undisk", SOURCE_DISK),
    ]


def _memcg_lines(experiment: Experiment) -> list[str]:
    names = V1_FILES if experiment.cgroup_version == 1 else {}
    return [
        _line("write", f"{CGROUP}/{names.get(name, name)}", text)
        for name, text in experiment.memcg.items()
    ] + [
        _line("write_if_there", f"{CGROUP}/{name}", text)
        for name, text in experiment.memcg_optional.items()
    ]


def _null_blk(name: str, size_mb: int, completion_us: int, mbps: int) -> str:
    attributes = {
        "size": size_mb,
        "memory_backed": 1,
        "blocksize": 4096,
        # Complete each request by a timer, after exactly this long.
        "irqmode": 2,
        "completion_nsec": completion_us * 1000,
        "mbps": mbps,
    }
    return _line("disk", name, *(f"{key}={value}" for key, value in attributes.items()))


def _swap_lines(experiment: Experiment) -> list[str]:
    swap = experiment.swap
    if swap is None:
        return []
    if swap.disk_mb is None:
        return [
            _line("write", "/sys/block/zram0/disksize", f"{swap.zram_mb}M"),
            _line("swap", "/dev/zram0"),
        ]
    device = f"/dev/{SWAP_DISK}"
    return [
        _null_blk(SWAP_DISK, swap.disk_mb, swap.completion_us, 0),
        # So that to swap a page out takes no memory.
        _line("fill", device),
        _line("swap", device),
    ]


def _sampler_lines(experiment: Experiment, inputs: Inputs) -> list[str]:
    sample = experiment.sampling
    if sample is None:
        return []
    names = (",".join(sample.vmstat), ",".join(sample.memory_stat))
    program = guest_path(inputs.program(SAMPLER))
    return [_line("spawn", SAMPLER, "-", program, str(sample.interval_ms), *names)]


def _background(experiment: Experiment) -> list[str]:
    """Return what is to be stopped, the last started first."""
    labels = [step.label for step in experiment.steps if step.background]
    return [*reversed(labels), *([SAMPLER] if experiment.sampling else [])]


def _step_lines(experiment: Experiment, inputs: Inputs) -> Iterable[str]:
    for step in experiment.steps:
        if step.fresh_cache:
            yield "drop_caches"
        cgroup = CGROUP if step.join == "init" else "-"
        verb = "spawn" if step.background else "step"
        yield _line(verb, step.label, cgroup, *_argv(step, experiment, inputs))


def _argv(step: Step, experiment: Experiment, inputs: Inputs) -> list[str]:
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
) -> list[str]:
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
    return argv
