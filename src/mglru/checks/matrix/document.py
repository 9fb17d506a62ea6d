# SPDX-License-Identifier: GPL-2.0-only
"""What came of the configurations, as JSON: outcomes in, a document out."""

from __future__ import annotations

from collections.abc import Sequence

from mglru.checks.matrix.check import MatrixOutcome
from mglru.results.json_file import FileKind

KIND = FileKind("matrix", "./mglru series check --matrix --json FILE", format=1)


def to_document(base: str, version: str, outcomes: Sequence[MatrixOutcome]) -> dict[str, object]:
    """Return the outcomes as a JSON document."""
    return KIND.document(
        {
            "base": base,
            "version": version,
            "passed": all(outcome.passed for outcome in outcomes),
            "configurations": [_document(outcome) for outcome in outcomes],
        }
    )


def _document(outcome: MatrixOutcome) -> dict[str, object]:
    return {
        "name": outcome.configuration.name,
        "about": outcome.configuration.about,
        "arch": outcome.configuration.arch,
        "passed": outcome.passed,
        "objects": outcome.objects,
        "messages_of_stock": outcome.stock,
        "new": [
            {"file": one.file, "line": one.line, "text": one.text, "source": one.source}
            for one in outcome.new
        ],
        "failed": list(outcome.failed),
        "fails_on_stock_too": list(outcome.broken),
        "problem": list(outcome.problem),
    }
