# SPDX-License-Identifier: GPL-2.0-only
"""The file of a suite: a result file with a run for each point, written boot by boot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mglru.core.errors import UsageError
from mglru.results import model, recording, result_file
from mglru.results.model import BootRecord, RunInfo, RunResult
from mglru.results.output_file import STDOUT, OutputFile, json_text


class SuiteFile(OutputFile):
    """Runs by the name of their point, whose boots may come in any order (see OutputFile).

    Usage:
        with SuiteFile(path) as file:
            file.keep_others(old)        # what the file has of points that are not run now
            file.begin(info, known)      # every point, with its boots from before
            file.add("lagged:far", record)
    """

    def __init__(self, path: str | Path) -> None:
        self._runs: dict[str, RunResult] = {}
        # The file of a large suite is megabytes, of which each boot changes one run.
        self._texts: dict[str, str] = {}
        super().__init__(path)

    def text(self) -> str:
        """Return the runs that have boots, as a list in JSON; nothing if there is no boot."""
        texts = [self._texts[name] for name, run in self._runs.items() if run.raw]
        listed = ",\n".join(texts)
        return f"[\n{listed}\n]\n" if texts else ""

    def keep_others(self, runs: Sequence[RunResult]) -> None:
        """Keep runs as they are."""
        for run in runs:
            self._put(run)

    def begin(self, info: RunInfo, known: Sequence[BootRecord]) -> RunResult:
        """Add a point, with the boots that it already has, and return its run."""
        return self._put(RunResult.from_boots(info, known))

    def add(self, name: str, record: BootRecord) -> RunResult:
        """Add a boot to a point, write the file, and return the point's run.

        Raises:
            LabError: the file cannot be written.
        """
        run = self._runs[name]
        # What was sampled over time is many times as large as all the rest.
        slim = record.model_copy(update={"timeline": None})
        run = self._put(RunResult.from_boots(run, model.in_order(run, [*run.raw, slim])))
        self.write()
        return run

    def _put(self, run: RunResult) -> RunResult:
        recording.check_state(self.path, model.series_of(run))
        self._runs[run.experiment] = run
        self._texts[run.experiment] = json_text(result_file.to_document(run, self.path)).rstrip()
        return run


def load_old(path: str, *, anew: bool) -> dict[str, RunResult]:
    """Return the runs that a file has already, by point, if it shall be gone on with.

    Raises:
        UsageError: it is not a file of results.
    """
    if anew or path == STDOUT or not Path(path).is_file() or not Path(path).stat().st_size:
        return {}
    try:
        return {run.experiment: run for run in result_file.load(path)}
    except UsageError as error:
        raise UsageError(
            error.what, next_step="name another file with --json, or replace this one with --anew"
        ) from error
