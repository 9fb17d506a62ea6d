# SPDX-License-Identifier: GPL-2.0-only
"""The machines `qemu`, `qemu-smp`, `qemu-threads`, `kvm`: x86-64 on QEMU's small board `microvm`.

On `qemu` the processor is emulated and its instructions are counted: each is a nanosecond of the
guest's time, which passes by nothing else while the guest computes, and at once while it waits.
A device of the host that answers by itself would come at another instruction in every boot. So
there is none: images lie in memory beyond the guest's own, and the serial lines take what is
written before the next instruction.

On `qemu-smp` several processors take turns on one thread of the host and share one count, so that
two boots are the same there, too. On `qemu-threads` each of them is a thread of its own: nothing is
counted, and no two boots are the same. On `kvm` the host's processor runs the kernel of `qemu`, in
real time.
"""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mglru.core import process
from mglru.core.errors import LabError, UsageError
from mglru.disk.root import LINKS, PLAN, host_programs, libraries, make_root, userland_image
from mglru.guest.places import guest_path, is_guest_path
from mglru.guest.programs import guest_program
from mglru.guest.steps import Mount, PlanStep, Run, Write, to_text
from mglru.machine.cpus import one_cpu
from mglru.machine.request import Boot, BootRequest, Lines, check_started, wait

QEMU = "qemu-system-x86_64"
KVM_DEVICE = Path("/dev/kvm")
KVM_GAVE_UP = "KVM internal error"
# Before this version, a processor that translates code while another one patches it may keep what
# it read for good: an int3 that the kernel knows nothing of any more.
PATCHES_SAFELY = (8, 1)
STALE_CODE = "int3: 0000"
# `microvm` has its memory from here on above what 32 bits reach.
LOW_MB = 3 << 10
HIGH_ADDRESS = 4 << 30
BOARD = "microvm,acpi=off,pic=on,pit=on,rtc=on,isa-serial=on,auto-kernel-cmdline=off"
# Where the board has the first of its virtio devices, and its interrupt.
VIRTIO_BUS = "virtio-mmio-bus.0"
PHRAM = "/sys/module/phram/parameters/phram"
VIRTIO_WORD = "virtio_mmio.device=512@0xfeb00000:5"
# The guest's wall clock starts at the same moment in every boot, as on User Mode Linux.
START = "2023-11-14T22:13:20"
# What kconfig/smp.config has room for.
MOST_CPUS = 4
MOST_NODES = 4


@dataclass(frozen=True)
class Accelerator:
    """What carries out the guest's instructions.

    Attributes:
        arguments: QEMU's.
        words: what the kernel is told about it.
        one_cpu: it is one thread, which stays on one of the host's CPUs.
        host_counter: its time stamp counter is the host's.
        virtual_time: what a request has to ask for.
    """

    arguments: tuple[str, ...]
    words: tuple[str, ...] = ()
    one_cpu: bool = True
    host_counter: bool = False
    virtual_time: bool = False


COUNTED = Accelerator(
    arguments=(
        *("-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off"),
        # Nothing random. String instructions count as one for each step, as memcpy() in words: a
        # copy byte by byte is fast on real processors only.
        *("-cpu", "max,-rdrand,-rdseed,-erms,-fsrm"),
        *("-rtc", f"base={START},clock=vm"),
    ),
    # An instruction a nanosecond, which also is a cycle.
    words=("tsc_early_khz=1000000", "tsc=reliable"),
    virtual_time=True,
)
KVM = Accelerator(("-accel", "kvm", "-cpu", "host,-arch-capabilities", "-rtc", f"base={START}"))
THREADS = Accelerator(
    arguments=(
        *("-accel", "tcg,thread=multi", "-cpu", "max,-rdrand,-rdseed"),
        *("-rtc", f"base={START}"),
    ),
    words=(
        "printk.time=1",
        # A timer that is not seen to tick in time would be a panic.
        "no_timer_check",
        # A processor is as slow as the host lets its thread be: what the kernel takes for stuck
        # may just be waiting for its turn.
        *("watchdog_thresh=60", "rcupdate.rcu_cpu_stall_timeout=120"),
        "sysctl.kernel.hung_task_timeout_secs=600",
    ),
    one_cpu=False,
    host_counter=True,
)


@dataclass(frozen=True)
class Image:
    """A disk image in the guest's memory.

    Attributes:
        file: the image, whole megabytes; the guest's writes stay in its memory.
        address: where the guest has it.
        megabytes: its size.
    """

    file: Path
    address: int
    megabytes: int


def in_memory(files: Sequence[Path]) -> list[Image]:
    """Lay disk images into the guest's memory, one after another."""
    images, address = [], HIGH_ADDRESS
    for file in files:
        size = file.stat().st_size
        images.append(Image(file, address, size >> 20))
        address += size
    return images


