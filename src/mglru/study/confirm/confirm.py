# SPDX-License-Identifier: GPL-2.0-only
"""Whether what some seeds found holds with others, which nobody has looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from mglru.core.errors import UsageError
from mglru.core.paths import RESULTS
from mglru.experiment.files import split_name
from mglru.experiment.load import load_experiment
from mglru.results import result_file
from mglru.results.compare import Cell, Comparison
from mglru.results.marks import MIN_PAIRS, Mark
from mglru.results.model import RunResult, series_of
from mglru.series.state import is_of_another_state

# Seeds from 1 on are there to look at, those from here on to confirm.
CONFIRMING_SEED = 1001


class Confirmation(StrEnum):
    """What became of a finding."""

    HOLDS = "holds"
    UNSURE = "not confirmed"
    CONTRADICTED = "contradicted"


@dataclass(frozen=True)
class CheckedFigure:
    """A figure that is better or worse, and what the other seeds say.

    Attributes:
        label: of the figure.
        kernel: whose it is.
        mark: better or worse.
        found: with the first seeds.
        again: with the others; None where they do not have it.
        outcome: whether it holds.
    """

    label: str
    kernel: str
    mark: Mark
    found: Cell
    again: Cell | None
    outcome: Confirmation


def check_found(run: RunResult, name: str) -> None:
    """Make sure that a result can be confirmed.

    Args:
        run: the result.
        name: of its file, for messages.

    Raises:
        UsageError: too few boots for a finding, its seeds are the confirming ones, or it is of
            another state of the series.
    """
    again = f"./mglru run {run.experiment} --boots {MIN_PAIRS} --json FILE, then --found FILE"
    fewest = min(len(run.boots_of(kernel)) for kernel in run.kernels)
    if fewest < MIN_PAIRS:
        raise UsageError(
            f"{name}: {run.experiment} has {fewest} boots of a kernel, and a finding takes "
            f"{MIN_PAIRS}: there is nothing to confirm",
            next_step=again,
        )
    others = [kernel for kernel, sha in series_of(run).items() if is_of_another_state(kernel, sha)]
    if others:
        raise UsageError(
            f"{name}: {run.experiment} on {', '.join(others)} is of another state of the series: "
            "what it found cannot be confirmed with this one",
            next_step=again,
        )


def check_seeds(run: RunResult, seed: int, boots: int) -> None:
    """Make sure that the confirming seeds are others.

    Raises:
        UsageError: one of them has been looked at.
    """
    common = {record.seed for record in run.raw} & set(range(seed, seed + boots))
    if common:
        raise UsageError(
            f"seed {min(common)} has been looked at already", next_step="choose another --seed"
        )


def load_found(name: str, found: Path | None) -> RunResult:
    """Return the run of an experiment that a file has.

    Raises:
        UsageError: no file, no such run in it, or nothing in it that can be confirmed.
    """
    folder = load_experiment(name).folder or ""
    path = found or RESULTS / folder / f"{split_name(name)[0]}.json"
    if not path.is_file():
        raise UsageError(
            f"there is no {path} whose findings could be confirmed",
            next_step=f"./mglru run {name} --json FILE, then --found FILE",
        )
    there = [run for run in result_file.load(path) if run.experiment == name]
    if not there:
        raise UsageError(f"{path} has no run of {name}", next_step="name another file with --found")
    check_found(there[0], str(path))
    return there[0]


def findings(found: Comparison, again: Comparison) -> list[CheckedFigure]:
    """Return every figure that is better or worse in the first, and whether it is in the second."""
    labels = [column.label for column in again.columns]
    rows = {row.metric: row for row in again.rows}
    result = []
    for row in found.rows:
        for column, cell in zip(found.columns, row.cells, strict=True):
            if cell is None or cell.mark not in (Mark.BETTER, Mark.WORSE):
                continue
            other = rows.get(row.metric)
            now = other.cells[labels.index(column.label)] if other else None
            outcome = _outcome(cell.mark, now)
            result.append(CheckedFigure(row.label, column.kernel, cell.mark, cell, now, outcome))
    return result


def _outcome(mark: Mark, now: Cell | None) -> Confirmation:
    if now is not None and now.mark is mark:
        return Confirmation.HOLDS
    opposite = Mark.WORSE if mark is Mark.BETTER else Mark.BETTER
    return (
        Confirmation.CONTRADICTED
        if now is not None and now.mark is opposite
        else Confirmation.UNSURE
    )


def all_hold(all_findings: Sequence[CheckedFigure]) -> bool:
    """Whether every finding holds."""
    return all(finding.outcome is Confirmation.HOLDS for finding in all_findings)
