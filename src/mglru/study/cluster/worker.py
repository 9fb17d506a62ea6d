# SPDX-License-Identifier: GPL-2.0-only
"""A worker of a cluster: makes the boots that it is asked for, with its own lab and cache."""

from __future__ import annotations

import contextlib
import functools
import json
import threading
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from mglru.build.build import build_kernel
from mglru.build.recipe import Recipe, make_recipe
from mglru.core import process
from mglru.core.errors import ExitCode, LabError
from mglru.core.ui import Ui
from mglru.experiment.spec import Experiment
from mglru.results.model import BootRecord, Provenance
from mglru.run.boots import run_job
from mglru.run.jobs import available_bytes
from mglru.run.session import Session
from mglru.run.version import lab_version
from mglru.source.kernel_id import KernelId
from mglru.source.trees import get_source
from mglru.study.cluster.task import Answer, Refusal, Task

# The version is that of the code that runs, so it is read before files can change.
VERSION = lab_version()
# What guests may take of the memory that is there.
SHARE = 0.8
UPDATE = "git pull on every machine, and start its worker again"

_stops: defaultdict[str, threading.Event] = defaultdict(threading.Event)


class Room:
    """The memory of this machine, shared by the guests of this worker.

    Args:
        megabytes: how much guests may take together; one alone always has room.
    """

    def __init__(self, megabytes: int) -> None:
        self._free = megabytes
        self._guests = 0
        self._closed = False
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def take(self, megabytes: int, *, alone: bool) -> Iterator[None]:
        """Wait for room, and have it while the block runs.

        Args:
            megabytes: of the guest.
            alone: no other guest may run meanwhile (real time).
        """
        with self._changed:
            self._changed.wait_for(lambda: self._fits(megabytes, alone=alone))
            self._take(megabytes, 1, closed=alone)
        try:
            yield
        finally:
            with self._changed:
                self._take(-megabytes, -1, closed=False)
                self._changed.notify_all()

    def _fits(self, megabytes: int, *, alone: bool) -> bool:
        if not self._guests:
            return True
        return not self._closed and not alone and megabytes <= self._free

    def _take(self, megabytes: int, guests: int, *, closed: bool) -> None:
        self._free -= megabytes
        self._guests += guests
        self._closed = closed


@functools.cache
def room() -> Room:
    """Return the room of this machine, measured when it is first asked for."""
    return Room(int(available_bytes() * SHARE) >> 20)


def stop(sweep: str) -> None:
    """Kill all guests of a sweep, and start no more."""
    _stops[sweep].set()


def run_task(text: str) -> str:
    """Make one boot.

    Args:
        text: a Task as JSON.

    Returns:
        an Answer as JSON.
    """
    worker = _address()
    # Before all else: another version may describe its tasks in another way.
    theirs = json.loads(text).get("lab")
    if theirs != VERSION:
        error = LabError(
            f"this worker runs version {VERSION} of the lab, the sweep is of version {theirs}",
            next_step=UPDATE,
        )
        return Answer(worker=worker, refusal=Refusal.of(error)).model_dump_json()
    task = Task.model_validate_json(text)
    try:
        with process.cancellable(_stops[task.sweep]):
            return Answer(worker=worker, record=_boot(task)).model_dump_json()
    except LabError as error:
        if error.exit_code == ExitCode.INTERRUPTED and not _stops[task.sweep].is_set():
            from distributed import Reschedule  # noqa: PLC0415

            # This worker is ending; another one can make the boot.
            raise Reschedule from error
        return Answer(worker=worker, refusal=Refusal.of(error)).model_dump_json()


def _address() -> str:
    """Return what this worker is called; nothing outside of a worker."""
    from distributed import get_worker  # noqa: PLC0415

    try:
        return str(get_worker().address)
    except ValueError:
        return ""


def _boot(task: Task) -> BootRecord:
    ui = Ui()
    experiment = Experiment.model_validate(task.experiment)
    kernel = KernelId.parse(task.kernel)
    recipe = make_recipe(kernel, get_source(kernel.base, note=ui.note))
    _check_recipe(recipe, task)
    # The packages that it needs were installed before the worker joined.
    session = Session([kernel], (), ui, needed={}, builds={kernel: build_kernel(recipe, ui)})
    prepared = session.prepare(experiment, boots=1, seed=task.seed)
    _check_ingredients(prepared.info.provenance, task)
    job = replace(prepared.jobs[0], number=task.number)
    with room().take(experiment.guest.memory_mb, alone=experiment.time == "real"):
        record = run_job(job)
    ui.note(f"{experiment.name} on {kernel}, seed {task.seed}: {record.real_seconds:.0f} s")
    # Sweeps keep none, and it is many times as large as all the rest.
    return record.model_copy(update={"timeline": None})


def _check_recipe(recipe: Recipe, task: Task) -> None:
    """Refuse to make a kernel that is not the sweep's.

    Raises:
        LabError: it would be another build.
    """
    if recipe.key == task.build:
        return
    raise LabError(
        f"this worker would build {task.kernel} as {recipe.release}, the sweep's is {task.release}",
        log_tail=[f"this worker's compiler: {recipe.compiler}", f"the sweep's: {task.compiler}"],
        next_step="have the same source (./mglru kernel fetch) and the same Debian release on "
        "every machine",
    )


def _check_ingredients(found: Provenance, task: Task) -> None:
    """Refuse data and programs that are not the sweep's.

    Raises:
        LabError: they differ.
    """
    if found.userland != task.userland:
        other = sorted(name for name, _version in found.userland.items() ^ task.userland.items())
        raise LabError(
            f"this worker has other packages for the guest: {', '.join(dict.fromkeys(other))}",
            next_step="remove `userlands` in the cache of every machine, so that all fetch anew",
        )
    if found.dataset_sha256 != task.dataset_sha256:
        raise LabError(
            "this worker makes another disk image of the same data set",
            next_step="have the same Debian release on every machine: its libraries and "
            "mke2fs make the image",
        )