@functools.cache
def version() -> str:
    """Return which QEMU this is: another one has other turns and other features of its processor.

    Raises:
        LabError: there is none.
    """
    text = process.run(
        [QEMU, "--version"], purpose="find QEMU", next_step="install qemu-system-x86"
    )
    return text.splitlines()[0]


def command_line(
    request: BootRequest,
    directory: Path,
    images: Sequence[Image],
    accelerator: Accelerator = COUNTED,
    cpu: int | None = None,
) -> list[str]:
    """Return the command that boots a request.

    Args:
        request: what to boot.
        directory: where its plan lies and its lines go.
        images: the guest's disks, its root last.
        accelerator: on what.
        cpu: the host's CPU that it stays on; None: any.
    """
    lines = Lines(directory)
    high_mb = sum(image.megabytes for image in images)
    return [
        *(() if cpu is None else ("taskset", "-c", str(cpu))),
        *(QEMU, "-M", BOARD, *accelerator.arguments),
        *("-smp", str(request.cpus)),
        *("-m", f"{LOW_MB + high_mb}M"),
        *_memory(images, request.cpus),
        *("-no-user-config", "-nodefaults", "-display", "none", "-no-reboot"),
        # What the kernel says before it has its console.
        *("-chardev", f"file,id=early,append=on,path={lines.console}", "-serial", "chardev:early"),
        *("-device", f"virtio-serial-device,bus={VIRTIO_BUS}"),
        *_line("console", lines.console),
        *_line("channel", lines.channel),
        *_line("samples", lines.samples),
        *_line("output", lines.output),
        *("-kernel", str(request.image)),
        *("-append", " ".join(_kernel_words(request, images, accelerator))),
    ]


def _memory(images: Sequence[Image], cpus: int) -> list[str]:
    """Return the guest's own memory and the images, as nodes: they lie one after another.

    Only QEMU knows of these nodes: without ACPI nothing tells the guest of them.
    """
    words = ["-object", f"memory-backend-ram,id=low,size={LOW_MB}M"]
    words += ["-numa", f"node,memdev=low,cpus=0-{cpus - 1}"]
    for number, image in enumerate(images):
        backend = f"id=image{number},share=off,size={image.megabytes}M,mem-path={image.file}"
        words += ["-object", f"memory-backend-file,{backend}"]
        words += ["-numa", f"node,memdev=image{number}"]
    return words


def _line(name: str, file: Path) -> list[str]:
    """Return a virtual console of the guest that goes to a file."""
    return [
        *("-chardev", f"file,id={name},append=on,path={file}"),
        *("-device", f"virtconsole,chardev={name}"),
    ]


def _kernel_words(
    request: BootRequest, images: Sequence[Image], accelerator: Accelerator
) -> tuple[str, ...]:
    seed = (f"lab_seed={request.seed}",) if accelerator.virtual_time else ()
    counter = host_counter_words() if accelerator.host_counter else ()
    nodes = (f"numa=fake={request.nodes}",) if request.nodes > 1 else ()
    movable = (f"movablecore={request.movable_mb}M",) if request.movable_mb else ()
    return (
        *("earlyprintk=serial,ttyS0,115200", "console=hvc0", VIRTIO_WORD),
        # The rest of the low memory is nobody's.
        f"mem={request.memory_mb}M",
        *(f"memmap={image.megabytes}M${image.address:#x}" for image in images),
        f"phram.phram={_phram(images[-1])}",
        *("root=/dev/mtdblock0", "rootfstype=ext4", "ro"),
        # Nothing can switch this board off: QEMU ends when it restarts.
        "reboot=t",
        "null_blk.nr_devices=0",
        *accelerator.words,
        *seed,
        *counter,
        *nodes,
        *movable,
        *request.options,
        f"init={request.init}",
        *("--", guest_path(f"/{PLAN}"), "restart"),
    )


@functools.cache
def host_counter_words() -> tuple[str, ...]:
    """Return what tells the kernel how fast this host's time stamp counter counts.

    Where the host is busy, the kernel cannot find it out: it would have to look at two emulated
    devices at once. Its clock would then be one that loses time.
    """
    if platform.machine() != "x86_64":
        return ()
    rate = process.run(
        [guest_program("tsc_khz")], purpose="measure the time stamp counter", limit_seconds=60
    )
    return (f"tsc_early_khz={int(rate)}", "tsc=reliable")


def _phram(image: Image) -> str:
    """Return how the driver of disks in memory is told of one; it calls them all by a name."""
    return f"image,{image.address:#x},{image.megabytes}Mi"


