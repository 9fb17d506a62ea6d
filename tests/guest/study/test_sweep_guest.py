# SPDX-License-Identifier: GPL-2.0-only
"""Sweeps with real boots."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from mglru.core.errors import ExitCode
from mglru.study.sweep import file as sweep_file
from support import lab_process, sweep_tools
from support.sweep_tools import figures

pytestmark = pytest.mark.guest


def wait_for_boots(path: Path, count: int) -> None:
    for _attempt in range(2400):
        if path.exists() and sum(len(p.run.raw) for p in sweep_file.load(path).points) >= count:
            return
        time.sleep(0.05)
    pytest.fail(f"{path} never had {count} boots")


def test_an_interrupted_sweep_goes_on_where_it_stopped(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole.json", tmp_path / "parts.json"
    process = lab_process.start(
        "sweep", *sweep_tools.SMALL, "--json", whole, "--plot", tmp_path / "s.svg"
    )
    out, err = process.communicate(timeout=300)
    assert process.returncode == ExitCode.OK, err
    assert "workingset_refault_file ↓" in out
    assert ">48M</text>" in (tmp_path / "s.svg").read_text()

    process = lab_process.start("sweep", *sweep_tools.SMALL, "--json", parts)
    wait_for_boots(parts, 2)
    process.send_signal(signal.SIGINT)
    _out, err = process.communicate(timeout=60)
    assert process.returncode == ExitCode.INTERRUPTED, err
    known = sum(len(point.run.raw) for point in sweep_file.load(parts).points)
    assert 2 <= known < 8
    process = lab_process.start("sweep", *sweep_tools.SMALL, "--json", parts)
    _out, err = process.communicate(timeout=300)
    assert process.returncode == ExitCode.OK, err
    assert f"{known} of 8 boots are there already" in err
    assert figures(parts) == figures(whole)
    # All of the file fits into the largest limit, and half of it into none of the others.
    refaults = [boots[0].metrics["workingset_refault_file"] for _at, boots in figures(whole)]
    assert refaults[-1] == 0
    assert min(refaults[:-1]) >= 8192 * (32 - 26) / 32


def test_a_limit_that_is_too_small_is_a_problem_of_its_point(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    small = [word for word in sweep_tools.SMALL if word not in ("--points", "4")]
    small[small.index("limit=8M..48M")] = "limit=4K,48M"
    process = lab_process.start("sweep", *small, "--kernels", "6.12", "--json", path)
    out, err = process.communicate(timeout=120)
    assert process.returncode == ExitCode.EXPECTATION_FAILED, err
    assert "note: limit=4K: 6.12 boot 0: console: memcg_oom" in out
    killed, well = (point.run.raw[0] for point in sweep_file.load(path).points)
    assert any("memcg_oom" in problem for problem in killed.problems)
    assert well.problems == []
    assert well.metrics["workingset_refault_file"] == 0
