# SPDX-License-Identifier: GPL-2.0-only
"""What every clone gets: not too much, and results that a commit makes again."""

from __future__ import annotations

import re
import subprocess

import pytest

from mglru.core.paths import REPO, RESULTS
from mglru.results.folders import result_files
from mglru.results.result_file import load
from mglru.run.provenance import DIRTY
from mglru.study.suite.file import what_is_kept

MOST_BYTES = 20_000_000


def git(*words: str, given: bytes = b"") -> bytes:
    command = ["git", "-C", str(REPO), *words]
    return subprocess.run(command, input=given, capture_output=True, check=True).stdout


def has_whole_history() -> bool:
    if not (REPO / ".git").exists():
        return False
    # What a partial clone lacks it would download now.
    partial = git("config", "--default", "", "--get", "extensions.partialClone").strip()
    return git("rev-parse", "--is-shallow-repository").strip() == b"false" and not partial


def test_a_clone_is_small() -> None:
    if not has_whole_history():
        pytest.skip("not a clone with its whole history")
    objects = git("rev-list", "--objects", "HEAD")
    # As a server packs that repacks: what git packs in passing depends on how it came to be there.
    how = ("--stdout", "-q", "--delta-base-offset", "--no-reuse-delta", "--window=30")
    pack = git("pack-objects", *how, given=objects)
    assert len(pack) < MOST_BYTES, "record less, or what is recorded already another way"


def test_results_are_of_commits() -> None:
    """Somebody who has only the repository can make them again."""
    found = {
        str(path.relative_to(RESULTS).with_suffix(""))
        for path in RESULTS.rglob("*.json")
        if re.search(rf'"lab_commit": "\w+{DIRTY}"', path.read_text())
    }
    assert not found, "record from a clone"


def test_recorded_suites_have_what_a_suite_file_keeps() -> None:
    for path in result_files([RESULTS / "suites"]):
        assert all(run == what_is_kept(run) for run in load(path)), f"{path}: record it again"
