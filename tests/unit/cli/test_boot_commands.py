# SPDX-License-Identifier: GPL-2.0-only
"""The commands that boot kernels, with a session that knows the results beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mglru.core.errors import ExitCode
from mglru.core.ui import Ui
from mglru.experiment.spec import Experiment
from mglru.results import result_file
from mglru.results.model import Headline, RunResult
from mglru.results.result_file import ResultFile
from mglru.series.listing import load_series
from support.command_line import run
from support.made_runs import made_run

SESSIONS = (
    *("run.experiments", "study.confirm.run", "study.demo", "study.selftest", "study.stress"),
    "study.try_.trial",
)
HEADLINE = [Headline(name="refaults", better="lower", label="refaults")]


class Made:
    """A session whose boots are made up.

    Figures grow by `step` from one boot to the next; the last kernel's are higher by `more`.
    """

    step = 0.0
    more = 0.0
    broken: Mapping[str, tuple[int, ...]] = {}
    asked: list[dict[str, Any]]

    def __init__(
        self, kernels: Any, _own: Any, ui: Ui, file: ResultFile | None = None, *_: Any, **_more: Any
    ) -> None:
        self.kernels, self.ui, self.file = [str(kernel) for kernel in kernels], ui, file

    def run(self, experiment: Experiment, *, boots: int, seed: int, **more: Any) -> RunResult:
        self.asked.append({"name": experiment.name, "boots": boots, "seed": seed, **more})
        last = self.kernels[-1]
        made = made_run(
            {
                kernel: {
                    "refaults": [
                        100 + self.step * boot + self.more * (kernel == last)
                        for boot in range(boots)
                    ]
                }
                for kernel in self.kernels
            },
            experiment=experiment.name,
            seed=seed,
            series=load_series("6.12").sha256,
            headline=HEADLINE,
            problems=self.broken,
        )
        if not more.get("vary_seed", True):
            same = [record.model_copy(update={"seed": seed}) for record in made.raw]
            made = RunResult.from_boots(made, same)
        if self.file:
            self.file.begin(made)
            for record in made.raw:
                self.file.add(record)
        return made


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch, cache: Path) -> type[Made]:
    class Fresh(Made):
        asked: list[dict[str, Any]] = []  # noqa: RUF012

    for module in SESSIONS:
        monkeypatch.setattr(f"mglru.{module}.Session", Fresh)
    return Fresh


def test_run_says_what_was_asked_and_keeps_it(
    session: type[Made], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "r.json"
    arguments = ("--kernels", "6.12,6.12+next", "--boots", "2", "--seed", "7")
    settings = ("--set", "memcg.memory.max=8M", "--json", str(file))
    code, out, _err = run(capsys, "run", "read-twice", *arguments, *settings)
    assert code == ExitCode.OK
    assert "refaults" in out
    (asked,) = session.asked
    assert (asked["name"], asked["boots"], asked["seed"]) == ("read-twice", 2, 7)
    assert asked["parameters"] == {"limit": "8M"}
    (kept,) = result_file.load(file)
    assert kept.kernels == ["6.12", "6.12+next"]


def test_run_fails_with_a_boot_that_went_wrong(
    session: type[Made], capsys: pytest.CaptureFixture[str]
) -> None:
    session.broken = {"6.12+next": (0,)}
    code, _out, err = run(capsys, "run", "read-twice")
    assert code == ExitCode.EXPECTATION_FAILED
    assert "6.12+next, boot 0 (seed 1): it broke" in err


@pytest.mark.parametrize(("step", "code"), [(0, ExitCode.OK), (1, ExitCode.EXPECTATION_FAILED)])
def test_selftest_fails_if_boots_do_not_agree(
    session: type[Made], capsys: pytest.CaptureFixture[str], step: float, code: ExitCode
) -> None:
    session.step = step
    assert run(capsys, "selftest", "read-twice")[0] == code
    assert session.asked[0]["vary_seed"] is False


def test_demo_leaves_results_and_a_page(
    session: type[Made],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _out, err = run(capsys, "demo")
    assert code == ExitCode.OK
    assert [asked["name"] for asked in session.asked] == ["ycsb-a", "ycsb-b"]
    assert len(result_file.load(tmp_path / "mglru-demo.json")) == 2
    assert "<html" in (tmp_path / "mglru-demo.html").read_text()
    assert "./mglru compare mglru-demo.json" in err


def test_stress_that_does_not_end_is_told(
    session: type[Made], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _err = run(capsys, "stress", "--minutes", "0.1", "--no-stress-ng", "--cpus", "2")
    assert code == ExitCode.OK
    assert "did not come to its end" in out
    assert session.asked[0]["parameters"] == {
        "seconds": "6",
        "guest.cpus": "2",
        "guest.nodes": "2",
    }


@pytest.mark.parametrize(
    ("again", "code", "says"),
    [(-30, ExitCode.OK, "holds"), (0, ExitCode.EXPECTATION_FAILED, "not confirmed")],
)
def test_confirm_boots_again_with_other_seeds(
    session: type[Made],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    again: float,
    code: ExitCode,
    says: str,
) -> None:
    found, new = tmp_path / "found.json", tmp_path / "new.json"
    session.more = -30
    assert run(capsys, "run", "read-twice", "--boots", "5", "--json", str(found))[0] == ExitCode.OK
    session.more = again
    arguments = ("--found", str(found), "--json", str(new))
    ended, out, _err = run(capsys, "confirm", "read-twice", *arguments)
    assert (ended, says in out) == (code, True)
    assert [asked["seed"] for asked in session.asked] == [1, 1001]
    assert len(result_file.load(new)) == 1


def test_try_keeps_its_result_and_makes_the_directory_for_what_was_printed(
    session: type[Made], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, printed = tmp_path / "try.json", tmp_path / "a" / "printed"
    options = ("--limit", "64M", "--boots", "2", "--output", str(printed), "--json", str(file))
    code, out, _err = run(capsys, "try", *options, "true")
    assert (code, "refaults" in out) == (ExitCode.EXPECTATION_FAILED, True)
    (asked,) = session.asked
    assert (asked["boots"], asked["outputs"]) == (2, printed)
    assert printed.is_dir()
    assert len(result_file.load(file)) == 1
