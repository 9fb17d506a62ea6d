# SPDX-License-Identifier: GPL-2.0-only
"""The forms of a comparison that are made of all runs together, as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mglru.core.errors import UsageError
from mglru.report import overview
from mglru.results.model import RunResult
from mglru.study.suite import table as suite_table
from mglru.study.suite.harm import ALLOWED, harm, judged_kernel


def suite_text(runs: Sequence[RunResult]) -> str:
    """Return the table of a suite as Markdown.

    Raises:
        UsageError: a run has no stock kernel, or they do not judge one kernel.
    """
    subjects = {judged_kernel(run.kernels)[0] for run in runs}
    if len(subjects) > 1:
        raise UsageError(
            f"the runs judge several kernels: {', '.join(sorted(subjects))}",
            next_step="give the files of one suite",
        )
    return suite_table.markdown(harm(runs), subject=subjects.pop(), allowed=ALLOWED)


OF_ALL: Mapping[str, Callable[[Sequence[RunResult]], str]] = {
    "suite": suite_text,
    "overview": overview.render,
    "headline": overview.headline,
}
"""What makes the text of each, by the form's name."""
