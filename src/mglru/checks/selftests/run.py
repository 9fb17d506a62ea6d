# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own selftests of cgroups and memory management, run in a guest, kernels compared."""

from __future__ import annotations

import fnmatch
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mglru.checks.selftests.build import selftest_programs
from mglru.checks.selftests.tap import Case, Result, merge_tries, read_program
from mglru.core.cache import scratch
from mglru.core.errors import UsageError
from mglru.disk.images import dataset_image
from mglru.experiment.dataset import EmptyDataset
from mglru.experiment.spec import Disk
from mglru.guest import steps
from mglru.guest.places import OUTPUT_DEVICE, guest_path
from mglru.guest.plan import DATA, disk_steps
from mglru.guest.steps import NO_CGROUP, PlanStep
from mglru.machine.registry import MACHINES
from mglru.run.judged import PlainBoot
from mglru.run.session import Session
from mglru.source.kernel_id import KernelId

VARIANT = ("selftests", "")
# Without test_kill, in which stock hangs on User Mode Linux, and without those that need more than
# one processor.
CGROUP = (
    *("test_core", "test_kmem", "test_low", "test_memcontrol", "test_retain"),
    *("test_freezer", "test_pids", "test_cpu", "test_hugetlb_memcg", "test_zswap"),
)
# Without those that need huge pages, a module or much memory; without
# khugepaged, which 6.12 does not compile, and mlock-random-test, which wants libcap.
MM = (
    *("compaction_test", "cow", "droppable", "gup_longterm", "ksm_functional_tests"),
    *("madv_populate", "map_fixed_noreplace", "map_populate", "mdwe_test", "mkdirty"),
    *("mlock2-tests", "mrelease_test", "mremap_dontunmap", "mremap_test", "mseal_test"),
    *("on-fault-limit", "pagemap_ioctl", "soft-dirty", "split_huge_page_test"),
    "uffd-unit-tests",
)
PROGRAMS = (*(f"cgroup/{name}" for name in CGROUP), *(f"mm/{name}" for name in MM))
BEFORE = {"cgroup/test_zswap": "echo 1 > /sys/module/zswap/parameters/enabled;"}
MEMORY_MB = 2048
# So that reclaim which may not use all zones is tried, where the machine has several.
MOVABLE_MB = MEMORY_MB // 2
DISK_MB = 512
SWAP_MB = 512
PROGRAM_LIMIT_SECONDS = 120
LIMIT_SECONDS = 1800
# Groups that reach their limit, and programs that die, are what some of the tests are about.
EXPECTED = ("memcg_oom", "segfault")
# Some of the tests are a matter of chance, on every kernel.
TRIES = 3
_SWAP = "swap0"
_MARK = "@@selftest"
_SECTION = re.compile(
    rf"^{_MARK} begin (?P<name>\S+)$(?P<output>.*?)(?:^{_MARK} end (?P=name) (?P<status>\d+)$|\Z)",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class KernelRun:
    """What the selftests of one kernel gave on it.

    Attributes:
        kernel: which.
        release: as uname gives it.
        cases: by program; a program that the source lacks, or that does not compile, is not there.
        problems: whatever else went wrong: a warning of the kernel, a guest that died.
        output: all that the programs printed.
    """

    kernel: str
    release: str
    cases: Mapping[str, tuple[Case, ...]]
    problems: tuple[str, ...]
    output: str


def with_selftests(kernel: KernelId) -> KernelId:
    """Return the kernel built with what its selftests need: `6.12` is `6.12%selftests`."""
    if VARIANT in kernel.options:
        return kernel
    return replace(kernel, options=tuple(sorted((*kernel.options, VARIANT))))


def choose(only: Sequence[str]) -> tuple[str, ...]:
    """Return the programs whose names, with or without their collection, match a pattern.

    Raises:
        UsageError: a pattern that no program matches.
    """
    for pattern in only:
        if not any(_matches(name, pattern) for name in PROGRAMS):
            raise UsageError(
                f"--only {pattern}: no such selftest", next_step=f"there are {', '.join(PROGRAMS)}"
            )
    return tuple(
        name for name in PROGRAMS if not only or any(_matches(name, pattern) for pattern in only)
    )


def _matches(name: str, pattern: str) -> bool:
    return any(fnmatch.fnmatchcase(text, pattern) for text in (name, *name.split("/")))


def run_all(session: Session, names: Sequence[str]) -> list[KernelRun]:
    """Run programs on a session's kernels, in order.

    What is worse is tried again on all, to find what is flaky.
    """
    runs = _run_each(session, names)
    for _ in range(TRIES - 1):
        worse = {row.program for row in compare(runs) if row.regressed}
        if not worse:
            break
        session.ui.note(f"worse, tried again: {', '.join(sorted(worse))}")
        again = _run_each(session, sorted(worse))
        runs = [merge_runs(run, more) for run, more in zip(runs, again, strict=True)]
    return runs


def _run_each(session: Session, names: Sequence[str]) -> list[KernelRun]:
    runs = []
    for kernel, build in session.builds.items():
        made = selftest_programs(build.recipe, PROGRAMS, session.ui)
        programs = {name: path for name, path in made.items() if name in names}
        with session.ui.bar(f"running {len(programs)} selftests on {kernel}", None):
            runs.append(run_selftests(session, kernel, programs))
    return runs


def run_selftests(session: Session, kernel: KernelId, programs: Mapping[str, Path]) -> KernelRun:
    """Boot a kernel, run programs one after another, and return what they said.

    Args:
        session: has the kernel.
        kernel: one `with_selftests`.
        programs: compiled, by name.

    Raises:
        LabError: the guest could not start, or was another kernel.
    """
    image = dataset_image(EmptyDataset(kind="empty", size_mb=DISK_MB))
    board = MACHINES[session.machine]
    plain = PlainBoot(
        plan=tuple(_plan(programs, image)),
        memory_mb=MEMORY_MB,
        limit_seconds=LIMIT_SECONDS * board.slowness,
        # The programs wait for things by looking again and again.
        virtual_time=board.time == "instructions",
        files=tuple(programs.values()),
        disk=image,
        movable_mb=MOVABLE_MB if board.zones else 0,
        findings=EXPECTED,
    )
    with scratch("selftests") as directory:
        judged = session.boot_plain("selftests", kernel, plain, directory)
        output = judged.outcome.output.read_text(errors="replace").replace("\r", "")
    cases = dict(read_output(output, programs))
    release = session.builds[kernel].recipe.release
    return KernelRun(str(kernel), release, cases, tuple(judged.problems), output)


def _plan(programs: Mapping[str, Path], image: Path) -> Iterator[PlanStep]:
    yield from (steps.ReportLruGen(), steps.Cgroup(2))
    yield from disk_steps(image, DISK_MB, Disk(completion_us=0, mbps=0))
    yield from (steps.MakeDisk(_SWAP, SWAP_MB), steps.SwapOn(f"/dev/{_SWAP}"))
    yield steps.ReportCounters("begin")
    for name, program in programs.items():
        yield steps.Run(name, NO_CGROUP, ("/bin/sh", "-c", _script(name, program)))
    yield steps.ReportCounters("end")


def _script(name: str, program: Path) -> str:
    """Return the shell's words that run a program where it may write, and mark its output."""
    command = f"timeout -k 10 {PROGRAM_LIMIT_SECONDS} {shlex.quote(guest_path(program))}"
    return (
        f"cd {DATA}; exec > {OUTPUT_DEVICE} 2>&1; echo; echo {_MARK} begin {name}; "
        f"{BEFORE.get(name, '')} {command}; "
        f"status=$?; echo; echo {_MARK} end {name} $status"
    )


def read_output(
    output: str, programs: Mapping[str, Path] | Sequence[str]
) -> Iterator[tuple[str, tuple[Case, ...]]]:
    """Read what all programs printed; one that said nothing, as the guest died before, failed."""
    found = {match["name"]: match for match in _SECTION.finditer(output)}
    for name in programs:
        match = found.get(name)
        status = int(match["status"]) if match and match["status"] else None
        yield name, read_program(match["output"] if match else "", status)


@dataclass(frozen=True)
class CaseRow:
    """One case on all kernels.

    Attributes:
        program: as `cgroup/test_core`.
        case: its name.
        results: in the order of the kernels; None where a kernel does not have the case.
    """

    program: str
    case: str
    results: tuple[Result | None, ...]

    @property
    def regressed(self) -> bool:
        """Whether another kernel does not pass what the first does, or fails what only it has."""
        first, *others = self.results
        if first is None:
            return Result.FAILED in others
        good = (Result.PASSED, Result.FLAKY)
        return first == Result.PASSED and any(result not in good for result in others)


def merge_runs(run: KernelRun, again: KernelRun) -> KernelRun:
    """Return a run with the programs that were tried again; cases that differ are flaky."""
    merged = {name: merge_tries(run.cases[name], cases) for name, cases in again.cases.items()}
    return replace(
        run,
        cases={**run.cases, **merged},
        problems=tuple(dict.fromkeys((*run.problems, *again.problems))),
        output=run.output + again.output,
    )


def compare(runs: Sequence[KernelRun]) -> tuple[CaseRow, ...]:
    """Return every case of every program, kernels beside one another."""
    names = dict.fromkeys(
        (program, case.name)
        for program in PROGRAMS
        for run in runs
        for case in run.cases.get(program, ())
    )
    found = [
        {(program, case.name): case.result for program in run.cases for case in run.cases[program]}
        for run in runs
    ]
    return tuple(CaseRow(*name, tuple(cases.get(name) for cases in found)) for name in names)


def new_problems(runs: Sequence[KernelRun]) -> list[str]:
    """Return what went wrong on other kernels and not on the first."""
    known = set(runs[0].problems)
    return [
        f"{run.kernel}: {problem}"
        for run in runs[1:]
        for problem in run.problems
        if problem not in known and not problem.startswith("logs: ")
    ]
