# SPDX-License-Identifier: GPL-2.0-only
"""guest/drivers/burst.c: a file written in one go, or at a rate."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.guest import channel
from support.guests import program_step, run_plan, step

pytestmark = pytest.mark.guest


def burst(tmp_path: Path, *arguments: str) -> channel.GuestReport:
    line = program_step("burst", *arguments)
    check = step("size", "test $(wc -c </mnt/file) = $((3 << 20))").replace("/work", "")
    return run_plan(tmp_path, "cgroup\t2", line, check)


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
