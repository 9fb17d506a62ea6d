# SPDX-License-Identifier: GPL-2.0-only
"""What `./mglru test` runs, in which order, and what it makes of a step that fails."""

from __future__ import annotations

import pytest

from mglru.checks import ci
from mglru.core.errors import ExitCode, LabError
from mglru.core.ui import Ui
from mglru.debian import packages
from mglru.source.kernel_id import KernelId

SOURCE = ["ruff check", "ruff format", "mypy --strict", "import-linter", "pytest"]


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the steps that ran; none of them does anything."""
    names: list[str] = []

    def note_all(steps: list[ci.CiStep], _ui: Ui) -> ExitCode:
        names.extend(step.name for step in steps)
        return ExitCode.OK

    monkeypatch.setattr(packages, "ensure", lambda _wanted, _ui: None)
    monkeypatch.setattr(ci, "run_steps", note_all)
    return names


@pytest.mark.parametrize(
    ("quick", "machine", "steps"),
    [
        (True, "uml", SOURCE),
        (False, "uml", [*SOURCE, "build kernels", "series check", "pytest -m guest"]),
        (False, "qemu", ["build kernels", "pytest -m qemu"]),
    ],
)
def test_steps(quiet: Ui, ran: list[str], quick: bool, machine: str, steps: list[str]) -> None:
    assert ci.run_ci(quiet, quick=quick, machine=machine) == ExitCode.OK
    assert ran == steps


def test_kernels_are_built_for_the_machine_that_boots_them(
    quiet: Ui, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[tuple[str, str]] = []

    def note_all(kernels: list[KernelId], _own: object, _ui: Ui, machine: str) -> None:
        built.extend((str(kernel), machine) for kernel in kernels)

    monkeypatch.setattr(ci, "build_all", note_all)
    assert ci._build_kernels(quiet)
    own = (ci.KUNIT_KERNEL, ci.FILESYSTEMS_KERNEL)
    assert built == [(name, "uml") for name in (*ci.GUEST_KERNELS, *own)]
    built.clear()
    assert ci._build_kernels(quiet, "qemu")
    several = [(name, "qemu-smp") for name in (ci.SMP_KERNEL, ci.STRESS_KERNEL)]
    assert built == [*((name, "qemu") for name in ci.GUEST_KERNELS), *several]


def test_all_steps_run_and_one_that_fails_is_told(
    quiet: Ui, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> bool:
        raise LabError("no compiler")

    steps = [ci.CiStep("a", lambda: False), ci.CiStep("b", fail), ci.CiStep("c", lambda: True)]
    assert ci.run_steps(steps[2:], quiet) == ExitCode.OK
    assert ci.run_steps(steps, Ui()) == ExitCode.EXPECTATION_FAILED
    lines = [line.split() for line in capsys.readouterr().err.splitlines()]
    assert [(line[0], line[-1]) for line in lines[-3:]] == [
        ("FAILED", "a"),
        ("FAILED", "b"),
        ("passed", "c"),
    ]
