# SPDX-License-Identifier: GPL-2.0-only
"""Confirming with other seeds, and what may be recorded into results/."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from mglru import cli
from mglru.core.errors import ExitCode, UsageError
from mglru.results import recording
from mglru.results.compare import Comparison, Named, compare
from mglru.results.model import Headline, RunResult
from mglru.results.result_file import ResultFile, save
from mglru.run import provenance
from mglru.series import state as series_state
from mglru.series.listing import load_series
from mglru.study.confirm import confirm
from mglru.study.confirm import table as confirm_table
from mglru.study.confirm.confirm import Confirmation, all_hold, check_found, check_seeds, findings
from support.made_runs import made_info, made_run

STOCK, NEXT = "6.12", "6.12+next"
OPS = Headline(name="ops_per_second", better="higher")
SAME = [100.0] * 5


def run_of(ours: Sequence[float], seed: int = 1, experiment: str = "loop") -> RunResult:
    """Stock at 100, and ours."""
    return made_run(
        {
            STOCK: {"ops_per_second": [100.0] * len(ours)},
            NEXT: {"ops_per_second": ours},
        },
        headline=[OPS],
        seed=seed,
        experiment=experiment,
        series=load_series("6.12").sha256,
    )


def compared(run: RunResult) -> Comparison:
    return compare([Named("x", run)])[0]


@pytest.mark.parametrize(
    ("again", "outcome"),
    [
        ([121, 122, 120, 123, 120], Confirmation.HOLDS),
        ([99, 130, 101, 90, 100], Confirmation.UNSURE),
        ([80, 81, 82, 79, 80], Confirmation.CONTRADICTED),
        ([120, 121], Confirmation.UNSURE),
    ],
)
def test_a_finding_holds_if_the_other_seeds_mark_it_so(
    again: list[float], outcome: Confirmation
) -> None:
    before, after = compared(run_of([120.0] * 5)), compared(run_of(again, seed=1001))
    (finding,) = findings(before, after)
    assert (finding.kernel, finding.label, finding.outcome) == (NEXT, "ops_per_second", outcome)
    assert all_hold([finding]) == (outcome is Confirmation.HOLDS)
    text = confirm_table.render(before, after, [finding], width=160)
    assert "5 boots from seed 1 found" in text
    assert str(outcome) in text


def test_what_was_not_found_is_not_confirmed() -> None:
    before, after = compared(run_of(SAME)), compared(run_of([120.0] * 5, seed=1001))
    assert findings(before, after) == []
    assert "nothing was found" in confirm_table.render(before, after, [])


def test_what_cannot_be_confirmed_is_refused() -> None:
    with pytest.raises(UsageError, match="1 boots of a kernel, and a finding takes 5") as caught:
        check_found(run_of([120.0]), "a.json")
    assert "--boots 5" in caught.value.next_step
    other = made_run({STOCK: {"x": SAME}, NEXT: {"x": SAME}}, series="9" * 64)
    with pytest.raises(UsageError, match="another state of the series"):
        check_found(other, "a.json")
    check_found(run_of(SAME), "a.json")
    with pytest.raises(UsageError, match="seed 3 has been looked at"):
        check_seeds(run_of(SAME), 3, 5)
    check_seeds(run_of(SAME), confirm.CONFIRMING_SEED, 5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nosuch"], "no experiment 'nosuch'"),
        (["loop", "--found", "/nonexistent"], "there is no /nonexistent"),
        (["loop", "--boots", "4"], "4 is not in the range"),
        (["phase-change", "--found", "FILE"], "has no run of phase-change"),
    ],
)
def test_the_command_says_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    save(run_of(SAME), tmp_path / "found.json")
    given = [str(tmp_path / "found.json") if word == "FILE" else word for word in arguments]
    with pytest.raises(SystemExit) as ended:
        cli.main(["confirm", *given])
    assert ended.value.code == ExitCode.USAGE
    assert message in capsys.readouterr().err


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a source and a folder of results, both committed."""
    for name in ("src/a.py", "results/old.json", "docs/x.md", "patches/cover.md"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("1\n")

    def git(*words: str) -> None:
        user = ("-c", "user.name=x", "-c", "user.email=x@localhost")
        subprocess.run(["git", *user, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "x")
    for module in (recording, provenance):
        monkeypatch.setattr(module, "REPO", tmp_path)
    monkeypatch.setattr(recording, "RESULTS", tmp_path / "results")
    return tmp_path


def test_a_clean_tree_is_recorded_whatever_else_differs(repository: Path) -> None:
    (repository / "docs" / "x.md").write_text("2\n")
    (repository / "patches" / "cover.md").write_text("2\n")
    (repository / "results" / "new.json").write_text("2\n")
    recording.check_clean(repository / "results" / "new.json")
    assert not str(provenance.lab_commit()).endswith("-dirty")


@pytest.mark.parametrize("name", ["src/a.py", "src/new.py"])
def test_a_tree_that_no_commit_has_is_not_recorded(repository: Path, name: str) -> None:
    (repository / name).write_text("2\n")
    with pytest.raises(UsageError, match=f"files differ from it: {name}") as caught:
        ResultFile(repository / "results" / "old.json")
    assert "commit them" in caught.value.next_step
    assert (repository / "results" / "old.json").read_text() == "1\n"
    ResultFile(repository / "elsewhere.json")
    assert str(provenance.lab_commit()).endswith("-dirty")


def test_outside_of_git_nothing_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "REPO", tmp_path)
    monkeypatch.setattr(recording, "RESULTS", tmp_path / "results")
    with pytest.raises(UsageError, match="git does not say"):
        recording.check_clean(tmp_path / "results" / "a.json")


def test_another_state_of_the_series_is_not_recorded(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(series_state, "_here", lambda _base, _upto: "8" * 64)
    for series, refused in (("8" * 64, False), ("9" * 64, True)):
        info = made_info([STOCK, NEXT], series=series)
        with ResultFile(repository / "results" / "a.json") as file:
            if not refused:
                file.begin(info)
                continue
            with pytest.raises(UsageError, match=r"6.12\+next is of another state"):
                file.begin(info)
