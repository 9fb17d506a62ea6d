# SPDX-License-Identifier: GPL-2.0-only
"""A session of kernels that somebody has built already."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mglru.build.build import Build, planned
from mglru.build.recipe import make_recipe
from mglru.core.ui import Ui
from mglru.debian import packages
from mglru.experiment.load import load_experiment
from mglru.results.model import BootRecord
from mglru.run import boots, session
from mglru.run.jobs import Job
from mglru.run.needs import Ingredients
from mglru.run.session import Session
from mglru.source.kernel_id import KernelId
from mglru.source.trees import Source

STOCK = KernelId.parse("6.12")


@pytest.fixture
def build(cache: Path, mini_kernel: Path) -> Build:
    source = Source("6.12", "6.12.99", "nowhere", "d" * 64, mini_kernel)
    return planned(make_recipe(STOCK, source))


@pytest.fixture
def booted(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """The boots that were asked for; nothing is built."""
    made: list[Job] = []

    def boot(job: Job) -> BootRecord:
        made.append(job)
        return BootRecord(kernel=str(job.kernel), boot=job.number, seed=job.seed, metrics={})

    def build_all(*_: Any) -> None:
        pytest.fail("the kernels are there")

    monkeypatch.setattr(session, "build_all", build_all)
    monkeypatch.setattr(session, "planned_builds", build_all)
    monkeypatch.setattr(session, "get_ingredients", lambda *_: Ingredients(None, None))
    monkeypatch.setattr(packages, "ensure", lambda _needed, _ui: None)
    monkeypatch.setattr(boots, "run_job", boot)
    return made


def test_kernels_that_are_given_are_booted(quiet: Ui, build: Build, booted: list[Job]) -> None:
    made = Session([STOCK], (), quiet, builds={STOCK: build})
    result = made.run(load_experiment("loop"), boots=2, seed=7)
    assert [(job.build, job.seed) for job in booted] == [(build, 7), (build, 8)]
    assert [record.seed for record in result.raw] == [7, 8]
    assert result.provenance.kernels["6.12"].build == build.recipe.key
