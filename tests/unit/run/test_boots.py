# SPDX-License-Identifier: GPL-2.0-only
"""Boots at once: in which order their records come, and what ends when one fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest

from mglru.build.build import Build
from mglru.core import process
from mglru.core.errors import LabError
from mglru.core.ui import Ui
from mglru.experiment.load import load_experiment
from mglru.results.model import BootRecord
from mglru.run import boots
from mglru.run.boots import run_in_any_order, run_jobs
from mglru.run.jobs import Job
from mglru.source.kernel_id import KernelId

Record = Callable[[BootRecord], object]
Run = Callable[[Sequence[Job], Ui, Record, int], None]


def jobs(number: int) -> list[Job]:
    experiment, kernel = load_experiment("loop"), KernelId.parse("6.12")
    return [Job(experiment, kernel, cast(Build, None), None, at, at) for at in range(number)]


def in_any_order(all_jobs: Sequence[Job], _ui: Ui, record: Record, parallel: int) -> None:
    run_in_any_order(all_jobs, parallel, lambda _job, made: record(made))


def made(job: Job) -> BootRecord:
    return BootRecord(kernel=str(job.kernel), boot=job.number, seed=job.seed, metrics={})


@pytest.mark.parametrize(("run", "order"), [(run_jobs, [0, 1]), (in_any_order, [1, 0])])
def test_records_come_in_order_or_as_boots_end(
    quiet: Ui, monkeypatch: pytest.MonkeyPatch, run: Run, order: list[int]
) -> None:
    second_came = threading.Event()
    came: list[int] = []

    def boot(job: Job) -> BootRecord:
        # In order, the second boot's record waits for the first one's.
        if job.number == 0 and run is in_any_order:
            assert second_came.wait(10)
        return made(job)

    def record(one: BootRecord) -> None:
        came.append(one.boot)
        if one.boot == 1:
            second_came.set()

    monkeypatch.setattr(boots, "run_job", boot)
    run(jobs(2), quiet, record, 2)
    assert came == order


@pytest.mark.parametrize("run", [run_jobs, in_any_order])
@pytest.mark.parametrize("error", [LabError("no"), KeyboardInterrupt()])
def test_after_an_error_or_an_interrupt_no_boot_begins_and_all_are_killed(
    quiet: Ui, monkeypatch: pytest.MonkeyPatch, run: Run, error: BaseException
) -> None:
    begun, killed = [], threading.Event()

    def boot(job: Job) -> BootRecord:
        begun.append(job.number)
        # The second is under way when the first one's record is refused.
        assert job.number == 0 or killed.wait(10)
        return made(job)

    def refuse(_one: Any) -> None:
        raise error

    monkeypatch.setattr(boots, "run_job", boot)
    monkeypatch.setattr(process, "cancel_all", killed.set)
    with pytest.raises(type(error)):
        run(jobs(5), quiet, refuse, 1)
    assert killed.is_set()
    assert begun in ([0], [0, 1])
