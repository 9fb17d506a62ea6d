# SPDX-License-Identifier: GPL-2.0-only
"""Comparisons and their tables: what is called better, worse or the same, and how it is shown."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from mglru.core.errors import UsageError
from mglru.core.figures import number
from mglru.results import tables
from mglru.results.compare import Comparison, Named, compare, load_named
from mglru.results.marks import Mark
from mglru.results.model import BootRecord, Headline, Published, RunInfo, RunResult
from mglru.results.result_file import save
from mglru.study import selftest
from support.provenance import provenance

Values = Mapping[str, Mapping[str, Sequence[float]]]


def make_run(
    values: Values,
    *,
    experiment: str = "ycsb-a",
    seed: int = 1,
    boots: int | None = None,
    virtual_time: bool = True,
    options: Mapping[str, str] | None = None,
    problems: Sequence[str] = (),
) -> RunResult:
    """A run from {kernel: {metric: [value of boot 0, ...]}}; `problems` are the first boot's."""
    asked = max(len(series) for metrics in values.values() for series in metrics.values())
    info = RunInfo(
        experiment=experiment,
        machine="uml",
        seed=seed,
        kernels=list(values),
        boots=boots or asked,
        provenance=provenance(
            dict.fromkeys(values), seed=seed, virtual_time=virtual_time, options=options
        ),
        headline=[
            Headline(name="ops_per_second", better="higher"),
            Headline(name="workingset_refault_file", better="lower", label="file refaults"),
        ],
        published={"ops_per_second": Published(before=62_485, after=79_761)},
    )
    records = [
        BootRecord(
            kernel=kernel,
            boot=boot,
            seed=seed + boot,
            metrics={name: series[boot] for name, series in metrics.items() if boot < len(series)},
            problems=list(problems) if boot == 0 and kernel == next(iter(values)) else [],
            release="6.12.117",
        )
        for kernel, metrics in values.items()
        for boot in range(max(map(len, metrics.values())))
    ]
    return RunResult.from_boots(info, records)


def one(*runs: RunResult, baseline: str | None = None, everything: bool = False) -> Comparison:
    named = [Named(f"file{number}", run) for number, run in enumerate(runs)]
    (comparison,) = compare(named, baseline=baseline, everything=everything)
    return comparison


def marks(comparison: Comparison, metric: str) -> list[Mark | None]:
    (row,) = [row for row in comparison.rows if row.metric == metric]
    return [cell.mark if cell else None for cell in row.cells]


def labels(comparison: Comparison) -> list[str]:
    return [column.label for column in comparison.columns]


def test_stock_is_the_baseline() -> None:
    run = make_run(
        {
            "6.12": {"ops_per_second": [100.0] * 5, "workingset_refault_file": [50.0] * 5},
            "6.12+next": {"ops_per_second": [185.0] * 5, "workingset_refault_file": [25.0] * 5},
        }
    )
    comparison = one(run)
    assert [row.metric for row in comparison.rows] == ["ops_per_second", "workingset_refault_file"]
    baseline, ours = comparison.rows[0].cells
    assert baseline is not None
    assert ours is not None
    assert (baseline.median, baseline.ratio, baseline.mark) == (100.0, 1.0, Mark.NONE)
    assert (ours.median, ours.ratio, ours.mark) == (185.0, 1.85, Mark.BETTER)
    assert marks(comparison, "workingset_refault_file") == [Mark.NONE, Mark.BETTER]


def test_another_baseline_by_name() -> None:
    run = make_run(
        {k: {"ops_per_second": [v] * 5} for k, v in (("6.12@classic", 50.0), ("6.12", 40.0))}
    )
    comparison = one(run, baseline="6.12")
    assert comparison.baseline == 1
    assert marks(comparison, "ops_per_second") == [Mark.BETTER, Mark.NONE]
    with pytest.raises(UsageError, match=r"ycsb-a has no kernel '7\.3'") as caught:
        one(run, baseline="7.3")
    assert "6.12@classic, 6.12" in caught.value.next_step


def test_boots_are_paired_by_seed() -> None:
    """The seeds differ a lot, the kernels by exactly a tenth: the interval shows the latter."""
    base = [100.0, 200.0, 150.0, 50.0, 300.0]
    run = make_run(
        {
            "6.12": {"ops_per_second": base},
            "6.12+next": {"ops_per_second": [1.1 * value for value in base]},
        }
    )
    cell = one(run).rows[0].cells[1]
    assert cell is not None
    assert cell.interval is not None
    assert (cell.interval.low, cell.interval.high) == pytest.approx((1.1, 1.1))
    assert cell.mark is Mark.BETTER


def test_runs_with_other_seeds_are_not_paired() -> None:
    base = [100.0, 200.0, 150.0, 50.0, 300.0]
    stock = make_run({"6.12": {"ops_per_second": base}}, seed=1)
    ours = make_run({"6.12+next": {"ops_per_second": [1.1 * v for v in base]}}, seed=99)
    comparison = one(stock, ours)
    assert marks(comparison, "ops_per_second") == [Mark.NONE, Mark.SAME]
    assert any("different seeds" in note for note in comparison.notes)


