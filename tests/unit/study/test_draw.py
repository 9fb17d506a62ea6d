# SPDX-License-Identifier: GPL-2.0-only
"""Experiments drawn at random: the same for everybody, valid, and never over somebody's work."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from mglru import cli
from mglru.core.errors import ExitCode, UsageError
from mglru.experiment.load import load_experiment
from mglru.study import draw
from mglru.study.suite.families import families

NUMBERS = range(1, 201)


def test_a_number_always_gives_the_same_experiment() -> None:
    assert draw.experiment(7) == draw.experiment(7)
    assert len({draw.experiment(number) for number in NUMBERS}) == len(NUMBERS)


def test_they_are_a_suite_of_valid_experiments(tmp_path: Path) -> None:
    draw.write(NUMBERS, tmp_path)

    suite = families(draw.SUITE, directory=tmp_path)

    assert len(suite) == len(NUMBERS)
    swaps = [load_experiment(family.name, directory=tmp_path).swap for family in suite]
    assert any(swaps)
    assert not all(swaps)


@pytest.mark.parametrize("number", NUMBERS)
def test_what_is_read_is_in_the_file_and_what_is_written_fits(number: int) -> None:
    table = tomllib.loads(draw.experiment(number))
    actors = [word for word in table["steps"][0]["argv"] if word.startswith(("scan ", "random "))]
    written: dict[str, int] = {}
    for actor in actors:
        keys = dict(word.split("=", 1) for word in actor.split()[1:])
        if "anon" in keys:
            continue
        end = int(keys.get("at_mb", 0)) + int(keys["mb"])
        if keys["file"] == "{data}/file":
            assert end <= table["dataset"]["file_mb"]
        else:
            written[keys["file"]] = end
    assert table["dataset"]["file_mb"] + sum(written.values()) < table["dataset"]["size_mb"]
    assert actors[0].split()[-1] not in {"rounds=0", "ops=0"}, "the warm-up ends"


def test_each_phase_has_somebody_who_ends_it() -> None:
    for number in NUMBERS:
        argv = tomllib.loads(draw.experiment(number))["steps"][0]["argv"][4:]
        text = "\n".join(argv).replace("--begin", "--then")
        for phase in text.split("--then"):
            assert any("rounds=0" not in a and " ops=0" not in a for a in phase.split("\n") if a)


def test_what_somebody_changed_is_not_overwritten(tmp_path: Path) -> None:
    folder = draw.write([1], tmp_path)
    draw.write([1, 2], tmp_path)
    changed = folder / "drawn-2.toml"
    changed.write_text("summary = 'mine'\n")

    with pytest.raises(UsageError, match="drawn-2"):
        draw.write([1, 2, 3], tmp_path)

    assert changed.read_text() == "summary = 'mine'\n"
    assert not (folder / "drawn-3.toml").exists()


def test_the_command_says_what_comes_next(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(draw.write, "__defaults__", (tmp_path,))

    with pytest.raises(SystemExit) as ended:
        cli.main(["draw", "--first", "5", "--points", "2"])

    assert ended.value.code == ExitCode.OK
    assert "drawn-5 to -6" in capsys.readouterr().err
    assert sorted(path.name for path in (tmp_path / draw.SUITE).iterdir()) == [
        "drawn-5.toml",
        "drawn-6.toml",
    ]
