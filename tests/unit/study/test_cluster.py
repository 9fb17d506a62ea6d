# SPDX-License-Identifier: GPL-2.0-only
"""Sweeps on a cluster: real schedulers and workers, some of which die, lie or are not there."""

from __future__ import annotations

import dataclasses
import shutil
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mglru.build.build import planned
from mglru.build.recipe import make_recipe
from mglru.core import process
from mglru.core.errors import ExitCode, LabError
from mglru.core.paths import REPO
from mglru.experiment.load import load_experiment, names
from mglru.experiment.spec import Experiment
from mglru.machine.registry import MACHINES
from mglru.results.model import BootRecord
from mglru.run import session
from mglru.run.jobs import Job
from mglru.run.needs import Ingredients
from mglru.run.version import lab_version
from mglru.source.kernel_id import KernelId
from mglru.source.trees import Source
from mglru.study.cluster import client as cluster
from mglru.study.cluster import worker as cluster_worker
from mglru.study.cluster.client import ClusterEngine
from mglru.study.cluster.task import Answer, Refusal, Task, make_task
from mglru.study.cluster.worker import Room, run_task
from mglru.study.sweep.boots import PointJob
from support import lab_process
from support.clusters import Cluster


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Cluster]:
    started = Cluster(tmp_path)
    yield started
    started.stop()


@pytest.fixture
def job(cache: Path, mini_kernel: Path) -> PointJob:
    """A boot that cannot be made: there is no such build."""
    source = Source("6.12", "6.12.99", "nowhere", "d" * 64, mini_kernel)
    build = planned(make_recipe(KernelId.parse("6.12"), source))
    experiment = MACHINES["uml"].fit(load_experiment("read-twice", ["limit=8M"]))
    return PointJob({"limit": "8M"}, Job(experiment, KernelId.parse("6.12"), build, None, 0, 1))


def refuse(job: PointJob, _record: BootRecord) -> None:
    pytest.fail(f"{job} cannot have been made")


@pytest.mark.parametrize("name", names())
def test_an_experiment_is_the_same_at_the_other_end(name: str) -> None:
    experiment = load_experiment(name)
    sent = Experiment.model_validate_json(experiment.model_dump_json())
    assert sent == experiment
    assert sent.sha256 == experiment.sha256


def test_a_task_says_all_that_decides_a_boot(job: PointJob) -> None:
    task = make_task(job.job, "s")
    assert Task.model_validate_json(task.model_dump_json()) == task
    assert (task.lab, task.kernel, task.seed) == (lab_version(), "6.12", 1)
    assert task.build in task.release
    assert Experiment.model_validate(task.experiment) == job.job.experiment


def test_an_error_says_the_same_at_the_other_end() -> None:
    error = LabError(
        "no", next_step="yes", command="true", log_tail=["a"], exit_code=ExitCode.USAGE
    )
    sent = Refusal.model_validate_json(Refusal.of(error).model_dump_json()).as_error("worker 1")
    assert sent.render() == error.render().replace("mglru: no", "mglru: worker 1: no")
    assert sent.exit_code == ExitCode.USAGE


def test_a_task_of_another_version_is_refused_unread() -> None:
    answer = Answer.model_validate_json(run_task('{"lab": "old", "what": "else"}'))
    assert answer.refusal
    assert "of version old" in answer.refusal.what
    assert "git pull" in answer.refusal.next_step


def test_a_boot_of_another_kernel_is_refused(job: PointJob) -> None:
    recipe = job.job.build.recipe
    good = BootRecord(
        kernel="6.12", boot=0, seed=1, metrics={}, release=recipe.release, build=recipe.key
    )
    assert cluster._checked(good, job, "worker 1") == good
    for change in ({"build": "0" * 12}, {"release": "6.12.99-other"}):
        with pytest.raises(LabError, match=r"worker 1: it booted .*, the sweep's kernel is"):
            cluster._checked(good.model_copy(update=change), job, "worker 1")


def answered(job: PointJob, **changes: object) -> Answer:
    """Return what a worker makes of a task that differs from the job's."""
    task = make_task(job.job, "s").model_copy(update=changes)
    return Answer.model_validate_json(run_task(task.model_dump_json()))