@pytest.mark.parametrize("virtual_time", [True, False])
def test_fewer_than_five_boots_prove_nothing(virtual_time: bool) -> None:
    def mark(boots: int) -> Mark | None:
        kernels = {"6.12": 100.0, "6.12+next": 185.0}
        values = {kernel: {"ops_per_second": [v] * boots} for kernel, v in kernels.items()}
        return marks(one(make_run(values, virtual_time=virtual_time)), "ops_per_second")[1]

    assert [mark(boots) for boots in (1, 4, 5)] == [Mark.NONE, Mark.NONE, Mark.BETTER]


def test_everything_adds_the_counters_that_differ() -> None:
    values = {
        "6.12": {"ops_per_second": [1.0], "pgscan": [5.0], "pgfault": [7.0]},
        "6.12+next": {"ops_per_second": [1.0], "pgscan": [6.0], "pgfault": [7.0], "new": [0.0]},
    }
    names = [row.metric for row in one(make_run(values), everything=True).rows]
    assert names == ["ops_per_second", "new", "pgscan"]
    assert [row.metric for row in one(make_run(values)).rows] == ["ops_per_second"]


def test_files_with_the_same_kernel_are_kept_apart() -> None:
    before, after = (make_run({"6.12": {"ops_per_second": [v] * 5}}) for v in (100.0, 120.0))
    comparison = one(before, after)
    assert labels(comparison) == ["6.12 [file0]", "6.12 [file1]"]
    assert marks(comparison, "ops_per_second") == [Mark.NONE, Mark.BETTER]


def test_runs_of_one_name_are_numbered() -> None:
    run = make_run({"6.12": {"ops_per_second": [1.0]}})
    (comparison,) = compare([Named("x", run), Named("x", run)])
    assert labels(comparison) == ["6.12 [x]", "6.12 [x] #2"]


def test_experiments_and_machines_are_not_mixed() -> None:
    values = {"6.12": {"ops_per_second": [1.0]}}
    runs = [
        make_run(values),
        make_run(values, experiment="ycsb-b"),
        make_run(values, options={"memory": "4G"}),
        make_run(values),
    ]
    comparisons = compare([Named(str(number), run) for number, run in enumerate(runs)])
    assert [(c.experiment, len(c.columns)) for c in comparisons] == [
        ("ycsb-a", 2),
        ("ycsb-b", 1),
        ("ycsb-a", 1),
    ]


def test_partial_results_are_compared_and_named() -> None:
    run = make_run(
        {"6.12": {"ops_per_second": [1.0, 1.0]}, "6.12+next": {"ops_per_second": [2.0]}},
        boots=3,
    )
    comparison = one(run)
    assert "6.12: 2 of 3 boots" in comparison.notes
    assert "6.12+next: 1 of 3 boots" in comparison.notes
    assert marks(comparison, "ops_per_second")[1] is Mark.NONE
    assert "1 or 2 boots of each kernel" in tables.title(comparison)


def test_a_kernel_without_a_boot_has_empty_cells() -> None:
    run = make_run({"6.12": {"ops_per_second": [1.0]}, "7.3": {"ops_per_second": []}})
    assert marks(one(run), "ops_per_second") == [Mark.NONE, None]
    for form in tables.FORMATS:
        assert "7.3" in tables.render([one(run)], form) or form == "csv"


def test_problems_missing_metrics_and_outliers_are_noted() -> None:
    run = make_run(
        {"6.12": {"ops_per_second": [5.0, 5.0, 5.0, 5.0, 9.0]}},
        problems=[f"trouble {number}" for number in range(8)],
    )
    notes = one(run).notes
    assert "not reported by any kernel: workingset_refault_file" in notes
    assert "6.12 boot 0: trouble 0" in notes
    assert "and 3 more problems" in notes
    assert "6.12 boot 4 lies far from the others in ops_per_second" in notes


@pytest.fixture
def shown() -> Comparison:
    base = [30_000.0, 30_000.0, 33_000.0, 36_000.0, 36_000.0]
    return one(
        make_run(
            {
                "6.12": {"ops_per_second": base, "workingset_refault_file": [0.0] * 5},
                "6.12+next": {
                    "ops_per_second": [
                        v * r for v, r in zip(base, (1.8, 1.8, 1.9, 2.0, 2.0), strict=True)
                    ],
                    "workingset_refault_file": [12.345] * 5,
                },
            }
        )
    )


def test_the_table_for_people(shown: Comparison) -> None:
    text = tables.render([shown], "table", width=100)
    for part in (
        "ycsb-a: 5 boots of each kernel on uml (virtual time), seed 1; ratios to 6.12",
        "ops_per_second ↑",
        "file refaults ↓",
        "62,700  1.90x +",
        "1.80..2.00",
        "12.35  -",
        "1.28x",
        "virtual time:",
        "+ better, - worse",
    ):
        assert part in text
    assert "\x1b" not in text
    assert "\x1b" in tables.render([shown], "table", width=100, colour=True)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_table_keeps_within_the_terminal(shown: Comparison, width: int) -> None:
    lines = tables.table(shown, width=width).splitlines()
    grid = [line for line in lines if "ops_per_second" in line or "──" in line]
    assert grid
    assert all(len(line) <= width for line in grid)


