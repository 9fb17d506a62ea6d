# SPDX-License-Identifier: GPL-2.0-only
from __future__ import annotations

from pathlib import Path

import pytest

from mglru.core.errors import LabError
from mglru.core.paths import cache_dir, staged


def test_a_cache_that_cannot_be_written_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # /proc takes no new files, whoever asks: also root, under whom tests may run.
    monkeypatch.setenv("MGLRU_CACHE", "/proc/sys/mglru")
    with pytest.raises(LabError, match="cannot be written") as caught:
        cache_dir("builds")
    assert "MGLRU_CACHE" in caught.value.next_step


def test_a_failed_step_leaves_neither_its_target_nor_its_staging(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), staged(tmp_path / "target") as staging:
        (staging / "half").write_text("written")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_a_finished_step_replaces_what_was_there(tmp_path: Path) -> None:
    for content in ("old", "new"):
        with staged(tmp_path / "target") as staging:
            (staging / "file").write_text(content)
    assert [path.name for path in tmp_path.iterdir()] == ["target"]
    assert (tmp_path / "target" / "file").read_text() == "new"
