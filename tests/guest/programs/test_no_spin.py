# SPDX-License-Identifier: GPL-2.0-only
"""guest/tools/no_spin.c: programs that wait by computing come to an end in virtual time."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mglru.guest import channel
from mglru.guest.places import guest_path
from mglru.guest.programs import guest_program
from mglru.machine.uml import boot
from support.guests import kernel_build, request
from support.places import PROGRAMS

pytestmark = pytest.mark.guest
WAYS = ("clock", "futex", "mutex", "yield")


@pytest.fixture
def spinner(tmp_path: Path) -> Path:
    program = tmp_path / "spinner"
    source = PROGRAMS / "spinner.c"
    subprocess.run(["gcc", "-D_GNU_SOURCE", "-pthread", "-o", program, source], check=True)
    return program


def steps(spinner: Path, prefix: str) -> list[str]:
    return [f"step\t{way}\t-\t/bin/sh\t-c\t{prefix} {guest_path(spinner)} {way}" for way in WAYS]


def test_what_waits_by_computing_comes_to_an_end(tmp_path: Path, spinner: Path) -> None:
    plan = steps(spinner, f"LD_PRELOAD={guest_path(guest_program('no_spin'))}")
    (tmp_path / "boot").mkdir()
    outcome = boot(request(kernel_build("6.12"), *plan), tmp_path / "boot")
    report = channel.parse(outcome.reported)
    assert [(step.label, step.status) for step in report.steps] == [(way, 0) for way in WAYS]
    # Each wait is one of microseconds: to read a clock costs less than one.
    assert all(step.seconds < 0.01 for step in report.steps)


def test_without_it_they_never_end(tmp_path: Path, spinner: Path) -> None:
    (tmp_path / "boot").mkdir()
    plan = steps(spinner, "exec")
    outcome = boot(request(kernel_build("6.12"), *plan, limit=3), tmp_path / "boot")
    assert outcome.timed_out
    assert channel.parse(outcome.reported).steps == ()
