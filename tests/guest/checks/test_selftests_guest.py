# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's selftests, compiled from its patched source and run in a guest."""

from __future__ import annotations

import pytest

from mglru.checks.selftests.build import selftest_programs
from mglru.checks.selftests.run import TRIES, KernelRun, merge_runs, run_selftests
from mglru.checks.selftests.tap import WHOLE, Result
from mglru.core.ui import Ui
from mglru.run.session import Session
from support.guests import kernel_build

pytestmark = pytest.mark.guest
# The last one is skipped without zswap.
NAMES = ("cgroup/test_core", "cgroup/test_low", "cgroup/test_retain", "cgroup/test_zswap")


def results(run: KernelRun, program: str) -> dict[str, Result]:
    return {case.name: case.result for case in run.cases[program]}


def test_the_series_has_selftests_and_they_pass(quiet: Ui) -> None:
    """The kernel of the experiments will do: what it lacks is skipped.

    In real time a case may fail once, where the host has other things to do; what always fails
    is a failure, as for `./mglru kernel selftests`.
    """
    build = kernel_build("6.12+next")
    programs = selftest_programs(build.recipe, NAMES, quiet)
    assert tuple(programs) == NAMES
    kernel = build.recipe.kernel
    session = Session([kernel], (), quiet, needed={})
    run = run_selftests(session, kernel, programs)
    for _ in range(TRIES - 1):
        failed = [name for name in NAMES if Result.FAILED in results(run, name).values()]
        if failed:
            again = run_selftests(session, kernel, {name: programs[name] for name in failed})
            run = merge_runs(run, again)
    assert run.problems == ()
    assert list(run.cases) == list(NAMES)
    for name in NAMES[:-1]:
        found = results(run, name)
        assert len(found) >= 3, run.output
        assert Result.PASSED in found.values()
        assert Result.FAILED not in found.values(), run.output
    # Without zswap, all of it.
    assert {case.result for case in run.cases[NAMES[-1]]} == {Result.SKIPPED}
    assert WHOLE not in {case.name for case in run.cases[NAMES[0]]}
