# SPDX-License-Identifier: GPL-2.0-only
"""The demonstration: kernels in, a result for each of its experiments out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from mglru.core.ui import Ui
from mglru.experiment.load import load_experiment
from mglru.results.model import RunResult
from mglru.results.result_file import ResultFile
from mglru.run.session import Session
from mglru.source.kernel_id import KernelId

EXPERIMENTS = ("ycsb-a", "ycsb-b")


def run_demo(
    kernels: Sequence[KernelId],
    own: Sequence[Path],
    path: str,
    ui: Ui,
    done: Callable[[RunResult], object],
) -> list[RunResult]:
    """Run each experiment once on each kernel, and return the results.

    Args:
        kernels: in the order of the table's columns.
        own: the user's kernel sources.
        path: of the file that keeps the results, boot by boot.
        ui: gets the progress.
        done: gets each result as soon as it is there.

    Raises:
        LabError: no kernel, no data, no boot, or the file cannot be written.
    """
    results = []
    with ResultFile(path) as file:
        session = Session(kernels, own, ui, file)
        for name in EXPERIMENTS:
            results.append(session.run(load_experiment(name), boots=1, seed=1))
            done(results[-1])
    return results
