# SPDX-License-Identifier: GPL-2.0-only
from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from mglru.machine import cpus
from mglru.machine.cpus import one_cpu, parse_idle


def test_guests_at_once_have_different_cpus_as_long_as_there_are_any() -> None:
    allowed = os.sched_getaffinity(0)
    with contextlib.ExitStack() as stack:
        taken = [stack.enter_context(one_cpu()) for _ in allowed]
        assert set(taken) == allowed
        assert stack.enter_context(one_cpu()) in allowed
    with one_cpu() as first:
        assert first in allowed


def test_a_cpu_that_others_keep_busy_is_left_to_them(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = sorted(os.sched_getaffinity(0))
    quiet = allowed[-1]
    idle = dict.fromkeys(allowed, 1) | {quiet: 20}
    monkeypatch.setattr(cpus, "_idle_ticks", lambda _seconds: idle)
    with one_cpu() as first:
        assert first == quiet


def test_idle_time_of_each_cpu_as_the_kernel_writes_it() -> None:
    stat = "cpu  10 0 30 400 5 0 0 0 0 0\ncpu0 4 0 10 150 5\ncpu11 6 0 20 250 0\nintr 5 0\nctxt 7\n"
    assert parse_idle(stat) == {0: 150, 11: 250}


def test_without_proc_any_cpu_will_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cpus, "STAT", tmp_path / "none")
    with one_cpu() as first:
        assert first in os.sched_getaffinity(0)
