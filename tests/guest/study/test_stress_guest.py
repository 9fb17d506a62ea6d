# SPDX-License-Identifier: GPL-2.0-only
"""The stress in a guest."""

from __future__ import annotations

import pytest

from mglru.core.ui import Ui
from mglru.experiment.load import load_experiment
from mglru.study.stress import disagreements
from support.runs import run

pytestmark = pytest.mark.guest


def test_a_short_stress_is_borne_in_silence(quiet: Ui) -> None:
    records = run(load_experiment("stress", ["seconds=8", "workers=3"]), quiet)
    for each in records:
        metrics = each.metrics
        assert metrics["groups_removed"] == metrics["groups_created"] > 0
        assert metrics["wrong_pages"] == metrics["workers_failed"] == 0
        assert disagreements(each) == {}
