# SPDX-License-Identifier: GPL-2.0-only
"""Suites: which families of experiments belong to one, and which of their points are to run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from mglru.core.errors import UsageError
from mglru.core.paths import EXPERIMENTS
from mglru.experiment.files import POINT_MARK, split_name
from mglru.experiment.load import load_experiment, names
from mglru.experiment.settings import Setting
from mglru.experiment.spec import Experiment

# Experiments that lie in no folder and name no suite.
NO_SUITE = "in no suite"


@dataclass(frozen=True)
class Family:
    """One experiment of a suite, and the points of it that are to run.

    Attributes:
        name: the experiment's.
        points: as they are loaded, `NAME:POINT`, or `NAME` for an experiment without points.
    """

    name: str
    points: tuple[Experiment, ...]


def suites_of(experiment: Experiment) -> tuple[str, ...]:
    """Return the suites that an experiment belongs to, that of its folder first."""
    named = (experiment.folder, *experiment.suites) if experiment.folder else experiment.suites
    return tuple(dict.fromkeys(named))


def all_suites(directory: Path = EXPERIMENTS) -> dict[str, list[Experiment]]:
    """Return every suite with its experiments, in order of names; last those in no suite.

    Raises:
        UsageError: an experiment's file is broken.
    """
    found: dict[str, list[Experiment]] = {}
    for name in names(directory):
        experiment = load_experiment(name, directory=directory)
        for suite in suites_of(experiment) or (NO_SUITE,):
            found.setdefault(suite, []).append(experiment)
    return dict(sorted(found.items(), key=lambda item: (item[0] == NO_SUITE, item[0])))


def families(
    suite: str,
    *,
    quick: bool = False,
    only: Collection[str] = (),
    leave_out: Collection[str] = (),
    settings: Sequence[Setting] = (),
    directory: Path = EXPERIMENTS,
) -> list[Family]:
    """Return what a suite runs.

    Args:
        suite: its name.
        quick: only the points that are marked as quick.
        only: names of families, or of points as `NAME:POINT`; none: all.
        leave_out: likewise, what is not to run.
        settings: of all points.
        directory: where the TOML files lie.

    Raises:
        UsageError: no such suite, a family with no point left, nothing left at all, or a name
            of `only` or `leave_out` that the suite has not.
    """
    found = all_suites(directory)
    if suite not in found or suite == NO_SUITE:
        there = ", ".join(name for name in found if name != NO_SUITE) or "none"
        raise UsageError(f"no suite '{suite}'", next_step=f"there are: {there}")
    whole = {experiment.name: _point_names(experiment, quick=False) for experiment in found[suite]}
    _check_names(suite, whole, (*only, *leave_out))
    wanted = {split_name(name)[0] for name in only} or set(whole)
    chosen = [
        _family(
            experiment,
            # A point that is named runs, quick or not.
            [name for name in whole[experiment.name] if experiment.points and name in only]
            or _point_names(experiment, quick=quick),
            leave_out,
            settings,
            directory,
        )
        for experiment in found[suite]
        if experiment.name in wanted and experiment.name not in leave_out
    ]
    if not chosen:
        raise UsageError(f"nothing of the suite '{suite}' is left", next_step="leave out less")
    return chosen


def _point_names(experiment: Experiment, *, quick: bool) -> list[str]:
    if not experiment.points:
        return [experiment.name]
    return [
        f"{experiment.name}{POINT_MARK}{point.name}"
        for point in experiment.points
        if point.quick or not quick
    ]


def _check_names(suite: str, whole: dict[str, list[str]], given: Sequence[str]) -> None:
    known = {*whole, *(point for points in whole.values() for point in points)}
    for name in given:
        if name not in known:
            family = split_name(name)[0]
            there = f"its families: {', '.join(whole)}"
            if family in whole:
                there = f"there are: {', '.join(whole[family])}"
            raise UsageError(f"the suite '{suite}' has no '{name}'", next_step=there)


def _family(
    experiment: Experiment,
    points: Sequence[str],
    leave_out: Collection[str],
    settings: Sequence[Setting],
    directory: Path,
) -> Family:
    left = [name for name in points if name not in leave_out]
    if not left:
        hint = "mark one of its [[points]] as quick" if not points else "leave out less of it"
        raise UsageError(
            f"the family {experiment.name} has no point left",
            next_step=f"{hint}, or leave out all of it: --leave-out {experiment.name}",
        )
    loaded = tuple(load_experiment(name, settings, directory) for name in left)
    return Family(experiment.name, loaded)
