# SPDX-License-Identifier: GPL-2.0-only
"""Result files: what is kept, what is computed, and what a bad path or file is answered with."""

from __future__ import annotations

import json
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from mglru.core.errors import ExitCode, LabError, UsageError
from mglru.results import recording
from mglru.results.model import BootRecord, Headline, Published, RunInfo, RunResult
from mglru.results.result_file import FORMAT, ResultFile, load, save
from support.provenance import patched, provenance

STOCK, NEXT = "6.12", "6.12+next"


@pytest.fixture
def info() -> RunInfo:
    return RunInfo(
        experiment="ycsb-a",
        machine="uml",
        seed=7,
        kernels=[STOCK, NEXT],
        boots=3,
        provenance=provenance(
            {name: patched(name) for name in (STOCK, NEXT)},
            seed=7,
            options={"memory": "2G"},
            parameters={"threads": 32},
        ),
        headline=[Headline(name="ops_per_second", better="higher")],
        published={"ops_per_second": Published(before=100, after=127.6)},
    )


def record(kernel: str, boot: int, **metrics: float) -> BootRecord:
    return BootRecord(kernel=kernel, boot=boot, seed=7 + boot, metrics=metrics)


@pytest.fixture
def run(info: RunInfo) -> RunResult:
    boots = [
        record(STOCK, 0, ops_per_second=100.0, pgpgin=1.0, oom_kill=0.0),
        record(NEXT, 0, ops_per_second=150.0, pgpgin=1 / 3, oom_kill=0.0),
        record(STOCK, 1, ops_per_second=104.0, pgpgin=3.0, oom_kill=0.0),
        record(NEXT, 1, ops_per_second=204.0, oom_kill=1.0),
        record(STOCK, 2, ops_per_second=102.0, pgpgin=2.0, oom_kill=0.0),
    ]
    return RunResult.from_boots(info, boots)


def test_figures_are_computed_from_the_boots(run: RunResult) -> None:
    ours = run.metrics["ops_per_second"][NEXT]
    assert ours.values == [150.0, 204.0]
    assert ours.median == 177.0
    assert ours.ratio == 177.0 / 102.0
    assert run.metrics["ops_per_second"][STOCK].ratio == 1.0


def test_a_baseline_of_zero_has_no_ratio(run: RunResult) -> None:
    assert run.metrics["oom_kill"][NEXT].median == 0.5
    assert run.metrics["oom_kill"][NEXT].ratio is None


def test_headline_metrics_come_first(run: RunResult) -> None:
    assert run.metric_names() == ["ops_per_second", "oom_kill", "pgpgin"]


def test_a_boot_that_lacks_a_metric_is_left_out(run: RunResult) -> None:
    assert run.values("pgpgin", NEXT) == {0: 1 / 3}
    assert run.values("pgpgin", "7.3") == {}


def test_the_file_has_the_promised_keys(run: RunResult, tmp_path: Path) -> None:
    save(run, tmp_path / "run.json")
    document = json.loads((tmp_path / "run.json").read_text())
    assert set(document) == {
        "format", "experiment", "machine", "seed", "kernels", "boots", "provenance", "metrics",
        "raw", "headline", "published", "baseline",
    }  # fmt: skip
    assert document["format"] == FORMAT
    assert document["metrics"]["ops_per_second"][NEXT] == {
        "values": [150.0, 204.0],
        "median": 177.0,
        "ratio": 177.0 / 102.0,
    }


