# SPDX-License-Identifier: GPL-2.0-only
"""KUnit suites: their kernel, their log, and what a user sees of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.checks.kunit import (
    KunitOutcome,
    Status,
    read_ktap,
    with_suites,
)
from mglru.core.errors import LabError, UsageError
from mglru.source.kernel_id import KernelId
from mglru.source.trees import Source, cached
from support.kunit_reports import report, shown


def case(name: str, status: Status = Status.SUCCESS, *log: str) -> KunitOutcome:
    return KunitOutcome(name=name, status=status, log=log)


GOOD = KunitOutcome(
    name="list", status=Status.SUCCESS, tests=(case("add"), case("old", Status.SKIPPED))
)
BAD = KunitOutcome(
    name="tiers",
    status=Status.FAILURE,
    log=("# tiers: pass:1 fail:1",),
    tests=(
        case("zero"),
        case("wrap", Status.FAILURE, "# wrap: EXPECTATION FAILED at mm/x.c:7", "Expected 3 == 4"),
    ),
)


def test_the_name_of_a_kernel_with_suites() -> None:
    assert str(with_suites(KernelId.parse("6.12+next"))) == "6.12+next%kunit"
    assert str(with_suites(KernelId.parse("6.12%kunit"))) == "6.12%kunit"
    assert str(with_suites(KernelId.parse("6.12%LRU_GEN=n"))) == "6.12%LRU_GEN=n,kunit"
    with pytest.raises(UsageError, match="before the multi-gen LRU") as caught:
        with_suites(KernelId.parse("6.12@classic"))
    assert caught.value.next_step == "./mglru kernel kunit 6.12"


def test_what_passes() -> None:
    assert report(GOOD).passed
    assert not report().passed
    assert not report(GOOD, BAD).passed
    assert not report(GOOD, problems=("console: a warning",)).passed
    assert not report(KunitOutcome(name="dead", status=Status.TEST_CRASHED)).passed
    # The suite says that it is well, one of its cases that it is not.
    assert not report(GOOD.model_copy(update={"tests": BAD.tests})).passed


def test_a_table_of_suites_that_passed() -> None:
    lines = shown(report(GOOD))
    assert [line.split() for line in lines[:3]] == [
        ["suite", "case", "result"],
        ["list", "add", "passed"],
        ["list", "old", "skipped"],
    ]
    assert lines[3:] == ["6.12%kunit: 1 suites, 2 cases: 1 passed, 1 skipped"]


def test_a_failure_is_shown_in_the_kernels_words() -> None:
    lines = shown(report(GOOD, BAD, problems=("log: /somewhere",)))
    assert "tiers: # wrap: EXPECTATION FAILED at mm/x.c:7" in lines
    assert "tiers: Expected 3 == 4" in lines
    assert "tiers: # tiers: pass:1 fail:1" in lines
    assert not any("zero:" in line for line in lines)
    assert lines[-2:] == [
        "log: /somewhere",
        "6.12%kunit: 2 suites, 4 cases: 2 passed, 1 skipped, 1 FAILED",
    ]


def test_a_case_that_the_kernel_did_not_survive_has_no_name() -> None:
    dead = KunitOutcome(
        name="list", status=Status.TEST_CRASHED, tests=(case("", Status.TEST_CRASHED),)
    )
    lines = shown(report(dead))
    assert lines[1].split() == ["list", "(no", "result)", "crashed"]


def test_without_suites_that_is_said() -> None:
    assert shown(report(problems=("no KTAP",))) == ["no KTAP", "6.12%kunit: no suite ran"]


def test_a_source_without_the_parser_says_so(tmp_path: Path) -> None:
    (tmp_path / "console.log").write_text("KTAP version 1\n")
    with pytest.raises(LabError, match="with the parser of the kernel source") as caught:
        read_ktap(tmp_path / "console.log", tmp_path)
    assert "kunit_parser.py" in caught.value.next_step


@pytest.fixture
def source() -> Source:
    found = cached("6.12")
    assert found, "the source of 6.12 is missing: run ./mglru test"
    return found
