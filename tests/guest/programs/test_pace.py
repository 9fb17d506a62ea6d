# SPDX-License-Identifier: GPL-2.0-only
"""guest/tools/pace.c: programs that compute take time, beside one another."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.guest import channel
from support.guests import memcg, program_step, run_plan

pytestmark = pytest.mark.guest


def paced(tmp_path: Path, *arguments: str) -> channel.GuestReport:
    """Run a shell script under it in a guest."""
    return run_plan(tmp_path, *memcg("64M"), program_step("pace", *arguments))


def seconds(tmp_path: Path, *arguments: str) -> float:
    step = paced(tmp_path, *arguments).steps[0]
    assert step.status == 0
    return step.seconds


def test_time_is_that_of_the_system_calls(tmp_path: Path) -> None:
    # A copy of 100 blocks reads and writes each, and has some calls around it.
    copy = ["/bin/dd", "if=/dev/zero", "of=/dev/null", "count=100"]
    slow, fast = (seconds(tmp_path, us, *copy) for us in ("1000", "100"))
    assert 0.2 < slow < 0.4
    # To trace them takes time, too: reading the clock.
    assert 7 < slow / fast < 10


def test_programs_take_their_time_at_once(tmp_path: Path) -> None:
    copy = "dd if=/dev/zero of=/dev/null count=1000 2>/dev/null"
    one = seconds(tmp_path, "1000", "/bin/sh", "-c", f"{copy} & wait")
    four = seconds(tmp_path, "1000", "/bin/sh", "-c", f"{f'{copy} & ' * 4} wait")
    assert one <= four < one * 1.1


def test_its_status_is_the_programs(tmp_path: Path) -> None:
    assert paced(tmp_path, "10", "/bin/sh", "-c", "exit 7").steps[0].status == 7
    assert paced(tmp_path, "10", "/bin/sh", "-c", "kill -9 $$").steps[0].status == 137
    # A signal that the program itself catches gets there.
    trap = "trap 'exit 5' TERM; kill -TERM $$; sleep 1"
    assert paced(tmp_path, "10", "/bin/sh", "-c", trap).steps[0].status == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x", "/bin/true"], "'x' is not a number"),
        (["2000000", "/bin/true"], "is not a number from 0 to"),
        (["0", "/bin/true"], "needs SYSCALL_US PROGRAM"),
        (["10"], "needs SYSCALL_US PROGRAM"),
        (["10", "/no/such/program"], "cannot start /no/such/program"),
    ],
)
def test_what_it_cannot_do_it_says(tmp_path: Path, arguments: list[str], message: str) -> None:
    report = paced(tmp_path, *arguments)
    assert any(message in error for error in report.errors)
    assert report.steps[0].status != 0
