# SPDX-License-Identifier: GPL-2.0-only
"""The demonstration: a session in, a result for each of its experiments out."""

from __future__ import annotations

from collections.abc import Iterator

from mglru.experiment.load import load_experiment
from mglru.results.model import RunResult
from mglru.run.session import Session

EXPERIMENTS = ("ycsb-a", "ycsb-b")


def run_demo(session: Session) -> Iterator[RunResult]:
    """Run each experiment once on a session's kernels; results come one by one, to be shown."""
    for name in EXPERIMENTS:
        yield session.run(load_experiment(name), boots=1, seed=1)
