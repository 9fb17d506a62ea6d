# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own unit tests, at a real boot."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from mglru.checks.ci import KUNIT_KERNEL
from mglru.checks.kunit import (
    PARSER,
    Status,
    read_ktap,
    run_kunit,
)
from mglru.cli.kernel.kernel import kernel as kernel_command
from mglru.core.ui import Ui
from mglru.run.session import Session
from mglru.source.kernel_id import KernelId
from mglru.source.trees import Source, cached
from support.guests import kernel_build
from support.kunit_reports import report, shown
from support.places import LOGS

pytestmark = pytest.mark.guest


@pytest.fixture
def source() -> Source:
    found = cached("6.12")
    assert found, "the source of 6.12 is missing: run ./mglru test"
    return found


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


def test_the_suites_of_the_patched_kernel_pass(quiet: Ui) -> None:
    kernel_build(KUNIT_KERNEL)
    kernel = KernelId.parse(KUNIT_KERNEL)
    found = run_kunit(Session([kernel], (), quiet, needed={}), kernel)
    assert found.problems == ()
    assert found.passed, shown(found)
    names = {suite.name for suite in found.suites}
    assert {"list-kunit-test", "bitfields", "example"} <= names
    assert len(found.cases) > 50
    example = next(suite for suite in found.suites if suite.name == "example")
    status = {one.name: one.status for one in example.tests}
    assert status["example_skip_test"] == Status.SKIPPED
    assert any(len(one.tests) > 1 for one in example.tests), "a case with parameters"


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


def test_it_fails_if_no_suite_ran(tmp_path: Path) -> None:
    kernel_build(KUNIT_KERNEL)
    file = tmp_path / "report.json"
    command = ["kunit", "--only", "no-such-suite", "--json", str(file)]
    outcome = CliRunner().invoke(kernel_command, command, standalone_mode=False)
    assert outcome.return_value == 1
    assert "no suite ran" in outcome.stdout
    assert json.loads(file.read_text())["passed"] is False
