# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru test`: everything that CI runs, one step after another."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from mglru.core.errors import ExitCode, LabError
from mglru.core.paths import REPO
from mglru.core.ui import Ui

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
