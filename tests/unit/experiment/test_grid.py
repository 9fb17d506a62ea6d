# SPDX-License-Identifier: GPL-2.0-only
"""The suite `grid`: the simulator's patterns, each in its family."""

from __future__ import annotations

from mglru.core.paths import EXPERIMENTS, REPO
from mglru.experiment.load import load_experiment


def test_the_suite_has_the_patterns_of_the_simulators_grid() -> None:
    lines = (REPO / "policies" / "grid.txt").read_text().splitlines()
    expected = [tuple(line.split("\t")) for line in lines if not line.startswith("#")]

    found = [
        (path.stem.removeprefix("grid-"), point.set[0].removeprefix("pattern="))
        for path in sorted((EXPERIMENTS / "grid").rglob("*.toml"))
        for point in load_experiment(path.stem).points
    ]

    assert sorted(found) == sorted(expected)
