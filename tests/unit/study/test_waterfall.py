# SPDX-License-Identifier: GPL-2.0-only
"""mglru series waterfall: which kernels, and the table (the steps: see test_report.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.core.errors import ExitCode
from mglru.series.listing import load_series
from mglru.study.waterfall import table as waterfall_table
from mglru.study.waterfall.waterfall import make_waterfall, prefixes
from support import report_inputs
from support.command_line import run


def test_the_kernels_are_stock_each_prefix_and_the_whole() -> None:
    series = load_series("6.12")
    names = [str(kernel) for kernel in prefixes(series)]
    count = len(series.patches)
    assert names == ["6.12", *(f"6.12+next:{n}" for n in range(1, count)), "6.12+next"]


def test_parts_end_where_the_next_one_begins() -> None:
    series = load_series("6.12")
    kernels = prefixes(series, parts=True)
    parts = list(dict.fromkeys(patch.part for patch in series.patches))
    assert len(kernels) == 1 + len(parts)
    assert kernels[-1].upto is None
    ends = [kernel.upto or len(series.patches) for kernel in kernels[1:]]
    assert [series.patches[end - 1].part for end in ends] == parts
    assert all(series.patches[end].part != series.patches[end - 1].part for end in ends[:-1])


def test_a_table_has_a_row_and_a_bar_a_step() -> None:
    lines = waterfall_table.render(make_waterfall(report_inputs.waterfall_run())).splitlines()
    first = next(at for at, line in enumerate(lines) if line.strip().startswith("stock 6.12"))
    stock, part, one, three = (lines[first + at] for at in range(4))
    assert stock.split()[2] == "102"
    assert part.strip().startswith("part 1: ")
    assert one.split()[0] == "1"
    assert "112.2   1.10x +      1.10x" in one
    assert "2 patches" in three
    assert "123.4   1.10x +      1.21x" in three
    bars = [line.count(waterfall_table.FULL) for line in (stock, one, three)]
    assert bars == sorted(bars)
    assert bars[0] < bars[2] <= waterfall_table.BAR_WIDTH
    # Operations, then refaults, of which less is better.
    assert sum("stock 6.12" in line for line in lines) == 2
    assert "0.91x +" in "\n".join(lines[first + 10 :])


def test_the_metrics_that_are_wanted_are_shown() -> None:
    waterfall = make_waterfall(report_inputs.waterfall_run())
    text = waterfall_table.render(waterfall, [report_inputs.REFAULTS])
    assert text.count("stock 6.12") == 1
    assert report_inputs.REFAULTS in text


@pytest.mark.parametrize(
    ("value", "largest", "bar"),
    [(0, 1, ""), (None, 1, ""), (1, 0, ""), (8, 8, "█" * 24), (4, 8, "█" * 12), (0.01, 24, "")],
)
def test_bars(value: float | None, largest: float, bar: str) -> None:
    assert waterfall_table.bar(value, largest) == bar


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing argument"),
        (["nosuch"], "no experiment 'nosuch'"),
        (["ycsb-b", "--metric", "nosuch"], "it has ops_per_second"),
        (["ycsb-b", "--base", "7.3"], "the series is for 6.12 only"),
        (["ycsb-b", "--base", "x"], "'x+next' is not a kernel's name"),
        (["ycsb-b", "--boots", "0"], "0 is not in the range"),
    ],
)
def test_bad_input_is_said_before_anything_is_built(
    capsys: pytest.CaptureFixture[str], cache: Path, arguments: list[str], message: str
) -> None:
    del cache
    code, out, err = run(capsys, "series", "waterfall", *arguments)
    assert code == ExitCode.USAGE
    assert message in err
    assert out == ""
