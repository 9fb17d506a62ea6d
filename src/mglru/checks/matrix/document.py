# SPDX-License-Identifier: GPL-2.0-only
"""What came of the configurations, as JSON: outcomes in, a document out."""

from __future__ import annotations

import json
from collections.abc import Sequence

from mglru.checks.matrix.check import MatrixOutcome
from mglru.results.output_file import OutputFile

FORMAT = "mglru-matrix-1"


class MatrixFile(OutputFile):
    """The outcomes as JSON."""

    document: dict[str, object] | None = None

    def text(self) -> str:
        """Return the document, nothing before there is one."""
        return json.dumps(self.document, indent=1) + "\n" if self.document else ""


def to_document(base: str, version: str, outcomes: Sequence[MatrixOutcome]) -> dict[str, object]:
    """Return the outcomes as a JSON document."""
    return {
        "format": FORMAT,
        "base": base,
        "version": version,
        "passed": all(outcome.passed for outcome in outcomes),
        "configurations": [_document(outcome) for outcome in outcomes],
    }


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
