# SPDX-License-Identifier: GPL-2.0-only
"""The tables of README and docs/use/overview.md: worse above better, a line a workload."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from mglru import cli
from mglru.core.errors import ExitCode
from mglru.report import overview
from mglru.report.overview import MOST_ROWS
from mglru.results.model import Headline, RunResult
from mglru.results.result_file import save
from mglru.series.listing import load_series
from support.made_runs import made_run

CLASSIC, STOCK, NEW, NEXT = "6.12@classic", "6.12", "7.3", "6.12+next"
OPS = Headline(name="ops_per_second", better="higher")
MB = 1024.0


def run_of(
    name: str, reads: Sequence[float], ops: Sequence[float] = (), series: str = ""
) -> RunResult:
    """Stock kernels at 100 MB read and 100 ops/s; the classic LRU at 105."""
    boots = len(reads)
    values = {
        kernel: {
            "pgpgin": [100 * MB] * boots,
            "ops_per_second": [105.0 if kernel == CLASSIC else 100.0] * boots,
        }
        for kernel in (CLASSIC, STOCK, NEW)
    }
    values[NEXT] = {
        "pgpgin": [mb * MB for mb in reads],
        "ops_per_second": list(ops or [100.0] * boots),
    }
    here = series or load_series("6.12").sha256
    return made_run(values, experiment=name, headline=[OPS], series=here)


def test_worse_stands_above_better_and_the_worst_first() -> None:
    runs = [
        run_of("good", [100] * 5, [150] * 5),
        run_of("bad:far", [120] * 5),
        run_of("bad:near", [110] * 5),
        run_of("worst", [300], [120]),
        run_of("same", [101], [101]),
    ]
    lines = overview.render(runs).splitlines()
    rows = [line for line in lines if line.startswith("|") and "---" not in line]
    assert rows == [
        "| workload | pages read | pages written | seconds | tail latency | seeds |",
        "| worst | 3.00x |  |  |  | 1 |",
        "| bad | **1.20x** |  |  |  | 5 |",
        "| workload | what | 6.12@classic | 7.3 | 6.12+next | published | seeds |",
        "| good | ops_per_second ↑ | **1.05x +** | 1.00x = | **1.50x +** |  | 5 |",
        "| worst | ops_per_second ↑ | 1.05x | 1.00x | 1.20x |  | 1 |",
    ]


def test_a_family_of_another_machine_is_another_line() -> None:
    other = run_of("bad:far", [130] * 5).model_copy(update={"machine": "qemu-smp"})
    lines = overview.render([run_of("bad:far", [120] * 5), other]).splitlines()
    assert [line for line in lines if line.startswith("| bad")] == [
        "| bad (qemu-smp) | **1.30x** |  |  |  | 5 |",
        "| bad | **1.20x** |  |  |  | 5 |",
    ]


def test_readme_has_the_worst_first_in_one_table() -> None:
    runs = [run_of("bad", [120]), run_of("worst", [300], [150]), run_of("good", [100], [200])]
    rows = [line for line in overview.headline(runs).splitlines() if line.startswith("|")]
    assert rows[2:] == [
        "| worst | **worse**: pages read | 3.00x | 1 |",
        "| bad | **worse**: pages read | 1.20x | 1 |",
        "| good | better: ops_per_second ↑ | 2.00x | 1 |",
        "| worst | better: ops_per_second ↑ | 1.50x | 1 |",
    ]
    assert overview.headline(runs).startswith("Ratios of 6.12+next, less is better: to the better")
    many = [run_of(f"w{at}", [110 + at], [150]) for at in range(20)]
    assert len([line for line in overview.headline(many).splitlines() if "| 1 |" in line]) == 13


def test_nothing_to_tell_and_other_states_are_said() -> None:
    text = overview.render([run_of("same", [100]), made_run({STOCK: {"x": [1.0]}})])
    assert text.count("nothing by more than 2%") == 2
    assert "†" not in text
    text = overview.render([run_of("old", [200], series="9" * 64)])
    assert "| old † | 2.00x |" in text
    assert "another state of the series" in text


def test_a_mark_is_told_of_only_where_a_row_has_it() -> None:
    fresh = [run_of(f"w{at}", [150 + at], [150]) for at in range(MOST_ROWS)]
    runs = [*fresh, run_of("old", [110], [110], series="9" * 64)]
    for make in (overview.headline, overview.render):
        assert "†" not in make(runs)
        assert make(runs[-2:]).count("another state of the series") == 1


def test_long_tables_are_cut_and_say_so() -> None:
    text = overview.render([run_of(f"w{at}", [110 + at]) for at in range(MOST_ROWS + 2)])
    rest = "[harm.md](harm.md) has families, [results.md](results.md) the others"
    assert f"and 2 more: {rest}" in text


@pytest.mark.parametrize(
    ("form", "part"), [("overview", "| far | 2.00x |"), ("suite", "| far | 2.00x ! [pgpgin")]
)
def test_both_go_into_a_document(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str, part: str
) -> None:
    save(run_of("far", [200]), tmp_path / "a.json")
    document = tmp_path / "d.md"
    document.write_text("<!-- results: begin (generated, do not edit) -->\n<!-- results: end -->\n")
    arguments = ["compare", str(tmp_path / "a.json"), "--format", form]
    with pytest.raises(SystemExit) as ended:
        cli.main([*arguments, "--into", str(document)])
    assert ended.value.code == ExitCode.OK
    assert part in document.read_text()
    with pytest.raises(SystemExit) as ended:
        cli.main([*arguments, "--all"])
    assert ended.value.code == ExitCode.USAGE
    assert f"--all is not for --format {form}" in capsys.readouterr().err
