# SPDX-License-Identifier: GPL-2.0-only
"""What kselftests print, and how it is compared."""

from __future__ import annotations

import json

import pytest
from rich.console import Console

from mglru.checks.selftests.document import passed, to_document
from mglru.checks.selftests.run import (
    PROGRAMS,
    KernelRun,
    choose,
    compare,
    merge_runs,
    new_problems,
    read_output,
    with_selftests,
)
from mglru.checks.selftests.tap import WHOLE, Case, Result, read_program
from mglru.cli.kernel.selftests import show
from mglru.core.errors import UsageError
from mglru.source.kernel_id import KernelId

OUTPUT = """\
TAP version 13
1..5
# a remark
ok 1 test_one
not ok 2 test_two
ok 3 test_three # SKIP no swap
ok 4 # SKIP of the older kind
ok 5 - with a dash
"""


def results(output: str, status: int | None) -> list[tuple[str, str]]:
    return [(case.name, str(case.result)) for case in read_program(output, status)]


def test_cases() -> None:
    assert results(OUTPUT, 1) == [
        ("test_one", "pass"),
        ("test_two", "fail"),
        ("test_three", "skip"),
        ("of the older kind", "skip"),
        ("with a dash", "pass"),
    ]


def test_expected_failures_and_names_that_come_twice() -> None:
    text = "not ok 1 a # XFAIL known\nok 2 a\nok 3 a\n"
    assert results(text, 0) == [("a", "pass"), ("a (2)", "pass"), ("a (3)", "pass")]


@pytest.mark.parametrize(
    ("output", "status", "whole"),
    [
        ("no TAP\n", 0, "pass"),
        ("", 4, "skip"),
        ("", 1, "fail"),
        ("", 124, "fail"),
        ("", None, "fail"),
        ("ok 1 a\n", 0, None),
        ("ok 1 a\nnot ok 2 b\n", 1, None),
        # It says that all is well, and dies.
        ("ok 1 a\n", 139, "fail"),
        ("ok 1 a\nnot ok 2 b\n", 124, "fail"),
        ("ok 1 a\n", None, "fail"),
    ],
)
def test_the_program_as_a_whole(output: str, status: int | None, whole: str | None) -> None:
    found = dict(results(output, status))
    assert found.get(WHOLE) == whole


def test_sections_of_a_guest_that_died() -> None:
    output = (
        "\n@@selftest begin cgroup/test_core\nok 1 a\n\n@@selftest end cgroup/test_core 0\n"
        "\n@@selftest begin cgroup/test_kmem\nok 1 b\n"
    )
    found = dict(read_output(output, ("cgroup/test_core", "cgroup/test_kmem", "mm/cow")))
    assert found == {
        "cgroup/test_core": (Case("a", Result.PASSED),),
        "cgroup/test_kmem": (Case("b", Result.PASSED), Case(WHOLE, Result.FAILED)),
        "mm/cow": (Case(WHOLE, Result.FAILED),),
    }


def a_run(kernel: str, *problems: str, **cases: str) -> KernelRun:
    found = {"cgroup/test_core": tuple(Case(n, Result(r)) for n, r in cases.items())}
    return KernelRun(kernel, f"{kernel}-release", found, problems, "")


@pytest.mark.parametrize(
    ("stock", "patched", "fine"),
    [
        ({"a": "pass"}, {"a": "pass"}, True),
        ({"a": "pass"}, {"a": "fail"}, False),
        ({"a": "pass"}, {"a": "skip"}, False),
        ({"a": "pass"}, {}, False),
        ({"a": "fail"}, {"a": "fail"}, True),
        ({"a": "skip"}, {"a": "fail"}, True),
        ({"a": "pass"}, {"a": "pass", "new": "pass"}, True),
        ({"a": "pass"}, {"a": "pass", "new": "fail"}, False),
        ({}, {}, False),
    ],
)
def test_what_is_worse(stock: dict[str, str], patched: dict[str, str], fine: bool) -> None:
    runs = [a_run("6.12", **stock), a_run("6.12+next", **patched)]
    assert passed(runs, compare(runs)) == fine
    assert to_document(runs)["passed"] == fine


def test_what_is_not_the_same_in_every_try_is_flaky() -> None:
    first = a_run("6.12", "console: A", a="pass", b="pass", c="fail")
    run = merge_runs(first, a_run("6.12", "console: B", a="pass", b="fail", d="pass"))
    found = {case.name: str(case.result) for case in run.cases["cgroup/test_core"]}
    assert found == {"a": "pass", "b": "flaky", "c": "flaky", "d": "flaky"}
    assert run.problems == ("console: A", "console: B")
    # Neither is it worse to be flaky where stock passes, nor to fail where stock is flaky.
    runs = [a_run("6.12", a="pass", b="flaky"), a_run("6.12+next", a="flaky", b="fail")]
    assert passed(runs, compare(runs))


def test_programs_that_were_not_tried_again_stay() -> None:
    first = a_run("6.12", a="pass")
    assert merge_runs(first, KernelRun("6.12", "", {}, (), "")).cases == first.cases


def test_complaints_of_the_kernel() -> None:
    runs = [a_run("6.12", "console: A", a="pass"), a_run("6.12+next", "console: A", a="pass")]
    assert passed(runs, compare(runs))
    runs[1] = a_run("6.12+next", "console: A", "console: BUG", "logs: /there", a="pass")
    assert new_problems(runs) == ["6.12+next: console: BUG"]
    assert not passed(runs, compare(runs))


def test_table_and_document() -> None:
    runs = [a_run("6.12", a="pass", b="skip"), a_run("6.12+next", a="fail", b="skip")]
    console = Console(width=100, record=True, file=None, quiet=False)
    with console.capture() as capture:
        show(runs, console, everything=False)
    said = capture.get()
    assert "1 pass, 1 skip" in said
    assert "cgroup/test_core: a: 6.12 pass, 6.12+next FAIL" in said
    assert "2 cases, 1 worse than on 6.12" in said
    document = json.loads(json.dumps(to_document(runs)))
    assert document["cases"][0] == {
        "program": "cgroup/test_core",
        "case": "a",
        "results": {"6.12": "pass", "6.12+next": "fail"},
        "regressed": True,
    }


def test_choice_of_programs() -> None:
    assert choose(()) == PROGRAMS
    assert choose(("test_core", "mm/cow")) == ("cgroup/test_core", "mm/cow")
    assert all(name.startswith("cgroup/") for name in choose(("cgroup",)))
    with pytest.raises(UsageError, match="no such selftest") as error:
        choose(("nonsense",))
    assert "cgroup/test_core" in error.value.next_step


def test_kernels_with_selftests() -> None:
    kernel = with_selftests(KernelId.parse("6.12+next"))
    assert str(kernel) == "6.12+next%selftests"
    assert with_selftests(kernel) == kernel
