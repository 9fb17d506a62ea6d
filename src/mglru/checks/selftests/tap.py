# SPDX-License-Identifier: GPL-2.0-only
"""Reading what kselftests print: TAP lines, or nothing but an exit status.

Not with the kernel's own parser, which reads what KUnit prints (`checks/ktap.py`): it finds nothing
without a `TAP version` line, which the programs of cgroups do not print; it does not see
`ok 4 # SKIP name`, which is how kselftest.h writes what was skipped; and it takes an expected
failure (XFAIL) for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

# Of the program as a whole, beside what it says of its cases.
WHOLE = "(the program)"
# tools/testing/selftests/kselftest.h: KSFT_SKIP; coreutils' timeout; and a program not there.
SKIP_STATUS = 4
TIMEOUT_STATUS = 124
_CASE = re.compile(
    r"^(?P<failed>not )?ok \d+[ -]*(?P<name>.*?)\s*(?:# (?P<how>SKIP|XFAIL|XPASS)\b(?P<more>.*))?$"
)


class Result(StrEnum):
    """How a case ended."""

    PASSED = "pass"
    FAILED = "fail"
    SKIPPED = "skip"
    FLAKY = "flaky"  # not the same in every try


@dataclass(frozen=True)
class Case:
    """One case of a program.

    Attributes:
        name: in the program's words.
        result: how it ended.
    """

    name: str
    result: Result


_FLAKY = Result.FLAKY


def read_program(output: str, status: int | None) -> tuple[Case, ...]:
    """Return the cases of a program's output; names that come twice are numbered.

    Args:
        output: what it printed.
        status: its exit status; None if it never ended.
    """
    cases = list(_numbered(_cases(output)))
    whole = _whole(status, cases)
    return (*cases, *([Case(WHOLE, whole)] if whole else []))


def merge_tries(one: Sequence[Case], other: Sequence[Case]) -> tuple[Case, ...]:
    """Return the cases of two tries of a program; what differs, or is in one only, is flaky."""
    first, second = ({case.name: case.result for case in cases} for cases in (one, other))
    return tuple(
        Case(name, result if (result := first.get(name)) == second.get(name) and result else _FLAKY)
        for name in dict.fromkeys((*first, *second))
    )


def _cases(output: str) -> Iterator[Case]:
    for line in output.splitlines():
        match = _CASE.match(line.rstrip())
        if not match:
            continue
        result = Result.FAILED if match["failed"] else Result.PASSED
        if match["how"] == "SKIP":
            result = Result.SKIPPED
        elif match["how"] == "XFAIL":
            result = Result.PASSED
        # Older programs write `ok 3 # SKIP name`.
        yield Case(match["name"] or (match["more"] or "").strip(), result)


def _numbered(cases: Iterator[Case]) -> Iterator[Case]:
    seen: dict[str, int] = {}
    for case in cases:
        number = seen[case.name] = seen.get(case.name, 0) + 1
        yield case if number == 1 else Case(f"{case.name} ({number})", case.result)


def _whole(status: int | None, cases: list[Case]) -> Result | None:
    """Return how the program itself ended, where its cases do not say it."""
    failed = any(case.result == Result.FAILED for case in cases)
    if status == SKIP_STATUS:
        return None if cases else Result.SKIPPED
    if status == 0:
        return None if cases else Result.PASSED
    # What fails in a case makes the program exit with 1.
    return None if failed and status == 1 else Result.FAILED
