# SPDX-License-Identifier: GPL-2.0-only
"""From an experiment's name, and settings, to the experiment: its TOML file read and checked.

What a guest does for it, step by step, is made of that in `guest/plan.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from mglru.core.errors import UsageError
from mglru.core.paths import EXPERIMENTS
from mglru.experiment import files
from mglru.experiment.settings import Setting, Table, read_settings
from mglru.experiment.spec import Experiment, Point


def names(directory: Path = EXPERIMENTS) -> list[str]:
    """Return the names of all experiments.

    Raises:
        UsageError: two files have one name.
    """
    return list(files.find(directory))


def load_experiment(
    name: str, settings: Iterable[Setting | str] = (), directory: Path = EXPERIMENTS
) -> Experiment:
    """Read an experiment, with settings that replace what its file says.

    Args:
        name: the experiment's name, or `NAME:POINT` for one of its points.
        settings: or texts of them, `key=value`; after those of the point.
        directory: where the TOML files lie.

    Raises:
        UsageError: no such experiment, point or key, or a value that does not fit.
    """
    family, point = files.split_name(name)
    table = files.read(family, directory)
    for setting in read_settings((*_point_settings(table, family, point), *settings)):
        setting.apply(table)
    try:
        return Experiment.model_validate({**table, "name": name})
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}"
            for problem in error.errors(include_url=False)
        )
        raise UsageError(
            f"experiment {name}: {problems}",
            next_step=f"see {files.find(directory)[family]}",
        ) from error


def _point_settings(table: Table, family: str, name: str) -> tuple[str, ...]:
    if not name:
        return ()
    try:
        points = TypeAdapter(tuple[Point, ...]).validate_python(table.get("points", ()))
    except ValidationError:
        # The experiment as a whole is refused for it, with what is wrong.
        return ()
    for point in points:
        if point.name == name:
            return point.set
    known = ", ".join(point.name for point in points)
    raise UsageError(
        f"experiment {family} has no point '{name}'",
        next_step=f"its points: {known}" if known else f"it has none: ./mglru run {family}",
    )
