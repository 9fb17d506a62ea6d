# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's selftests, compiled from its patched source and run in a guest."""

from __future__ import annotations

import pytest

from mglru.checks.selftests.build import selftest_programs
from mglru.checks.selftests.run import run_selftests
from mglru.checks.selftests.tap import WHOLE, Result
from mglru.core.ui import Ui
from mglru.machine.registry import UML
from support.guests import kernel_build

pytestmark = pytest.mark.guest
# The last one is skipped without zswap.
NAMES = ("cgroup/test_core", "cgroup/test_low", "cgroup/test_retain", "cgroup/test_zswap")


def test_the_series_has_selftests_and_they_pass(quiet: Ui) -> None:
    """The kernel of the experiments will do: what it lacks is skipped."""
    build = kernel_build("6.12+next")
    programs = selftest_programs(build.recipe, NAMES, quiet)
    assert tuple(programs) == NAMES
    run = run_selftests(build, programs, UML)
    assert run.problems == ()
    assert list(run.cases) == list(NAMES)
    for name in NAMES[:-1]:
        found = {case.name: case.result for case in run.cases[name]}
        assert len(found) >= 3, run.output
        assert Result.PASSED in found.values()
        assert Result.FAILED not in found.values(), run.output
    # Without zswap, all of it.
    assert {case.result for case in run.cases[NAMES[-1]]} == {Result.SKIPPED}
    assert WHOLE not in {case.name for case in run.cases[NAMES[0]]}
