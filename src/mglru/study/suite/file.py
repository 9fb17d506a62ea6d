# SPDX-License-Identifier: GPL-2.0-only
"""The file of a suite: a result file with a run for each point, written boot by boot.

It keeps of each boot what tables are made of, and what went wrong (`what_is_kept`). The rest would
be nearly all of it, and whoever needs it runs that point alone (`./mglru run NAME:POINT --all`).
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path

from mglru.core.errors import UsageError
from mglru.results import model, recording, result_file
from mglru.results.model import BootRecord, RunInfo, RunResult
from mglru.results.output_file import STDOUT, OutputFile, json_text
from mglru.study.suite.measures import metrics_of_tables


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
        """Keep what a suite's file keeps of runs that get no boots now."""
        for run in runs:
            self._put(run)

    def begin(self, info: RunInfo, known: Sequence[BootRecord]) -> RunResult:
        """Add a point, with the boots that it already has, and return what the file keeps of it."""
        return self._put(RunResult.from_boots(info, known))

    def add(self, name: str, record: BootRecord) -> RunResult:
        """Add a boot to a point, write the file, and return what it keeps of the point's run.

        Raises:
            LabError: the file cannot be written.
        """
        run = self._runs[name]
        run = self._put(RunResult.from_boots(run, model.in_order(run, [*run.raw, record])))
        self.write()
        return run

    def _put(self, run: RunResult) -> RunResult:
        recording.check_state(self.path, model.series_of(run))
        kept = what_is_kept(run)
        self._runs[kept.experiment] = kept
        self._texts[kept.experiment] = json_text(result_file.to_document(kept, self.path)).rstrip()
        return kept


def what_is_kept(run: RunResult) -> RunResult:
    """Return a run as a suite's file keeps it.

    Of each boot this is which one it was, what went wrong, and the metrics that tables are made
    of. Left out are all other metrics, histograms, what was sampled over time, and how long the
    host took.
    """
    wanted = metrics_of_tables(run)
    boots = [_with_metrics(record, wanted) for record in run.raw]
    return RunResult.from_boots(run, boots)


def _with_metrics(record: BootRecord, wanted: Container[str]) -> BootRecord:
    metrics = {name: value for name, value in record.metrics.items() if name in wanted}
    return BootRecord(
        kernel=record.kernel,
        boot=record.boot,
        seed=record.seed,
        metrics=metrics,
        problems=record.problems,
        release=record.release,
        build=record.build,
    )


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