def _host_files(request: BootRequest) -> list[Path]:
    """Return the files of the root image: the guest's programs, and some of the host's."""
    files = [request.init, *request.files]
    if request.userland is None:
        started = [step.argv[0] for step in request.plan if isinstance(step, Run)]
        programs = host_programs(Path(name) for name in started if not is_guest_path(name))
        files += [*programs, *(name for program in programs for name in libraries(program))]
    return files


def _prepare(request: BootRequest, directory: Path) -> list[Image]:
    """Write the plan and make the guest's disks: its userland, its data, and last its root.

    The kernel numbers them as it is told of them: the root has number 0, the plan tells the rest.
    """
    disks = [userland_image(request.userland)] if request.userland else []
    # Read past the page cache, as a stream.
    links = dict(LINKS) if request.userland is None else {}
    if request.disk:
        links[request.disk] = f"/dev/mtd{len(disks) + 1}"
    disks += [request.disk] if request.disk else []
    plan: list[PlanStep] = [Write(PHRAM, _phram(image)) for image in in_memory(disks)]
    if request.userland:
        plan.append(Mount("ext4", "/dev/mtdblock1", guest_path(request.userland), "ro"))
    text = to_text((*plan, *request.plan))
    mount_points = [request.userland] if request.userland else []
    (directory / PLAN).write_text(text)
    root = make_root(directory, text, _host_files(request), links, mount_points)
    return in_memory([*disks, root])


def boot(request: BootRequest, directory: Path, *, accelerator: Accelerator = COUNTED) -> Boot:
    """Boot a guest, let it carry out its plan, and return when it is gone.

    Args:
        request: what to boot.
        directory: an empty directory for the plan, the root image and the guest's lines.
        accelerator: what carries out its instructions.

    Raises:
        LabError: the guest could not start at all: no QEMU, no KVM, no memory.
        UsageError: more memory than the board has room for.
    """
    if request.memory_mb > LOW_MB:
        raise UsageError(
            f"a guest on QEMU has at most {LOW_MB} MB of memory, not {request.memory_mb}",
            next_step=f"--set guest.memory_mb={LOW_MB}, or less",
        )
    if accelerator is KVM:
        check_kvm()
    images = _prepare(request, directory)
    lines = Lines(directory)
    with contextlib.ExitStack() as stack:
        console, *_others = stack.enter_context(lines.opened())
        cpu = stack.enter_context(one_cpu()) if accelerator.one_cpu else None
        command = command_line(request, directory, images, accelerator, cpu)
        # What QEMU has to say itself goes to the console log.
        guest = stack.enter_context(
            process.started(
                command,
                console,
                purpose="boot a guest",
                next_step="install util-linux and qemu-system-x86",
            )
        )
        result = wait(guest, request, lines, shlex.join(command))
    _check_kvm_works(result)
    if accelerator is THREADS:
        _check_code_is_fresh(result, version())
    check_started(result)
    return result


def _check_kvm_works(result: Boot) -> None:
    """Tell a host whose KVM gives up (some virtual machines have such) from a guest that hangs."""
    log = process.tail(result.console, lines=100)
    if result.timed_out and any(line.startswith(KVM_GAVE_UP) for line in log):
        raise LabError(
            "the host's KVM gave up on the guest",
            command=result.command,
            log_tail=log,
            next_step="--machine qemu needs no KVM",
        )


def _check_code_is_fresh(result: Boot, emulator: str) -> None:
    """Tell a kernel that died of what QEMU made of its patched code from one that failed."""
    found = re.search(r"version (\d+)\.(\d+)", emulator)
    if found and (int(found[1]), int(found[2])) >= PATCHES_SAFELY:
        return
    if STALE_CODE in result.console.read_text(errors="replace"):
        raise LabError(
            "QEMU carried out code of the guest as it was before another processor patched it",
            command=result.command,
            log_tail=process.tail(result.console),
            next_step="boot again, or take a kernel that patches less of itself "
            "(--kernels 7.3%JUMP_LABEL=n), or QEMU 8.1",
        )


def check_kvm() -> None:
    """Make sure that this host lets its user run guests on its processor.

    Raises:
        LabError: it does not, and what is missing.
    """
    if not KVM_DEVICE.exists():
        raise LabError(
            f"this machine has no {KVM_DEVICE}: its processor, its firmware or its host does not "
            "let it run guests",
            next_step="--machine qemu needs none of that; else switch virtualisation on, and "
            "sudo modprobe kvm_intel (or kvm_amd)",
        )
    if not os.access(KVM_DEVICE, os.R_OK | os.W_OK):
        raise LabError(
            f"{KVM_DEVICE} is there, but you may not use it",
            next_step="sudo usermod -aG kvm $USER, then log in again; or --machine qemu",
        )