def test_what_was_saved_is_loaded_to_the_bit(run: RunResult, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    save(run, path)
    assert load(path) == [run]
    save([run, run], path)
    assert load(path) == [run, run]


def test_reference_results_have_the_boots_alone_and_no_empty_fields(
    run: RunResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody but the lab reads them, and it computes figures anew; every clone has them."""
    monkeypatch.setattr(recording, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(recording, "changed_files", lambda: [])
    monkeypatch.setattr(recording, "check_state", lambda path, series: None)
    path = tmp_path / "results" / "databases" / "run.json"
    path.parent.mkdir(parents=True)
    with ResultFile(path) as file:
        file.begin(run, run.raw[:-1])
        file.add(run.raw[-1])
    small = json.loads(path.read_text())
    save(run, tmp_path / "run.json")
    whole = json.loads((tmp_path / "run.json").read_text())
    assert set(whole) - set(small) == {"metrics", "baseline"}
    assert small["raw"][0] == {
        key: whole["raw"][0][key] for key in ("kernel", "boot", "seed", "metrics")
    }
    assert load(path) == load(tmp_path / "run.json") == [run]
    save([run, run], path)
    assert "median" not in path.read_text()
    assert load(path) == [run, run]


def test_metrics_of_a_file_are_not_believed_but_computed(run: RunResult, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    save(run, path)
    document = json.loads(path.read_text())
    document["metrics"]["ops_per_second"][NEXT]["median"] = 1e9
    path.write_text(json.dumps(document))
    assert load(path) == [run]
    assert load(path)[0].metrics["ops_per_second"][NEXT].median == 177.0


def test_every_boot_is_in_the_file_at_once(info: RunInfo, run: RunResult, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    with ResultFile(path) as file:
        file.begin(info)
        for count, boot in enumerate(run.raw, start=1):
            file.add(boot)
            assert load(path)[0].raw == run.raw[:count]
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.json"]


def test_an_interrupt_keeps_the_boots_so_far(info: RunInfo, run: RunResult, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    with pytest.raises(KeyboardInterrupt), ResultFile(path) as file:
        file.begin(info)
        file.add(run.raw[0])
        raise KeyboardInterrupt
    assert load(path)[0].raw == run.raw[:1]


def test_several_experiments_share_a_file(info: RunInfo, run: RunResult, tmp_path: Path) -> None:
    path = tmp_path / "runs.json"
    other = info.model_copy(update={"experiment": "ycsb-b"})
    with ResultFile(path) as file:
        file.begin(info)
        file.add(run.raw[0])
        file.begin(other)
        file.add(run.raw[1])
    assert [(r.experiment, r.raw) for r in load(path)] == [
        ("ycsb-a", [run.raw[0]]),
        ("ycsb-b", [run.raw[1]]),
    ]


def test_an_older_file_stays_until_the_first_boot(
    info: RunInfo, run: RunResult, tmp_path: Path
) -> None:
    path = tmp_path / "run.json"
    path.write_text("older")
    with ResultFile(path) as file:
        file.begin(info)
        assert path.read_text() == "older"
    assert path.read_text() == "older"
    with ResultFile(path) as file:
        file.begin(info)
        file.add(run.raw[0])
    assert load(path)[0].raw == run.raw[:1]


def test_stdout_gets_one_document_at_the_end(
    info: RunInfo, run: RunResult, capsys: pytest.CaptureFixture[str]
) -> None:
    with ResultFile("-") as file:
        file.begin(info)
        for boot in run.raw:
            file.add(boot)
        assert capsys.readouterr().out == ""
    assert json.loads(capsys.readouterr().out)["boots"] == 3


def test_stdout_gets_nothing_if_nothing_ran(
    info: RunInfo, capsys: pytest.CaptureFixture[str]
) -> None:
    with ResultFile("-") as file:
        file.begin(info)
    assert capsys.readouterr().out == ""


def test_a_pipe_is_written_into_not_replaced(run: RunResult, tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(path.read_text()))
    reader.start()
    save(run, path)
    reader.join(timeout=60)
    assert json.loads(got[0])["experiment"] == "ycsb-a"
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_a_symbolic_link_stays_a_link(run: RunResult, tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    save(run, tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert load(tmp_path / "real.json") == [run]


def test_the_file_has_ordinary_permissions(run: RunResult, tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    save(run, tmp_path / "run.json")
    modes = {(tmp_path / name).stat().st_mode for name in ("run.json", "other")}
    assert len(modes) == 1


def test_a_bad_path_fails_before_the_first_boot(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LabError, match="Not a directory") as caught:
        ResultFile(tmp_path / "file" / "run.json")
    assert "--json" in caught.value.next_step


def test_a_missing_directory_is_named_with_how_to_make_it(tmp_path: Path) -> None:
    missing = tmp_path / "a new" / "folder"
    with pytest.raises(UsageError, match=f"there is no directory {missing}$") as caught:
        ResultFile(missing / "run.json")
    assert f"mkdir -p '{missing}'" in caught.value.next_step
    assert not missing.parent.exists()


def test_a_directory_is_no_result_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a directory"):
        ResultFile(tmp_path)


Spoil = Callable[[str], str]


def without(key: str) -> Spoil:
    def spoil(text: str) -> str:
        document = json.loads(text)
        del document[key]
        return json.dumps(document)

    return spoil


def changed(key: str, value: object) -> Spoil:
    return lambda text: json.dumps({**json.loads(text), key: value})


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda text: text[: len(text) // 2], "cut off in line"),
        (lambda text: text[:1], "cut off in line"),
        (lambda text: "", "is empty"),
        (lambda text: " \n", "is empty"),
        (lambda text: "[]", "is empty"),
        (lambda text: "{}", "no 'format'"),
        (lambda text: "3", "no 'format'"),
        (lambda text: '{"a": oops}', "line 1 is not JSON"),
        (lambda text: "[" * 100_000, "is not a result"),
        (lambda text: f"[{text}, 3]", "no 'format'"),
        (changed("format", FORMAT + 1), f"has format {FORMAT + 1}; this lab reads"),
        (changed("format", None), "has format None"),
        (without("seed"), "seed: Field required"),
        (without("provenance"), "provenance: Field required"),
        (changed("kernels", []), "kernels: "),
        (changed("raw", [{"kernel": "6.12"}]), "raw.0.boot: Field required"),
        (changed("later_addition", 1), "later_addition: "),
    ],
)
def test_files_that_are_not_results(
    run: RunResult, tmp_path: Path, spoil: Spoil, says: str
) -> None:
    path = tmp_path / "run.json"
    save(run, path)
    path.write_text(spoil(path.read_text()))
    with pytest.raises(UsageError, match=says) as caught:
        load(path)
    assert caught.value.exit_code == ExitCode.USAGE
    assert str(path) in caught.value.what
    assert "./mglru" in caught.value.next_step or "lab" in caught.value.next_step


def test_a_result_cut_at_any_byte_is_refused(run: RunResult, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    save(run, path)
    text = path.read_text().rstrip()
    for cut in range(len(text)):
        path.write_text(text[:cut])
        with pytest.raises(UsageError, match=r"cut off|is empty"):
            load(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        load(tmp_path / "missing.json")
    with pytest.raises(UsageError, match="directory"):
        load(tmp_path)
    (tmp_path / "binary").write_bytes(b"\x80\x81\xff")
    with pytest.raises(UsageError, match="not text"):
        load(tmp_path / "binary")


def test_infinite_figures_are_refused_when_they_are_made() -> None:
    with pytest.raises(ValueError, match="finite"):
        record(STOCK, 0, ops_per_second=float("inf"))
