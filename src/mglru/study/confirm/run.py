# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru confirm`: names of results in, the same boots with other seeds beside each out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mglru.core.ui import Ui
from mglru.experiment.load import load_experiment
from mglru.experiment.settings import from_record, recorded
from mglru.results.compare import Comparison, Named, compare
from mglru.results.model import RunResult
from mglru.results.result_file import ResultFile
from mglru.run.session import Session
from mglru.source.kernel_id import parse_list
from mglru.study.confirm.confirm import (
    CheckedFigure,
    all_hold,
    check_seeds,
    findings,
    load_found,
)


@dataclass(frozen=True, kw_only=True)
class WantedConfirmation:
    """What is to be confirmed, and how.

    Attributes:
        names: of the experiments.
        found: the file with their results; None: the reference results.
        seed: of the first boot.
        boots: of each kernel.
        json_file: where the new boots are kept; None: nowhere.
        own_sources: the user's kernel sources.
    """

    names: Sequence[str]
    found: Path | None
    seed: int
    boots: int
    json_file: str | None = None
    own_sources: Sequence[Path] = ()


@dataclass(frozen=True)
class ConfirmedRun:
    """A result beside the same boots with other seeds.

    Attributes:
        found: the kernels compared with the first seeds.
        again: with the others.
        figures: what was found, and what the other seeds say of it.
        result: of the new boots.
    """

    found: Comparison
    again: Comparison
    figures: Sequence[CheckedFigure]
    result: RunResult

    @property
    def holds(self) -> bool:
        """Whether all that was found holds."""
        return all_hold(self.figures)


def confirm_runs(
    wanted: WantedConfirmation, ui: Ui, done: Callable[[ConfirmedRun], object]
) -> list[ConfirmedRun]:
    """Make the boots of earlier results again with other seeds, and say what holds.

    Args:
        wanted: what is to be confirmed.
        ui: gets the progress.
        done: gets each as soon as it is there.

    Raises:
        UsageError: no result, nothing in it that can be confirmed, or seeds that have been looked
            at; before the first boot.
        LabError: no kernel, no data, no boot.
    """
    earlier = [load_found(name, wanted.found) for name in wanted.names]
    for run in earlier:
        check_seeds(run, wanted.seed, wanted.boots)
    confirmed = []
    with ResultFile.wanted(wanted.json_file) as file:
        for run in earlier:
            confirmed.append(_confirm(run, wanted, file, ui))
            done(confirmed[-1])
    return confirmed


def _confirm(
    run: RunResult, wanted: WantedConfirmation, file: ResultFile | None, ui: Ui
) -> ConfirmedRun:
    """Boot again; kernels, machine and settings are those of the earlier run."""
    settings = from_record(run.provenance.experiment.parameters)
    session = Session(
        parse_list(",".join(run.kernels)),
        wanted.own_sources,
        ui,
        file,
        machine=run.machine,
        baseline=run.baseline,
    )
    result = session.run(
        load_experiment(run.experiment, settings),
        boots=wanted.boots,
        seed=wanted.seed,
        parameters=recorded(settings),
    )
    found, again = (compare([Named(each.experiment, each)])[0] for each in (run, result))
    return ConfirmedRun(found, again, findings(found, again), result)
