# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru test`: everything that CI runs, one step after another."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mglru.checks.base_check import check_bases
from mglru.core.errors import ExitCode, LabError
from mglru.core.paths import REPO
from mglru.core.ui import Ui
from mglru.debian import packages
from mglru.machine.registry import SMP, UML
from mglru.run.kernels import build_all
from mglru.source.kernel_id import KernelId

GUEST_KERNELS = ("6.12", "6.12+next")
KUNIT_KERNEL = "6.12+next%kunit"
# For memory.retain on all that has a page cache.
FILESYSTEMS_KERNEL = "6.12+next%filesystems"
# On several processors: counted, and in a race, where it matters that much happens.
SMP_KERNEL = "6.12+next"
STRESS_KERNEL = "6.12+next%checks"


@dataclass(frozen=True)
class CiStep:
    """One step: a name for the user, and a function that returns whether it passed."""

    name: str
    run: Callable[[], bool]


def _python(*arguments: str) -> Callable[[], bool]:
    """Run a Python tool of the lab's own environment, its output going to the user."""

    def run() -> bool:
        environment = {**os.environ, "PYTHONPATH": str(REPO / "src")}
        command = [sys.executable, "-m", *arguments]
        return subprocess.run(command, cwd=REPO, check=False, env=environment).returncode == 0

    return run


def _pytest(marks: str, *arguments: str) -> Callable[[], bool]:
    return _python("pytest", "-q", "-p", "no:cacheprovider", "-m", marks, *arguments)


def _layers() -> bool:
    """Tell whether every import keeps to the contracts of pyproject.toml."""
    program = "from importlinter.cli import *; sys.exit(lint_imports(no_cache=True, no_logo=True))"
    environment = {**os.environ, "PYTHONPATH": str(REPO / "src")}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=REPO, check=False, env=environment).returncode == 0


def source_steps() -> list[CiStep]:
    """Return the steps that need no kernel."""
    return [
        CiStep("ruff check", _python("ruff", "check", "--no-cache")),
        CiStep("ruff format", _python("ruff", "format", "--check", "--no-cache", "-q")),
        CiStep("mypy --strict", _python("mypy", "--cache-dir", os.devnull)),
        CiStep("import-linter", _layers),
        CiStep("pytest", _pytest("not guest and not qemu")),
    ]


def guest_steps() -> list[CiStep]:
    """Return the steps that boot the kernels that an earlier step has built."""
    return [
        # A guest has one processor. What shares a fixture stays together.
        CiStep("pytest -m guest", _pytest("guest", "--numprocesses=auto", "--dist=loadscope")),
    ]


def qemu_steps() -> list[CiStep]:
    """Return the steps that boot the kernels that an earlier step has built for `qemu`."""
    return [CiStep("pytest -m qemu", _pytest("qemu"))]


def _build_kernels(ui: Ui, machine: str = UML) -> bool:
    """Build all kernels that later steps boot on a machine; it passes unless it raises."""
    own = (KUNIT_KERNEL, FILESYSTEMS_KERNEL) if machine == UML else ()
    _build((*GUEST_KERNELS, *own), ui, machine)
    if machine != UML:
        # Also those of `qemu-threads`.
        _build((SMP_KERNEL, STRESS_KERNEL), ui, SMP)
    return True


def _build(names: Sequence[str], ui: Ui, machine: str) -> None:
    build_all([KernelId.parse(name) for name in names], (), ui, machine)


def _series_is_fit(ui: Ui) -> bool:
    """Check the series of all bases, and tell whether all is well with them."""
    # To build each patch takes hours on a slow machine, and to build each part most of one.
    return check_bases((), (), ui, build=True, parts=True)


def run_ci(ui: Ui, *, quick: bool = False, machine: str = UML) -> ExitCode:
    """Run all that CI runs, and say at the end how each step went.

    Args:
        ui: told of it.
        quick: only what needs no kernel; of `UML`.
        machine: on UML everything; on another only what boots kernels there.

    Raises:
        LabError: packages that are needed cannot be installed.
    """
    packages.ensure(packages.TEST, ui)
    if machine != UML:
        builds = CiStep("build kernels", lambda: _build_kernels(ui, machine))
        return run_steps([builds, *qemu_steps()], ui)
    steps = source_steps()
    if not quick:
        steps += [
            # In this order: what the check builds starts as a copy of a built tree.
            CiStep("build kernels", lambda: _build_kernels(ui)),
            CiStep("series check", lambda: _series_is_fit(ui)),
            *guest_steps(),
        ]
    return run_steps(steps, ui)


def run_steps(steps: list[CiStep], ui: Ui) -> ExitCode:
    """Run all steps, also after one has failed, and say at the end how each went."""
    outcome: list[tuple[str, bool, float]] = []
    for step in steps:
        ui.note(f"== {step.name}")
        started = time.monotonic()
        try:
            passed = step.run()
        except LabError as error:
            ui.warn(error.render())
            passed = False
        outcome.append((step.name, passed, time.monotonic() - started))
    ui.note("")
    for name, passed, seconds in outcome:
        ui.note(f"{'passed' if passed else 'FAILED':7} {seconds:6.0f} s  {name}")
    failed = [name for name, passed, _seconds in outcome if not passed]
    return ExitCode.EXPECTATION_FAILED if failed else ExitCode.OK
