# SPDX-License-Identifier: GPL-2.0-only
"""The real series on the real source, with the tools that others carry it with."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from mglru.core.paths import PATCHES
from mglru.series.listing import Series, load_series
from mglru.series.overlay import copy_touched, touched_files
from mglru.series.worktree import export_tree, make_tree
from mglru.source.trees import Source, cached
from support.series_tools import snapshot

# It needs Debian's source, which whatever boots kernels has fetched.
pytestmark = pytest.mark.guest
BASE = "6.12"
DIRECTORY = PATCHES / BASE
NO_LAB = Series(BASE, ())
USER = {"name": "Alan Turing", "email": "alan@example.org"}


@pytest.fixture
def series() -> Series:
    return load_series(BASE)


@pytest.fixture
def source(tmp_path: Path, series: Series) -> Source:
    """The files that the series touches, as they are in the source: git looks at no others."""
    whole = cached(BASE)
    assert whole, "./mglru kernel fetch"
    root = tmp_path / "source"
    copy_touched(whole.path, ("Makefile", *touched_files(series.patches)), root)
    return replace(whole, path=root)


@pytest.fixture
def patched(tmp_path: Path, source: Source, series: Series) -> Path:
    return make_tree(source, series, NO_LAB, tmp_path / "patched")


def run(*argv: str | Path, cwd: Path, **env: str) -> str:
    """Run a program as a user would, with a user's settings."""
    done = subprocess.run(
        argv, cwd=cwd, env={**os.environ, **env}, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def test_git_am_of_the_mbox(tmp_path: Path, source: Source, series: Series, patched: Path) -> None:
    mbox = tmp_path / "next.mbox"
    export_tree(patched, BASE, DIRECTORY, mbox)
    fresh = make_tree(source, None, NO_LAB, tmp_path / "fresh")
    for name, value in USER.items():
        run("git", "config", f"user.{name}", value, cwd=fresh)
    run("git", "am", "--quiet", mbox, cwd=fresh)
    subjects = run("git", "log", "--reverse", "--format=%s", "base..HEAD", cwd=fresh).splitlines()
    assert subjects == [patch.subject for patch in series.patches]
    assert run("git", "status", "--porcelain", cwd=fresh) == ""
    assert snapshot(fresh) == snapshot(patched)


def test_quilt_push(tmp_path: Path, source: Source, series: Series, patched: Path) -> None:
    fresh = tmp_path / "fresh"
    shutil.copytree(source.path, fresh)
    settings = {"QUILT_PATCHES": str(DIRECTORY), "QUILTRC": "/dev/null"}
    said = run("quilt", "push", "-a", "--fuzz=0", cwd=fresh, **settings)
    assert "offset" not in said
    assert len(run("quilt", "applied", cwd=fresh, **settings).split()) == len(series.patches)
    shutil.rmtree(fresh / ".pc")
    assert snapshot(fresh) == snapshot(patched)
