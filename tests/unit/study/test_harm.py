# SPDX-License-Identifier: GPL-2.0-only
"""The worst ratio of each family: to which kernel, over seeds, of kills, and what is too little."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from mglru.core.errors import UsageError
from mglru.results.model import Headline
from mglru.study.suite import table as suite_table
from mglru.study.suite.harm import harm, judged_kernel, point_harm
from mglru.study.suite.measures import READ, SECONDS, TAIL, WRITTEN, figures
from support.made_runs import Values, made_run

CLASSIC, STOCK, NEW, NEXT = "6.12@classic", "6.12", "7.3", "6.12+next"
MB = 1024.0
SECONDS_LINE = Headline(name="back_seconds", better="lower")


def reads(stock: Sequence[float], new: Sequence[float], ours: Sequence[float]) -> Values:
    """Three kernels with pgpgin in MB."""
    columns = {STOCK: stock, NEW: new, NEXT: ours}
    return {name: {"pgpgin": [mb * MB for mb in column]} for name, column in columns.items()}


def test_the_ratio_is_to_the_better_of_the_stock_kernels() -> None:
    values = {CLASSIC: {"pgpgin": [10 * MB]}, **reads([100], [80], [160])}
    worst = point_harm(made_run(values))[READ]
    assert (worst.ratio, worst.reference, worst.metric) == (2.0, NEW, "pgpgin")


def test_the_worst_point_of_a_family_is_named_with_its_seed() -> None:
    far = made_run(reads([100, 100], [100, 100], [150, 170]), experiment="lagged:far", seed=7)
    near = made_run(reads([100, 100], [100, 100], [101, 101]), experiment="lagged:near")
    other = made_run(reads([100], [100], [100]), experiment="loop")
    first, second = harm([other, near, far])
    assert (first.family, first.points, second.family) == ("lagged", 2, "loop")
    worst = first.worst[READ]
    assert (worst.point, worst.ratio) == ("lagged:far", 1.6)
    assert (worst.worst_seed, worst.worst_ratio) == (8, 1.7)


@pytest.mark.parametrize(
    ("ours", "exceeds", "may"),
    [
        ([150], True, False),
        ([101], False, False),
        ([110, 109, 111, 110, 112], True, False),
        # Above in the median, but as often far below: chance.
        ([130, 80, 120, 70, 125], False, True),
        ([100, 101, 100, 99, 100], False, False),
    ],
)
def test_from_five_seeds_on_the_whole_interval_has_to_be_above(
    ours: list[float], exceeds: bool, may: bool
) -> None:
    same = [100.0] * len(ours)
    worst = point_harm(made_run(reads(same, same, ours)))[READ]
    assert (worst.exceeds(1.02), worst.may_exceed(1.02)) == (exceeds, may)


def test_what_is_too_little_to_matter_counts_as_the_floor() -> None:
    run = made_run(
        {
            STOCK: {"pgpgin": [4.0], "pgpgout": [0.0], "back_seconds": [1e-6], "x_p99_us": [2]},
            NEXT: {
                "pgpgin": [900.0],
                "pgpgout": [2 * MB],
                "back_seconds": [0.009],
                "x_p99_us": [81],
            },
        },
        headline=[SECONDS_LINE],
    )
    worst = point_harm(run)
    assert {measure: each.ratio for measure, each in worst.items()} == {
        READ: 1.0,
        WRITTEN: 2.0,
        SECONDS: 1.0,
        TAIL: 1.0,
    }


def test_a_rate_is_the_inverse_of_seconds() -> None:
    run = made_run(
        {STOCK: {"get_ops": [100.0]}, NEXT: {"get_ops": [50.0]}},
        headline=[Headline(name="get_ops", better="higher")],
    )
    assert point_harm(run)[SECONDS].ratio == 2.0
    stopped = made_run(
        {STOCK: {"get_ops": [100.0]}, NEXT: {"get_ops": [0.0]}},
        headline=[Headline(name="get_ops", better="higher")],
    )
    assert math.isinf(point_harm(stopped)[SECONDS].ratio)


def test_the_headline_decides_what_seconds_and_tails_are() -> None:
    metrics = {"elapsed_seconds": [1.0], "latency_p99_us": [500.0], "read_p999_us": [900.0]}
    plain = made_run({STOCK: metrics, NEXT: metrics})
    assert {f.metric for f in figures(plain)} == {"elapsed_seconds", "latency_p99_us"}
    said = made_run(
        {STOCK: metrics, NEXT: metrics}, headline=[Headline(name="read_p999_us", better="lower")]
    )
    assert {f.metric for f in figures(said)} == {"elapsed_seconds", "read_p999_us"}


def test_phases_of_one_job_are_judged_as_a_whole() -> None:
    metrics = {"elapsed_seconds": [1.0], "other_seconds": [0.9], "back_seconds": [0.1]}
    phases = [Headline(name=name, better="lower") for name in ("other_seconds", "back_seconds")]
    whole = [Headline(name="elapsed_seconds", better="lower"), *phases]
    both = {"other_seconds", "back_seconds"}
    for headline, judged in ((phases, both), (whole, {"elapsed_seconds"})):
        run = made_run({STOCK: metrics, NEXT: metrics}, headline=headline)
        assert {f.metric for f in figures(run)} == judged


@pytest.mark.parametrize(
    ("kills", "fails", "why"),
    [
        ({NEXT: [0, 1]}, True, "killed in 1 of 2 boots, 6.12 in 0"),
        ({NEXT: [1, 1], STOCK: [1, 0], NEW: [1, 0]}, True, "killed in 2 of 2 boots, 6.12 in 1"),
        ({NEXT: [1, 1], STOCK: [1, 1], NEW: [1, 1]}, False, ""),
        ({STOCK: [1, 1]}, False, ""),
        ({STOCK: [1, 0], NEW: [1, 0]}, False, ""),
    ],
)
def test_a_kill_that_stock_has_not_is_the_worst(
    kills: dict[str, list[float]], fails: bool, why: str
) -> None:
    values = {
        name: {"pgpgin": [100 * MB] * 2, "oom_kill": kills.get(name, [0, 0])}
        for name in (STOCK, NEW, NEXT)
    }
    worst = point_harm(made_run(values))[READ]
    assert math.isinf(worst.ratio) == fails == worst.exceeds(1000)
    assert worst.why == why


def test_a_kernel_of_stock_that_kills_is_no_reference() -> None:
    values = {
        STOCK: {"pgpgin": [MB * 10], "oom_kill": [1.0]},
        NEW: {"pgpgin": [MB * 100], "oom_kill": [0.0]},
        NEXT: {"pgpgin": [MB * 100], "oom_kill": [0.0]},
    }
    worst = point_harm(made_run(values))[READ]
    assert (worst.ratio, worst.reference) == (1.0, NEW)


def test_that_only_stock_kills_is_no_harm_and_said() -> None:
    values = {
        STOCK: {"pgpgin": [MB * 10], "oom_kill": [1.0]},
        NEXT: {"pgpgin": [MB * 100], "oom_kill": [0.0]},
    }
    found = harm([made_run(values)])
    assert not suite_table.failures(found, 1.02)
    assert "only stock kernels kill" in suite_table.render(found, subject=NEXT, allowed=1.02)


def test_a_failed_boot_is_the_worst_and_is_told_in_the_table() -> None:
    run = made_run(reads([100, 100], [100, 100], [100, 100]), problems={NEXT: [1]})
    found = harm([run])
    assert math.isinf(found[0].largest)
    text = suite_table.render(found, subject=NEXT, allowed=1.02, width=200)
    assert "fails !" in text
    assert "failed in 1 of 2 boots" in text
    assert suite_table.failures(found, 1.02)


def test_failing_boots_of_stock_are_noted_and_not_counted() -> None:
    run = made_run(reads([900], [100], [100]), problems={STOCK: [0]})
    found = harm([run])
    assert found[0].worst[READ].reference == NEW
    assert found[0].notes == ("lagged:far: 6.12 failed in 1 of 1 boots",)
    assert not suite_table.failures(found, 1.02)


def test_boots_that_all_fail_leave_nothing_to_compare() -> None:
    run = made_run(reads([100], [100], [100]), problems={STOCK: [0], NEW: [0], NEXT: [0]})
    found = harm([run])
    assert suite_table.failures(found, 1.02) == ["lagged:far: no figures to compare"]


def test_the_table_has_the_worst_family_first_and_says_what_it_counts() -> None:
    runs = [
        made_run(reads([100], [100], [102]), experiment="a"),
        made_run(reads([100], [100], [176]), experiment="b:far"),
    ]
    found = harm(runs)
    text = suite_table.render(found, subject=NEXT, allowed=1.02, width=200)
    assert text.index("1.76x !") < text.index("1.02x")
    assert "[far, pgpgin, to 6.12, seed 1]" in text
    assert "1 MB read or written" in text
    assert suite_table.failures(found, 1.02) == ["b: pages read above 1.02"]
    assert not suite_table.failures(found, 1.8)
    lines = suite_table.markdown(found, subject=NEXT, allowed=1.02).splitlines()
    assert lines[4].startswith("| b † | 1.76x ! [far, pgpgin, to 6.12, seed 1] |")


def test_a_kernel_is_judged_by_stock_kernels_only() -> None:
    assert judged_kernel([CLASSIC, STOCK, NEW, NEXT]) == (NEXT, [STOCK, NEW])
    with pytest.raises(UsageError, match="no stock kernel") as caught:
        judged_kernel([CLASSIC, NEXT])
    assert caught.value.next_step
