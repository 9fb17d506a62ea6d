# SPDX-License-Identifier: GPL-2.0-only
"""A suite with real boots."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from mglru.core.errors import ExitCode
from mglru.results.result_file import load
from mglru.run.provenance import DIRTY
from support import lab_process

pytestmark = pytest.mark.guest


SMALL = (
    *("run", "--suite", "out-of-memory", "--only", "oom-dirty", "--seeds", "2"),
    *("--kernels", "6.12,6.12+next"),
)


def test_a_result_is_renewed_by_what_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "oom-dirty.json"
    command = ("run", "oom-dirty", "--boots", "1", "--json", str(path))
    process = lab_process.start(*command, "--kernels", "6.12")
    assert process.communicate(timeout=300) and process.returncode == ExitCode.OK
    before = load(path)[0]
    process = lab_process.start(*command, "--kernels", "6.12,6.12+next", "--renew")
    _out, err = process.communicate(timeout=300)
    assert process.returncode == ExitCode.OK, err
    there = 0 if str(before.provenance.lab_commit).endswith(DIRTY) else 1
    assert f"oom-dirty: {there} boots are there already" in err
    (run,) = load(path)
    assert [boot.kernel for boot in run.raw] == ["6.12", "6.12+next"]
    assert run.raw[0].metrics == before.raw[0].metrics


def test_an_interrupted_suite_goes_on_and_shows_its_table(tmp_path: Path) -> None:
    path = tmp_path / "suite.json"
    process = lab_process.start(*SMALL, "--json", str(path))
    while not path.exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _out, err = process.communicate(timeout=60)
    assert process.returncode == ExitCode.INTERRUPTED, err
    boots = len(load(path)[0].raw)
    assert boots < 4
    process = lab_process.start(*SMALL, "--json", str(path))
    out, err = process.communicate(timeout=300)
    assert f"{boots} of 4 boots are there already" in err
    assert process.returncode == ExitCode.OK, err
    assert "oom-dirty: only stock kernels kill or fail" in out
    assert [len(run.raw) for run in load(path)] == [4]
