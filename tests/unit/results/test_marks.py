# SPDX-License-Identifier: GPL-2.0-only
"""The rules of verdicts: better or worse, the baseline, two humps, another state of the series."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mglru.core import stats
from mglru.report import page
from mglru.report.inputs import ReportInputs
from mglru.results import tables
from mglru.results.baseline import baseline_of
from mglru.results.compare import Comparison, Named, compare
from mglru.results.humps import two_humps
from mglru.results.marks import MIN_PAIRS, Mark, judge
from mglru.results.model import Headline, RunResult
from mglru.series.listing import load_series
from mglru.series.state import FOOTNOTE, is_of_another_state
from support.made_runs import made_run

CLASSIC, STOCK, NEXT = "6.12@classic", "6.12", "6.12+next"
OPS = Headline(name="ops_per_second", better="higher")


def interval(low: float, high: float) -> stats.Interval:
    return stats.Interval(low, high, exact=low == high)


@pytest.mark.parametrize(
    ("value", "baseline", "of_ratio", "better", "mark"),
    [
        (110, 100, interval(1.1, 1.1), "higher", Mark.BETTER),
        (110, 100, interval(1.05, 1.3), "lower", Mark.WORSE),
        (90, 100, interval(0.8, 0.95), "lower", Mark.BETTER),
        (90, 100, interval(0.8, 0.95), "higher", Mark.WORSE),
        (100.5, 100, interval(1.004, 1.006), "higher", Mark.SAME),
        (100.6, 100, interval(1.006, 1.006), "higher", Mark.BETTER),
        (110, 100, interval(0.9, 1.3), "higher", Mark.SAME),
        (110, 100, interval(1.1, 1.1), None, Mark.NONE),
        (100, 100, interval(1, 1), None, Mark.SAME),
        (0, 0, None, "lower", Mark.SAME),
        (3, 0, None, "lower", Mark.WORSE),
        (3, 0, None, "higher", Mark.BETTER),
    ],
)
def test_what_is_called_better(
    value: float, baseline: float, of_ratio: stats.Interval | None, better: str, mark: Mark
) -> None:
    found = judge([value] * 5, [baseline] * 5, of_ratio, better, pairs=MIN_PAIRS)
    assert found is mark
    assert judge([value], [baseline], of_ratio, better, pairs=MIN_PAIRS - 1) is Mark.NONE


def test_a_baseline_that_is_sometimes_zero_takes_values_that_are_apart() -> None:
    stock = [0.0, 0.0, 0.0, 5.0, 5.0]
    assert judge([0, 0, 1, 1, 5], stock, None, "lower", pairs=5) is Mark.SAME
    assert judge([6, 7, 8, 9, 9], stock, None, "lower", pairs=5) is Mark.WORSE


@pytest.mark.parametrize(
    ("kernels", "chosen", "baseline"),
    [
        ([CLASSIC, STOCK, NEXT], "", STOCK),
        ([CLASSIC, STOCK, NEXT], CLASSIC, CLASSIC),
        ([CLASSIC, NEXT], "", CLASSIC),
        (["6.12%xfs@classic", "6.12%xfs", "6.12+next%xfs"], "", "6.12%xfs"),
    ],
)
def test_one_baseline_in_json_tables_and_pages(
    kernels: list[str], chosen: str, baseline: str
) -> None:
    values = {name: {"ops_per_second": [float(at + 1)]} for at, name in enumerate(kernels)}
    run = made_run(values, headline=[OPS], experiment="ycsb-b").model_copy(
        update={"baseline": chosen}
    )
    assert baseline_of(kernels, chosen) == baseline
    json_ratios = {k: figure.ratio for k, figure in run.metrics["ops_per_second"].items()}
    assert json_ratios[baseline] == 1.0
    (comparison,) = compare([Named("x", run)])
    assert comparison.columns[comparison.baseline].kernel == baseline
    assert {
        c.kernel: cell.ratio
        for c, cell in zip(comparison.columns, comparison.rows[0].cells, strict=True)
        if cell
    } == json_ratios
    made = page.make_page(ReportInputs([Named("x", run)]), title="t")
    assert made.summary.baseline == baseline


def test_files_that_chose_otherwise_fall_back_to_stock() -> None:
    runs = [
        made_run({name: {"ops_per_second": [1.0]} for name in (CLASSIC, STOCK)}).model_copy(
            update={"baseline": chosen}
        )
        for chosen in (CLASSIC, "")
    ]
    (comparison,) = compare([Named(str(at), run) for at, run in enumerate(runs)])
    assert comparison.columns[comparison.baseline].kernel == STOCK


@pytest.mark.parametrize(
    ("values", "humps"),
    [
        ([35.1, 60.2, 35.0, 60.9, 35.3], ([35.0, 35.1, 35.3], [60.2, 60.9])),
        ([10, 11, 12, 13, 14], None),
        # One that is far away is an outlier, not a hump.
        ([10, 10, 10, 10, 90], None),
        # Too few; and a gap too narrow to matter.
        ([35, 35, 60, 60], None),
        ([100, 100, 101, 101, 101], None),
        ([7.0] * 5, None),
    ],
)
def test_two_humps(
    values: Sequence[float], humps: tuple[Sequence[float], Sequence[float]] | None
) -> None:
    found = two_humps(values)
    assert (found and (list(found.low), list(found.high))) == humps


def shown(run: RunResult) -> Comparison:
    return compare([Named("x", run)])[0]


def test_humps_are_shown_below_the_table() -> None:
    run = made_run(
        {
            STOCK: {"ops_per_second": [35.1, 60.2, 35, 60.9, 35.3]},
            NEXT: {"ops_per_second": [9] * 5},
        },
        headline=[OPS],
    )
    note = "6.12: two humps in ops_per_second: 35..35.3 in 3 boots, 60.2..60.9 in 2 boots"
    assert note in shown(run).notes


def test_results_of_another_state_say_so_in_the_table() -> None:
    values = {STOCK: {"ops_per_second": [1.0]}, NEXT: {"ops_per_second": [2.0]}}
    here = load_series("6.12").sha256
    old, new = (made_run(values, headline=[OPS], series=s) for s in ("5" * 64, here))
    assert is_of_another_state(NEXT, "5" * 64)
    assert not is_of_another_state(STOCK, None)
    assert not is_of_another_state(NEXT, here)
    assert "| 6.12+next † |" in tables.markdown(shown(old))
    assert FOOTNOTE in tables.table(shown(old))
    assert "†" not in tables.markdown(shown(new))
    assert "6.12+next,,6.12.117" not in tables.to_csv([shown(old)])
    assert ",true," in tables.to_csv([shown(old)])
