# SPDX-License-Identifier: GPL-2.0-only
"""What the selftests of kernels gave, as JSON: runs in, a document out."""

from __future__ import annotations

from collections.abc import Sequence

from mglru.checks.selftests.run import CaseRow, KernelRun, compare, new_problems


def to_document(runs: Sequence[KernelRun]) -> dict[str, object]:
    """Return runs as JSON's values."""
    rows = compare(runs)
    return {
        "kernels": [{"kernel": run.kernel, "release": run.release} for run in runs],
        "cases": [
            {
                "program": row.program,
                "case": row.case,
                "results": {
                    run.kernel: result for run, result in zip(runs, row.results, strict=True)
                },
                "regressed": row.regressed,
            }
            for row in rows
        ],
        "problems": {run.kernel: list(run.problems) for run in runs},
        "passed": passed(runs, rows),
    }


def passed(runs: Sequence[KernelRun], rows: Sequence[CaseRow]) -> bool:
    """Whether no kernel is worse than the first, and something was run."""
    return bool(rows) and not any(row.regressed for row in rows) and not new_problems(runs)
