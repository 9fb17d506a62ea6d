# SPDX-License-Identifier: GPL-2.0-only
"""What a directory of results stands for, and where the recorded results lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.core.errors import UsageError
from mglru.core.paths import RESULTS
from mglru.experiment.load import load_experiment
from mglru.results.folders import result_files
from mglru.results.result_file import load


def test_a_directory_is_what_is_in_it_in_the_order_of_names(tmp_path: Path) -> None:
    for name in ("b/a.json", "a/c.json", "b.json", "suites/d.json", "a/sweep/e.json", "a/f.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    inside = [tmp_path / name for name in ("b/a.json", "b.json", "a/c.json")]
    assert result_files([tmp_path]) == inside
    assert result_files([tmp_path / "suites"]) == [tmp_path / "suites" / "d.json"]
    assert result_files(["-", tmp_path, "no.json"]) == ["-", *inside, "no.json"]


def test_a_directory_without_results(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no result files"):
        result_files([tmp_path])


@pytest.mark.parametrize("path", result_files([RESULTS]), ids=lambda path: Path(path).stem)
def test_results_lie_in_the_folders_of_their_experiments(path: Path) -> None:
    for run in load(path):
        assert run.experiment.partition(":")[0] == path.stem
        assert load_experiment(run.experiment).folder == path.parent.name