def test_real_time_is_not_called_virtual() -> None:
    run = make_run({"6.12": {"ops_per_second": [1.0]}}, virtual_time=False)
    text = tables.render([one(run)], "table")
    assert "real time" in text
    assert "virtual" not in text


def test_markdown(shown: Comparison) -> None:
    lines = tables.render([shown], "markdown").splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert table[0] == "| metric | 6.12 (baseline) | 6.12+next | published |"
    assert table[1] == "| --- | ---: | ---: | ---: |"
    assert table[2] == "| ops_per_second ↑ | 33,000 | 62,700 (**1.90x +**, 1.80..2.00) | 1.28x |"
    assert table[3] == "| file refaults ↓ | 0 | 12.35 (**-**) |  |"
    assert [lines[1], lines[2 + len(table)]] == ["", ""]  # Markdown wants them around a table


def test_csv(shown: Comparison) -> None:
    rows = list(csv.DictReader(io.StringIO(tables.render([shown], "csv"))))
    assert len(rows) == 4
    ours = rows[1]
    assert (ours["metric"], ours["kernel"], ours["baseline"]) == (
        "ops_per_second",
        "6.12+next",
        "6.12",
    )
    assert float(ours["ratio"]) == 1.9
    assert ours["mark"] == "better"
    assert [float(value) for value in ours["values"].split(";")] == [
        54_000,
        54_000,
        62_700,
        72_000,
        72_000,
    ]
    assert (ours["published_before"], ours["published_after"]) == ("62485.0", "79761.0")
    assert rows[3]["ratio"] == ""


def test_json(shown: Comparison) -> None:
    (document,) = json.loads(tables.render([shown], "json"))
    assert document["baseline"] == "6.12"
    assert document["virtual_time"] is True
    ours = document["metrics"][0]["kernels"]["6.12+next"]
    assert ours["ratio"] == 1.9
    assert ours["interval"]["low"] == pytest.approx(1.8)
    assert ours["mark"] == "better"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (12, "12"), (1234567.8, "1,234,568"), (0.012345, "0.01235"), (999.94, "999.9")],
)
def test_numbers_for_people(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        *((1.854, "1.85x"), (0.5, "0.50x"), (39.2, "39.20x"), (1234, "1,234x")),
        *((0.0123, "0.012x"), (8e-5, "<0.001x")),
    ],
)
def test_ratios_for_people(ratio: float, text: str) -> None:
    assert tables.times(ratio) == text


def test_files_are_named_after_themselves(tmp_path: Path) -> None:
    run = make_run({"6.12": {"ops_per_second": [1.0]}})
    save([run, run], tmp_path / "two.json")
    assert [named.name for named in load_named([tmp_path / "two.json"])] == ["two", "two"]


def same_seed(*metrics: Mapping[str, float], kernel: str = "6.12") -> RunResult:
    run = make_run({kernel: {"x": [0.0] * len(metrics)}})
    records = [
        record.model_copy(update={"seed": 1, "metrics": dict(figures)})
        for record, figures in zip(run.raw, metrics, strict=True)
    ]
    return RunResult.from_boots(run, records)


def test_spread_of_boots_with_one_seed() -> None:
    run = same_seed({"a": 100.0, "b": 5.0}, {"a": 101.0, "b": 5.0}, {"a": 102.0, "b": 5.0})
    found = selftest.spread([run])
    assert [(item.metric, item.relative) for item in found] == [("a", 2 / 101), ("b", 0.0)]
    assert selftest.widest(found) == 2 / 101
    assert selftest.widest(found, ["b"]) == 0.0
    text = selftest.render(found)
    assert "1.980%" in text
    assert "1 of 2 metrics are the same to the bit in 3 boots" in text


def test_spread_over_files_and_by_kernel() -> None:
    runs = [same_seed({"a": 1.0}), same_seed({"a": 2.0}), same_seed({"a": 5.0}, kernel="7.3")]
    (found,) = selftest.spread(runs)
    assert (found.kernel, found.values) == ("6.12", (1.0, 2.0))


def test_a_metric_that_a_boot_lacks_has_no_bound() -> None:
    (found,) = selftest.spread([same_seed({"a": 1.0}, {})])
    assert found.relative == float("inf")
    assert "a" in selftest.render([found])


def test_no_two_boots_with_one_seed_have_no_spread() -> None:
    run = make_run({"6.12": {"ops_per_second": [1.0, 1.0]}})
    with pytest.raises(UsageError, match="at least two boots"):
        selftest.spread([run])


def test_identical_boots_need_no_table() -> None:
    found = selftest.spread([same_seed({"a": 1.0}, {"a": 1.0})])
    assert selftest.render(found) == "1 of 1 metrics are the same to the bit in 2 boots\n"
