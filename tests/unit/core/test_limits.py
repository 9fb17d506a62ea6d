# SPDX-License-Identifier: GPL-2.0-only
"""A test that hangs is named; what it leaves undone does not make the next one fail."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mglru.core.paths import REPO
from support import lab_process

# As a run of boots ends that is interrupted.
TESTS = """
import pytest
from mglru.core import process

@pytest.mark.timeout(1)
def test_that_hangs():
    try:
        process.run(["sleep", "1000"], purpose="hang")
    except BaseException:
        process.cancel_all()
        raise

def test_the_next():
    process.run(["true"], purpose="go on")
"""


def test_a_hanging_test_is_named_and_the_next_one_passes(tmp_path: Path) -> None:
    (tmp_path / "test_made.py").write_text(TESTS)
    outcome = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "conftest"),
            *("-c", REPO / "pyproject.toml", "--rootdir", REPO, tmp_path),
        ],
        cwd=REPO,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 failed, 1 passed" in outcome.stdout, outcome.stdout + outcome.stderr
    assert "test_that_hangs - Failed: Timeout" in outcome.stdout


@pytest.mark.parametrize(("mark", "seconds"), [(None, 300), ("guest", 1800), ("qemu", 7200)])
def test_every_test_has_a_limit(
    request: pytest.FixtureRequest, mark: str | None, seconds: float
) -> None:
    """One that boots kernels has more time, and none has no end."""
    item = request.node
    if mark:
        item.add_marker(mark)
        shared = request.config.pluginmanager.get_plugin(str(REPO / "tests" / "conftest.py"))
        assert shared
        shared.pytest_collection_modifyitems([item])
        assert item.get_closest_marker("timeout").args == (seconds,)
    else:
        assert item.get_closest_marker("timeout") is None
        assert float(request.config.getini("timeout")) == seconds


def test_the_lab_ends_with_the_test_that_started_it(cache: Path) -> None:
    worker = lab_process.start(
        *("cluster", "worker", "127.0.0.1:9", "--wait", "100"),
        environment={"MGLRU_CACHE": str(cache)},
    )
    lab_process.stop_all()
    assert worker.poll() is not None
