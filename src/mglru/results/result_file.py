# SPDX-License-Identifier: GPL-2.0-only
"""The file that keeps results: written boot by boot, and read again.

It repeats figures under `metrics` for its readers; `load` computes them anew, from the boots. Files
of reference results leave them out, and fields with nothing in them: every clone has these, and
their readers are the lab's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import JsonValue

from mglru.results import recording
from mglru.results.json_file import FileKind, shown
from mglru.results.model import BootRecord, RunInfo, RunResult, in_order, series_of
from mglru.results.output_file import OutputFile, json_text

FORMAT = 1
KIND = FileKind("result", "./mglru run EXPERIMENT --json FILE", FORMAT)


def to_document(run: RunResult, path: Path) -> dict[str, JsonValue]:
    """Return what a file says of a run: its fields, its format, and its figures.

    Args:
        run: with its boots.
        path: the file; of a reference result it has none of the figures, which are computed of
            the boots (medians, ratios), and no field that is as `load` takes it to be if it is
            not there.
    """
    reference = recording.is_reference(path)
    left_out = set(RunResult.model_computed_fields) if reference else None
    fields = run.model_dump(mode="json", exclude=left_out, exclude_defaults=reference)
    return {"format": FORMAT, **fields}


def to_json(runs: Sequence[RunResult], path: Path) -> str:
    """Return the file's text: one run as an object, several as an array of them.

    Args:
        runs: in this order.
        path: as for `to_document`.
    """
    documents = [to_document(run, path) for run in runs]
    return json_text(documents[0] if len(documents) == 1 else documents)


class ResultFile(OutputFile):
    """A file of runs, written boot by boot (see OutputFile).

    Usage:
        with ResultFile(path) as file:
            file.begin(info)
            file.add(record)
    """

    def __init__(self, path: str | Path) -> None:
        self.runs: list[RunResult] = []
        super().__init__(path)

    def text(self) -> str:
        """Return the runs as JSON; nothing as long as there is no boot."""
        return to_json(self.runs, self.path) if any(run.raw for run in self.runs) else ""

    def begin(self, info: RunInfo, known: Sequence[BootRecord] = ()) -> None:
        """Start a run with the boots it has; those added from now on are its own.

        Raises:
            UsageError: it is to be recorded and is of another state of the series.
        """
        recording.check_state(self.path, series_of(info))
        self.runs.append(RunResult.from_boots(info, known))

    def add(self, record: BootRecord) -> RunResult:
        """Add a boot to the current run, write the file, return the run so far.

        Raises:
            LabError: the file cannot be written.
        """
        run = self.runs[-1]
        self.runs[-1] = RunResult.from_boots(run, in_order(run, [*run.raw, record]))
        self.write()
        return self.runs[-1]


def save(runs: RunResult | Sequence[RunResult], path: str | Path) -> None:
    """Write results to a file, or to stdout for `-`.

    Raises:
        UsageError: the path is a directory.
        LabError: the file cannot be written.
    """
    with ResultFile(path) as file:
        file.runs = [runs] if isinstance(runs, RunResult) else list(runs)
        file.write()


def load(path: str | Path) -> list[RunResult]:
    """Read the runs of a result file; `-` is stdin.

    Raises:
        UsageError: it cannot be read, is cut off, is not a result, or has another format.
    """
    documents = KIND.read(path)
    runs = documents if isinstance(documents, list) else [documents]
    if not runs:
        raise KIND.refuse(shown(path), "it is empty")
    return [from_document(document, shown(path)) for document in runs]


def from_document(document: object, name: str) -> RunResult:
    """Make a run of what `to_document` gave; figures are computed anew.

    Args:
        document: from JSON.
        name: of the file, for messages.

    Raises:
        UsageError: it is not a result, or has another format.
    """
    fields = KIND.check_format(document, name)
    if "kind" in fields:
        raise KIND.refuse(name, f"it is a {fields['kind']}")
    derived = {"format", *RunResult.model_computed_fields}
    kept = {key: value for key, value in fields.items() if key not in derived}
    return KIND.validate(RunResult, kept, name)
