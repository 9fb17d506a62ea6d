# SPDX-License-Identifier: GPL-2.0-only
"""Sweeps on a cluster: real schedulers and workers, some of which die, lie or are not there."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mglru.build.build import planned
from mglru.build.recipe import make_recipe
from mglru.core import process
from mglru.core.errors import ExitCode, LabError
from mglru.core.paths import REPO, cache_root
from mglru.experiment.load import load_experiment, names
from mglru.experiment.spec import Experiment
from mglru.results.model import BootRecord
from mglru.run.session import Job
from mglru.run.version import lab_version
from mglru.source.kernel_id import KernelId
from mglru.source.trees import Source
from mglru.study.cluster import client as cluster
from mglru.study.cluster.client import ClusterEngine
from mglru.study.cluster.task import Answer, Refusal, Task, make_task
from mglru.study.cluster.worker import Room, run_task
from mglru.study.sweep.boots import PointJob
from support import sweep_tools
from support.sweep_tools import figures


class Cluster:
    """A scheduler of its own, and workers that end with the test."""

    def __init__(self, home: Path, port: int = 0) -> None:
        self._home = home
        self.processes: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start("scheduler", "--port", str(port))
        self.address = self._wait("scheduler0.log", "scheduler at ").split(";")[0]

    def _start(self, *words: str, lab: Path = REPO, cache: Path | None = None) -> int:
        number = len(self.processes)
        environment = {**os.environ, "MGLRU_NO_INSTALL": "1", "PYTHONPATH": str(lab / "src")}
        if cache:
            environment["MGLRU_CACHE"] = str(cache)
        with (self._home / f"{words[0]}{number}.log").open("wb") as log:
            command = ["env", "--default-signal=INT", sweep_tools.PYTHON, "-m", "mglru", "cluster"]
            started = subprocess.Popen(
                [*command, *words], env=environment, stdout=log, stderr=log, cwd=self._home
            )
        self.processes.append(started)
        return number

    def _wait(self, log: str, text: str) -> str:
        """Return what follows a text in a log, as soon as it is there."""
        for _attempt in range(2400):
            said = (self._home / log).read_text()
            if text in said:
                return said.split(text, 1)[1].split("\n")[0]
            time.sleep(0.05)
        pytest.fail(f"{log}: {said}")

    def worker(self, *, lab: Path = REPO, cache: Path | None = None) -> int:
        """Start a worker that makes one boot at once, and return its number."""
        number = self._start("worker", self.address, "--boots", "1", lab=lab, cache=cache)
        self._wait(f"worker{number}.log", "boot(s) at once")
        return number

    def signal(self, number: int, what: signal.Signals) -> int:
        """Send a signal to a process and return its exit status."""
        self.processes[number].send_signal(what)
        return self.processes[number].wait(timeout=60)

    def stop(self) -> None:
        for each in reversed(self.processes):
            if each.poll() is None:
                each.terminate()
                each.wait(timeout=60)


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
    experiment = load_experiment("read-twice", ["limit=8M"])
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
    worker = sweep_tools.start("cluster", "worker", "127.0.0.1:9", "--wait", "1", cache=cache)
    _out, err = worker.communicate(timeout=90)
    assert worker.returncode == ExitCode.INFRASTRUCTURE
    assert "no scheduler answers at 127.0.0.1:9" in err
    assert "Traceback" not in err


def test_a_worker_waits_for_its_scheduler(tmp_path: Path, cache: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    worker = sweep_tools.start("cluster", "worker", f"127.0.0.1:{port}", "--boots", "1")
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
    with (other / "guest" / "init.c").open("a") as file:
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


def own_cache(tmp_path: Path) -> Path:
    """A cache that has the kernels and nothing else."""
    cache = tmp_path / "own"
    cache.mkdir()
    for name in ("sources", "builds"):
        (cache / name).symlink_to(cache_root() / name)
    return cache


def guests(cache: Path) -> list[int]:
    """Return the guests that a worker with this cache has running."""
    found = []
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = command.read_bytes()
            if f"uml_dir={cache}/tmp/boot-".encode() in words:
                found.append(int(command.parent.name))
    return found


@pytest.mark.guest
def test_a_worker_dies_and_the_sweep_is_the_same(home: Cluster, tmp_path: Path) -> None:
    local, spread = tmp_path / "local.json", tmp_path / "spread.json"
    here = sweep_tools.start("sweep", *sweep_tools.SMALL, "--json", local)
    home.worker()
    dies = home.worker(cache=own_cache(tmp_path))
    _out, err = here.communicate(timeout=300)
    assert here.returncode == ExitCode.OK, err
    there = sweep_tools.start(
        "sweep", *sweep_tools.SMALL, "--json", spread, "--scheduler", home.address
    )
    # As soon as it has a guest: the boot is lost, and another worker has to make it.
    wait_for_guests(tmp_path / "own", some=True)
    assert home.signal(dies, signal.SIGKILL) == -signal.SIGKILL
    _out, err = there.communicate(timeout=300)
    assert there.returncode == ExitCode.OK, err
    assert figures(spread) == figures(local)
    assert sum(len(boots) for _at, boots in figures(spread)) == 8


def endless(home: Cluster, path: Path) -> subprocess.Popen[str]:
    """Start a sweep whose boots never end."""
    steps = 'steps=[{label="sleep", argv=["/bin/sleep", "1000"]}]'
    return sweep_tools.start(
        *("sweep", *sweep_tools.SMALL, "--set", "time=real", "--set", steps),
        *("--json", path, "--scheduler", home.address),
    )


def wait_for_guests(cache: Path, *, some: bool) -> None:
    for _attempt in range(2400):
        if bool(guests(cache)) == some:
            return
        time.sleep(0.05)
    pytest.fail(f"guests: {guests(cache)}")


@pytest.mark.guest
def test_an_interrupted_sweep_stops_its_guests_and_no_worker(home: Cluster, tmp_path: Path) -> None:
    cache = own_cache(tmp_path)
    worker = home.worker(cache=cache)
    sweep = endless(home, tmp_path / "s.json")
    wait_for_guests(cache, some=True)
    sweep.send_signal(signal.SIGINT)
    _out, err = sweep.communicate(timeout=60)
    assert sweep.returncode == ExitCode.INTERRUPTED, err
    assert "Traceback" not in err
    wait_for_guests(cache, some=False)
    assert home.processes[worker].poll() is None
    assert not (tmp_path / "s.json").exists()


@pytest.mark.guest
def test_a_worker_that_ends_leaves_its_boot_to_another(home: Cluster, tmp_path: Path) -> None:
    cache = own_cache(tmp_path)
    worker = home.worker(cache=cache)
    sweep = endless(home, tmp_path / "s.json")
    wait_for_guests(cache, some=True)
    assert home.signal(worker, signal.SIGINT) == ExitCode.INTERRUPTED
    assert guests(cache) == []
    home.worker(cache=cache)
    wait_for_guests(cache, some=True)
    assert sweep.poll() is None
    sweep.send_signal(signal.SIGINT)
    sweep.communicate(timeout=60)
    wait_for_guests(cache, some=False)


@pytest.mark.guest
def test_a_worker_that_would_build_another_kernel_says_so() -> None:
    task = Task(
        lab=lab_version(), sweep="s", kernel="6.12", build="0" * 12, release="6.12.1-stock-0",
        experiment=load_experiment("read-twice").model_dump(mode="json"), compiler="gcc 1",
        dataset_sha256=None, userland={}, number=0, seed=1,
    )  # fmt: skip
    answer = Answer.model_validate_json(run_task(task.model_dump_json()))
    assert answer.refusal
    assert "this worker would build 6.12 as 6.12." in answer.refusal.what
    assert "the sweep's is 6.12.1-stock-0" in answer.refusal.what
    assert "the sweep's: gcc 1" in answer.refusal.log_tail