@pytest.fixture
def worker(job: PointJob, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that has all that the job's boot needs, and boots nothing."""

    def boot(asked: Job) -> BootRecord:
        assert asked == dataclasses.replace(job.job, number=asked.number, seed=asked.seed)
        return BootRecord(kernel="6.12", boot=asked.number, seed=asked.seed, metrics={})

    build = job.job.build
    monkeypatch.setattr(cluster_worker, "get_source", lambda _base, note: build.recipe.source)
    monkeypatch.setattr(cluster_worker, "build_kernel", lambda _recipe, _ui: build)
    monkeypatch.setattr(session, "get_ingredients", lambda *_: Ingredients(None, None))
    monkeypatch.setattr(cluster_worker, "run_job", boot)


def test_a_worker_makes_the_boot_that_it_is_asked_for(job: PointJob, worker: None) -> None:
    record = answered(job, number=3, seed=9).record
    assert record
    assert (record.kernel, record.boot, record.seed) == ("6.12", 3, 9)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"build": "0" * 12}, "this worker would build 6.12 as"),
        ({"userland": {"coreutils": "1"}}, "other packages for the guest: coreutils"),
        ({"dataset_sha256": "0" * 64}, "another disk image"),
    ],
)
def test_a_worker_refuses_what_it_would_make_otherwise(
    job: PointJob, worker: None, changes: dict[str, object], message: str
) -> None:
    refusal = answered(job, **changes).refusal
    assert refusal
    assert message in refusal.what


def test_guests_have_the_memory_that_there_is() -> None:
    room, inside, most = Room(1000), [0], [0]
    lock = threading.Lock()

    def guest(megabytes: int, *, alone: bool) -> None:
        with room.take(megabytes, alone=alone):
            with lock:
                inside[0] += 1000 if alone else megabytes
                most[0] = max(most[0], inside[0])
            time.sleep(0.01)
            with lock:
                inside[0] -= 1000 if alone else megabytes

    wanted = [(400, False), (600, False), (100, True), (900, False)] * 4
    threads = [threading.Thread(target=guest, args=(mb,), kwargs={"alone": a}) for mb, a in wanted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert not any(thread.is_alive() for thread in threads)
    assert most[0] <= 1000
    with room.take(5000, alone=False):
        pass  # larger than all: alone, it has its try


def test_what_belongs_to_one_sweep_can_be_stopped_by_itself() -> None:
    event = threading.Event()
    threading.Timer(0.3, event.set).start()
    with process.cancellable(event), pytest.raises(LabError, match="interrupted"):
        process.run(["sleep", "100"], purpose="sleep")
    process.run(["true"], purpose="go on")


def test_a_scheduler_that_is_not_there(job: PointJob) -> None:
    with pytest.raises(LabError, match=r"no scheduler answers at tcp://127.0.0.1:9") as caught:
        ClusterEngine("tcp://127.0.0.1:9").run([job], refuse)
    assert "./mglru cluster scheduler" in caught.value.next_step


def test_a_worker_that_finds_no_scheduler_says_so(cache: Path) -> None:
    worker = lab_process.start(
        "cluster", "worker", "127.0.0.1:9", "--wait", "1", environment={"MGLRU_CACHE": str(cache)}
    )
    _out, err = worker.communicate(timeout=90)
    assert worker.returncode == ExitCode.INFRASTRUCTURE
    assert "no scheduler answers at 127.0.0.1:9" in err
    assert "Traceback" not in err


def test_a_worker_waits_for_its_scheduler(tmp_path: Path, cache: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    worker = lab_process.start("cluster", "worker", f"127.0.0.1:{port}", "--boots", "1")
    late = Cluster(tmp_path, port)
    try:
        assert worker.stderr
        assert "1 boot(s) at once" in worker.stderr.readline()
    finally:
        worker.terminate()
        try:
            # It takes its leave from the scheduler, which has 30 s to answer if it has just begun.
            worker.communicate(timeout=120)
        finally:
            late.stop()


def test_without_workers_the_wait_has_an_end(job: PointJob, home: Cluster) -> None:
    with pytest.raises(LabError, match="has had no workers for 1 s") as caught:
        ClusterEngine(home.address, patience=1).run([job], refuse)
    assert f"./mglru cluster worker {home.address}" in caught.value.next_step


def test_a_worker_of_another_version_is_refused(
    job: PointJob, home: Cluster, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    for name in ("src", "guest", "kconfig", "patches"):
        shutil.copytree(REPO / name, other / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy2(REPO / "requirements.txt", other)
    with (other / "guest" / "init" / "init.c").open("a") as file:
        file.write("/* other */\n")
    home.worker(lab=other)
    with pytest.raises(LabError, match="this worker runs version") as caught:
        ClusterEngine(home.address).run([job], refuse)
    assert caught.value.what.startswith("worker tcp://")
    assert f"the sweep is of version {lab_version()}" in caught.value.what


def test_a_scheduler_that_goes_away(job: PointJob, home: Cluster) -> None:
    timer = threading.Timer(1.5, home.signal, (home.scheduler, signal.SIGKILL))
    timer.start()
    with pytest.raises(LabError, match=r"scheduler at .* is gone") as caught:
        ClusterEngine(home.address).run([job], refuse)
    assert "the same command goes on" in caught.value.next_step
