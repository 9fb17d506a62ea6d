# SPDX-License-Identifier: GPL-2.0-only
"""experiments/harm/: what every family of the harm suite has."""

from __future__ import annotations

import pytest

from mglru.core.paths import EXPERIMENTS, REPO
from mglru.experiment.load import load_experiment
from mglru.experiment.spec import Experiment
from mglru.study.draw import SUITE

FAMILIES = sorted(path.stem for path in (EXPERIMENTS / "harm").rglob("*.toml"))
METRICS = {"pgpgin", "pgpgout", "workingset_refault_file", "workingset_refault_anon"}
# So that two boots fit into a small machine at once.
MOST_MB = 1536


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest) -> Experiment:
    return load_experiment(request.param)


def test_a_family_has_points_of_which_one_is_quick(family: Experiment) -> None:
    assert 2 <= len(family.points) <= 5
    assert sum(point.quick for point in family.points) == 1


def test_each_point_can_be_loaded_and_differs(family: Experiment) -> None:
    points = [load_experiment(f"{family.name}:{point.name}") for point in family.points]
    nameless = [point.model_copy(update={"name": family.name}) for point in points]
    assert len({point.sha256 for point in nameless}) == len(points)
    assert all(point.guest.memory_mb <= MOST_MB for point in points)


def test_it_says_what_is_read_written_and_how_long_it_takes(family: Experiment) -> None:
    names = {metric.name for metric in family.metrics}
    assert names >= METRICS
    assert any(name.endswith(("_seconds", "_ms")) for name in names)


def test_the_documentation_names_each_experiment() -> None:
    text = (REPO / "docs" / "use" / "experiments.md").read_text()
    made = {"mine", SUITE}
    names = sorted(
        path.stem
        for path in EXPERIMENTS.rglob("*.toml")
        if path.relative_to(EXPERIMENTS).parts[0] not in made
    )
    assert [name for name in names if f"`{name}`" not in text] == []
