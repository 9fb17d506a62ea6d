# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru bound` as a command: models on patterns, and an experiment whose boots are made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mglru.core.errors import ExitCode
from mglru.experiment.spec import Experiment
from mglru.study.bound.file import Bound
from support.command_line import run
from support.report_inputs import bound_document, make_bound


def test_models_are_compared_on_patterns(capsys: pytest.CaptureFixture[str], cache: Path) -> None:
    words = ("bound", "--policy", "multigen", "loop1.2", "zipf", "--capacity", "256")
    code, out, _err = run(capsys, *words)
    assert code == ExitCode.OK
    for word in ("multigen", "classic", "loop1.2", "zipf"):
        assert word in out


def test_a_pattern_or_policy_that_there_is_not(
    capsys: pytest.CaptureFixture[str], cache: Path
) -> None:
    code, _out, err = run(capsys, "bound", "--policy", "nosuch", "zipf")
    assert code == ExitCode.USAGE
    assert "nosuch" in err
    code, _out, err = run(capsys, "bound", "--policy", "multigen", "nosuch")
    assert code == ExitCode.USAGE
    assert "nosuch" in err


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, cache: Path) -> dict[str, Any]:
    """What is asked of the recording, which gives a bound that is known beforehand."""
    found: dict[str, Any] = {"bound": make_bound()}

    def find_bound(_session: Any, _jobs: Any, reference: str, **more: Any) -> Bound:
        found.update(more, reference=reference)
        made = found["bound"]
        assert isinstance(made, Bound)
        return made

    class Made:
        """A session that boots nothing."""

        jobs = ()

        def __init__(self, *_: Any) -> None:
            pass

        def prepare(self, experiment: Experiment, *, boots: int, seed: int) -> Made:
            found.update(experiment=experiment.name, boots=boots, seed=seed)
            return self

    monkeypatch.setattr("mglru.study.bound.run.find_bound", find_bound)
    monkeypatch.setattr("mglru.study.bound.run.Session", Made)
    return found


def test_an_experiment_has_a_table_and_a_file(
    asked: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bound.json"
    words = (
        "--kernels",
        "6.12,6.12+next",
        "--seed",
        "7",
        "--capacity",
        "100",
        "--set",
        "limit=32M",
    )
    more = ("--capacity", "100", "--json", str(file))
    code, out, _err = run(capsys, "bound", "ycsb-b", *words, *more)
    assert code == ExitCode.OK
    assert (asked["experiment"], asked["reference"]) == ("ycsb-b", "6.12")
    assert (asked["seed"], asked["capacity"]) == (7, 100)
    for word in ("Belady", "S3-FIFO", "6.12+next", "93,000"):
        assert word in out
    document = json.loads(file.read_text())
    assert document["settings"] == ["limit=32M"]
    kept = document["kernels"]
    for kernel, figures in bound_document()["kernels"].items():
        assert figures.items() <= kept[kernel].items()


def test_a_recording_that_did_not_see_all_is_doubted(
    asked: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    document = {k: v for k, v in bound_document().items() if k not in {"format", "kind"}}
    stock = document["kernels"]["6.12"] | {"misses": 400_000}
    document["kernels"] = document["kernels"] | {"6.12": stock}
    asked["bound"] = Bound.model_validate(document)
    code, out, err = run(capsys, "bound", "ycsb-b")
    assert code == ExitCode.EXPECTATION_FAILED
    assert "Belady" in out
    assert "6.12" in err
