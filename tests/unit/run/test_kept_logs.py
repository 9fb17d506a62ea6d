# SPDX-License-Identifier: GPL-2.0-only
"""Logs of boots that went wrong: the last ones stay, also if many go wrong at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mglru.run import kept_logs


def test_many_that_fail_at_once(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_logs, "KEPT", 2)
    log = tmp_path / "console.log"
    log.write_text("panic")
    with ThreadPoolExecutor(8) as pool:
        kept = list(pool.map(lambda number: kept_logs.keep_logs(f"b{number}", [log]), range(40)))
    assert len(set(kept)) == 40
    there = [path for path in kept if path.exists()]
    assert sorted((cache / "failed").iterdir()) == sorted(there)
    assert len(there) == 3, "those kept, and the last one"
    assert {(path / "console.log").read_text() for path in there} == {"panic"}
