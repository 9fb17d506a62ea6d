# SPDX-License-Identifier: GPL-2.0-only
"""Fixtures that several test files share."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mglru.core import process
from mglru.core.ui import Ui
from support import lab_process

# In seconds, and more than what ends a guest or a program that hangs: that says more.
LIMITS = {"guest": 1800, "qemu": 7200}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give tests that boot kernels the time that they need; others have that of pyproject.toml."""
    for item in items:
        for mark, seconds in LIMITS.items():
            if item.get_closest_marker(mark) and not item.get_closest_marker("timeout"):
                item.add_marker(pytest.mark.timeout(seconds))


@pytest.fixture(autouse=True)
def nothing_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that fails in the middle of boots ends its own, not those of the next tests."""
    monkeypatch.setattr(process, "_cancelled", threading.Event())


@pytest.fixture(autouse=True)
def nothing_left_running() -> Iterator[None]:
    """Nor does it leave the lab running, which would take the next ones' locks and time."""
    yield
    lab_process.stop_all()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the test's own."""
    path = tmp_path / "cache"
    monkeypatch.setenv("MGLRU_CACHE", str(path))
    return path


@pytest.fixture
def quiet() -> Ui:
    return Ui(quiet=True)


@pytest.fixture
def mini_kernel(tmp_path: Path) -> Path:
    """The smallest tree that the lab takes for Linux 6.12."""
    tree = tmp_path / "mini-kernel"
    (tree / "mm").mkdir(parents=True)
    (tree / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 99\nEXTRAVERSION =\n")
    (tree / "mm" / "vmscan.c").write_text("int reclaim;\n")
    return tree
