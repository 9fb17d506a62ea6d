# SPDX-License-Identifier: GPL-2.0-only
"""Boots by workers of a cluster."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mglru.core.errors import ExitCode
from mglru.core.paths import cache_root
from mglru.experiment.load import load_experiment
from mglru.run.version import lab_version
from mglru.study.cluster.task import Answer, Task
from mglru.study.cluster.worker import run_task
from support import lab_process, sweep_tools
from support.clusters import Cluster
from support.sweep_tools import figures

pytestmark = pytest.mark.guest


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Cluster]:
    started = Cluster(tmp_path)
    yield started
    started.stop()


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


def test_a_worker_dies_and_the_sweep_is_the_same(home: Cluster, tmp_path: Path) -> None:
    local, spread = tmp_path / "local.json", tmp_path / "spread.json"
    here = lab_process.start("sweep", *sweep_tools.SMALL, "--json", local)
    dies = home.worker(cache=own_cache(tmp_path))
    _out, err = here.communicate(timeout=300)
    assert here.returncode == ExitCode.OK, err
    there = lab_process.start(
        "sweep", *sweep_tools.SMALL, "--json", spread, "--scheduler", home.address
    )
    # As soon as it has a guest: the boot is lost, and another worker has to make it. That one comes
    # later: it could have made all boots before this one, whose cache is empty, made its first.
    wait_for_guests(tmp_path / "own", some=True)
    assert home.signal(dies, signal.SIGKILL) == -signal.SIGKILL
    home.worker()
    _out, err = there.communicate(timeout=300)
    assert there.returncode == ExitCode.OK, err
    assert figures(spread) == figures(local)
    assert sum(len(boots) for _at, boots in figures(spread)) == 8


def endless(home: Cluster, path: Path) -> subprocess.Popen[str]:
    """Start a sweep whose boots never end."""
    steps = 'steps=[{label="sleep", argv=["/bin/sleep", "1000"]}]'
    return lab_process.start(
        *("sweep", *sweep_tools.SMALL, "--set", "time=real", "--set", steps),
        *("--json", path, "--scheduler", home.address),
    )


def wait_for_guests(cache: Path, *, some: bool) -> None:
    for _attempt in range(2400):
        if bool(guests(cache)) == some:
            return
        time.sleep(0.05)
    pytest.fail(f"guests: {guests(cache)}")


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
