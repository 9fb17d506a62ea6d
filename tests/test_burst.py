# SPDX-License-Identifier: GPL-2.0-only
"""guest/burst.c: a file written in one go, or at a rate."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru import channel
from mglru.guest_build import guest_program
from mglru.uml import boot, guest_path
from test_guest import kernel_build, request, step

pytestmark = pytest.mark.guest


def burst(tmp_path: Path, *arguments: str) -> channel.GuestReport:
    line = "\t".join(["step", "burst", "-", guest_path(guest_program("burst")), *arguments])
    check = step("size", "test $(wc -c </mnt/file) = $((3 << 20))").replace("/work", "")
    outcome = boot(request(kernel_build("6.12"), "cgroup\t2", line, check), tmp_path)
    return channel.parse(outcome.channel.read_bytes())


@pytest.mark.parametrize(("pause_us", "seconds"), [("0", 0), ("20000", 0.06)])
def test_it_takes_as_long_as_asked_for(tmp_path: Path, pause_us: str, seconds: float) -> None:
    written, size = burst(tmp_path, "/mnt/file", "3", pause_us).steps
    assert not written.failed
    assert not size.failed
    # A tick more for the first sleep of a guest.
    assert seconds <= written.seconds <= seconds + 0.01


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["/mnt/file", "3"], "needs FILE MB MB_US"),
        (["/mnt/file", "3M", "0"], "'3M' is not a number"),
        (["/mnt/file", "3", "-1"], "'-1' is not a number"),
        (["/no/such/file", "3", "0"], "cannot write /no/such/file"),
    ],
)
def test_what_it_cannot_do_it_says(tmp_path: Path, arguments: list[str], message: str) -> None:
    report = burst(tmp_path, *arguments)
    assert any(message in error for error in report.errors)
    assert report.steps[0].failed
