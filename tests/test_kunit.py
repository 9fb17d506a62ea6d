# SPDX-License-Identifier: GPL-2.0-only
"""KUnit suites: their kernel, their log, and what a user sees of them."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from mglru.checks.ci import KUNIT_KERNEL
from mglru.checks.kunit import (
    PARSER,
    KunitReport,
    Outcome,
    Status,
    read_ktap,
    run_kunit,
    with_suites,
)
from mglru.cli.kernel.kernel import kernel as kernel_command
from mglru.cli.kernel.kunit import show
from mglru.core.errors import LabError, UsageError
from mglru.source.kernel_id import KernelId
from mglru.source.trees import Source, cached
from support.guests import kernel_build


def case(name: str, status: Status = Status.SUCCESS, *log: str) -> Outcome:
    return Outcome(name=name, status=status, log=log)


def report(*suites: Outcome, problems: tuple[str, ...] = ()) -> KunitReport:
    return KunitReport(kernel="6.12%kunit", release="6.12.0-x", suites=suites, problems=problems)


LOGS = Path(__file__).parent / "logs"
GOOD = Outcome(name="list", status=Status.SUCCESS, tests=(case("add"), case("old", Status.SKIPPED)))
BAD = Outcome(
    name="tiers",
    status=Status.FAILURE,
    log=("# tiers: pass:1 fail:1",),
    tests=(
        case("zero"),
        case("wrap", Status.FAILURE, "# wrap: EXPECTATION FAILED at mm/x.c:7", "Expected 3 == 4"),
    ),
)


def shown(what: KunitReport) -> list[str]:
    out = io.StringIO()
    show(what, Console(file=out, width=100, soft_wrap=True))
    return [line.rstrip() for line in out.getvalue().splitlines()]


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
    assert not report(Outcome(name="dead", status=Status.TEST_CRASHED)).passed
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
    dead = Outcome(name="list", status=Status.TEST_CRASHED, tests=(case("", Status.TEST_CRASHED),))
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


@pytest.mark.guest
@pytest.mark.parametrize(
    ("log", "bad", "lines", "error"),
    [
        (
            "test_is_test_passed-failure",
            ["example_simple_test"],
            ["EXPECTATION FAILED at lib/kunit/example-test.c:30", "Expected 1 + 1 == 3, but"],
            "",
        ),
        (
            "test_kernel_panic_interrupt",
            ["", ""],
            [],
            "string-stream-test: missing expected subtest",
        ),
        ("test_is_test_passed-no_tests_run_no_header", [], [], "Could not find any KTAP"),
        ("test_skip_tests", [], [], ""),
    ],
)
def test_recorded_logs_are_read_with_the_parser_of_the_kernel(
    source: Source, tmp_path: Path, log: str, bad: list[str], lines: list[str], error: str
) -> None:
    """The logs are those on which the kernel tests its parser."""
    shutil.copy(source.path / PARSER / "test_data" / f"{log}.log", tmp_path / "console.log")
    suites, errors = read_ktap(tmp_path / "console.log", source.path)
    failed = [one for suite in suites for one in suite.tests if not one.status.good]
    assert [one.name for one in failed] == bad
    said = "\n".join(line for one in failed for line in one.bad_lines())
    assert all(line in said for line in lines)
    assert bool(errors) == bool(error)
    assert error in " ".join(errors)
    # The pristine source stays as it is.
    assert not (source.path / PARSER / "__pycache__").exists()


@pytest.mark.guest
def test_a_boot_of_ours_in_which_a_case_failed(source: Source, tmp_path: Path) -> None:
    shutil.copy(LOGS / "kunit-failed.ktap", tmp_path / "console.log")
    suites, errors = read_ktap(tmp_path / "console.log", source.path)
    assert errors == ()
    found = report(*suites)
    assert not found.passed
    lines = shown(found)
    assert ["damon", "damon_test_ops_registration", "FAILED"] in [line.split() for line in lines]
    assert "damon:     Expected damon_select_ops(c, DAMON_OPS_VADDR) == 0, but" in lines
    assert lines[-1] == "6.12%kunit: 5 suites, 83 cases: 82 passed, 1 FAILED"


@pytest.mark.guest
def test_the_suites_of_the_patched_kernel_pass() -> None:
    found = run_kunit(kernel_build(KUNIT_KERNEL))
    assert found.problems == ()
    assert found.passed, shown(found)
    names = {suite.name for suite in found.suites}
    assert {"list-kunit-test", "bitfields", "example"} <= names
    assert len(found.cases) > 50
    example = next(suite for suite in found.suites if suite.name == "example")
    status = {one.name: one.status for one in example.tests}
    assert status["example_skip_test"] == Status.SKIPPED
    assert any(len(one.tests) > 1 for one in example.tests), "a case with parameters"


@pytest.mark.guest
def test_the_command_prints_json_and_runs_only_what_is_asked_for() -> None:
    kernel_build(KUNIT_KERNEL)
    outcome = CliRunner().invoke(
        kernel_command, ["kunit", "--only", "bitfields", "--json", "-"], standalone_mode=False
    )
    assert outcome.return_value == 0
    found = json.loads(outcome.stdout)
    assert [suite["name"] for suite in found["suites"]] == ["bitfields"]
    assert found["kernel"] == KUNIT_KERNEL
    assert found["passed"]


@pytest.mark.guest
def test_it_fails_if_no_suite_ran(tmp_path: Path) -> None:
    kernel_build(KUNIT_KERNEL)
    file = tmp_path / "report.json"
    command = ["kunit", "--only", "no-such-suite", "--json", str(file)]
    outcome = CliRunner().invoke(kernel_command, command, standalone_mode=False)
    assert outcome.return_value == 1
    assert "no suite ran" in outcome.stdout
    assert json.loads(file.read_text())["passed"] is False
