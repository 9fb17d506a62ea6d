# SPDX-License-Identifier: GPL-2.0-only
"""Boots on many machines: tasks for the workers of a Dask cluster, and their answers."""

from __future__ import annotations

import concurrent.futures
import contextlib
import logging
import re
import socket
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mglru.core.errors import LabError, UsageError
from mglru.results.model import BootRecord
from mglru.study.cluster import worker as cluster_worker
from mglru.study.cluster.task import Answer, Task, make_task
from mglru.study.sweep.boots import Done, PointJob
from mglru.study.sweep.points import describe

if TYPE_CHECKING:
    from distributed import Client, Future

CONNECT_SECONDS = 10
# Without a single worker for so long, somebody has to do something.
PATIENCE_SECONDS = 60
# The longest that one task may take on a good machine: all its kernels and data are missing.
STALL_SECONDS = 3 * 3600
LOOK_SECONDS = 1.0
STOP_SECONDS = 10
_ADDRESS = re.compile(r"(tcp://)?[^\s:/]+:\d{1,5}|(tcp://)?\[[0-9a-f:]+\]:\d{1,5}")
GO_ON = "the same command goes on where this one stopped"


def quiet(level: int) -> None:
    """Leave out of Dask's log what is below a level; call it after Dask was imported."""
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(level)


def check_address(address: str) -> None:
    """Refuse what cannot be the address of a scheduler.

    Raises:
        UsageError: it is not `tcp://host:port` or `host:port`.
    """
    if not _ADDRESS.fullmatch(address):
        raise UsageError(
            f"'{address}' is not the address of a scheduler",
            next_step="as tcp://127.0.0.1:8786; `./mglru cluster scheduler` prints its own",
        )


def check_answers(address: str) -> None:
    """Refuse an address where nobody listens, at once and in words that say why.

    Raises:
        LabError: see above.
    """
    host, _colon, port = address.removeprefix("tcp://").rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise nobody_answers(address, error) from error


def nobody_answers(address: str, error: BaseException) -> LabError:
    """Return the error for a scheduler that is not there."""
    return LabError(
        f"no scheduler answers at {address}: {error}",
        next_step="check the address, or start one: ./mglru cluster scheduler",
    )


class ClusterEngine:
    """Boots on the workers that are connected to a scheduler.

    Args:
        address: of the scheduler, as `tcp://host:8786`.
        patience: seconds without any worker until this gives up.
    """

    def __init__(self, address: str, patience: float = PATIENCE_SECONDS) -> None:
        self._address = address
        self._patience = patience

    def run(self, jobs: Sequence[PointJob], done: Done) -> None:
        """Make all boots (see sweep.Engine).

        Raises:
            LabError: no scheduler, no workers, or a worker that cannot make the boot asked for.
        """
        sweep = uuid.uuid4().hex
        with _connected(self._address) as client:
            futures = {}
            try:
                for each in jobs:
                    task = make_task(each.job, sweep)
                    futures[_submit(client, task)] = each
                self._collect(client, futures, done)
            except BaseException:
                _stop(client, sweep, list(futures))
                raise

    def _collect(self, client: Client, futures: Mapping[Future[str], PointJob], done: Done) -> None:
        waiting = dict(futures)
        watch = _Watch(client, self._address, self._patience)
        while waiting:
            for future in _ready(waiting, self._address):
                each = waiting.pop(future)
                done(each, _record(future, each, self._address))
                watch.progress()
            watch.look()


def engine_of(address: str, own: Sequence[Path]) -> ClusterEngine:
    """Return what boots on a cluster; nothing is asked of it yet.

    Args:
        address: of the scheduler.
        own: the user's kernel sources, which must be none.

    Raises:
        UsageError: not an address, or the sweep takes what workers do not have.
    """
    check_address(address)
    if own:
        raise UsageError(
            "--source is a tree of this machine, which the workers of a cluster do not have",
            next_step="leave out --scheduler, or --source",
        )
    return ClusterEngine(address)


class _Watch:
    """Gives up when nothing can come any more."""

    def __init__(self, client: Client, address: str, patience: float) -> None:
        self._client, self._address, self._patience = client, address, patience
        self._last_worker = self._last_progress = time.monotonic()

    def progress(self) -> None:
        """Note that a boot has come."""
        self._last_progress = time.monotonic()

    def look(self) -> None:
        """See whether there are workers.

        Raises:
            LabError: there have been none for too long, or they do nothing.
        """
        now = time.monotonic()
        if self._workers():
            self._last_worker = now
        if now - self._last_worker > self._patience:
            raise LabError(
                f"the scheduler at {self._address} has had no workers for {self._patience:.0f} s",
                next_step=f"on each machine: ./mglru cluster worker {self._address}; then {GO_ON}",
            )
        if now - self._last_progress > STALL_SECONDS:
            raise LabError(
                f"no worker has finished a boot for {STALL_SECONDS / 3600:.0f} hours",
                next_step=f"see what the workers print; {GO_ON}",
            )

    def _workers(self) -> int:
        # Asking a scheduler that is gone would wait; the futures tell when it is.
        if self._client.status != "running":
            return 0
        try:
            return len(self._client.nthreads())
        except OSError:
            return 0


@contextlib.contextmanager
def _connected(address: str) -> Iterator[Client]:
    # Here, because it takes a second, and only a sweep on a cluster needs it.
    import distributed  # noqa: PLC0415

    # What it logs of lost connections, the errors here say in fewer words.
    quiet(logging.CRITICAL)
    check_answers(address)
    try:
        client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise nobody_answers(address, error) from error
    try:
        with client.as_current():
            yield client
    finally:
        client.close(timeout=STOP_SECONDS)


def _submit(client: Client, task: Task) -> Future[str]:
    key = f"{task.sweep}-{task.kernel}-{task.number}-{uuid.uuid4().hex}"
    return client.submit(cluster_worker.run_task, task.model_dump_json(), key=key, pure=False)


def _ready(waiting: Mapping[Future[str], PointJob], address: str) -> list[Future[str]]:
    """Return what has ended, after a moment at most."""
    import distributed  # noqa: PLC0415

    try:
        done = distributed.wait(
            list(waiting), timeout=LOOK_SECONDS, return_when="FIRST_COMPLETED"
        ).done
    except TimeoutError:
        return []
    except concurrent.futures.CancelledError as error:
        raise _scheduler_gone(address) from error
    return [future for future in waiting if future in done]


def _record(future: Future[str], each: PointJob, address: str) -> BootRecord:
    """Return the boot that a worker made.

    Raises:
        LabError: it made none, or one of another kernel.
    """
    what = f"{describe(each.settings)} on {each.job.kernel}, boot {each.job.number}"
    if future.status in ("cancelled", "lost"):
        raise _scheduler_gone(address)
    if future.status == "error":
        raise _failed(future.exception(), what, address)
    answer = Answer.model_validate_json(future.result())
    where = f"worker {answer.worker}, {what}"
    if answer.refusal:
        raise answer.refusal.as_error(where)
    if answer.record is None:
        raise LabError(f"{where}: it answered nothing", next_step=cluster_worker.UPDATE)
    return _checked(answer.record, each, where)


def _checked(record: BootRecord, each: PointJob, where: str) -> BootRecord:
    """Refuse a boot of another kernel than the sweep's.

    Raises:
        LabError: its build or its release is another.
    """
    recipe = each.job.build.recipe
    if record.build == recipe.key and record.release in (recipe.release, ""):
        return record
    raise LabError(
        f"{where}: it booted {record.release} (build {record.build}), the sweep's kernel is "
        f"{recipe.release} (build {recipe.key})",
        next_step=cluster_worker.UPDATE,
    )


def _failed(error: BaseException | None, what: str, address: str) -> LabError:
    from distributed.scheduler import KilledWorker  # noqa: PLC0415

    if isinstance(error, KilledWorker):
        return LabError(
            f"{what}: worker after worker died over it",
            next_step=f"see what the workers printed, and whether memory is short; {GO_ON}",
        )
    return LabError(
        f"{what}: a worker cannot run the lab: {type(error).__name__}: {error}",
        next_step=f"start workers with ./mglru cluster worker {address}; {cluster_worker.UPDATE}",
    )


def _scheduler_gone(address: str) -> LabError:
    return LabError(
        f"the scheduler at {address} is gone",
        next_step=f"start it and its workers again; {GO_ON}",
    )


def _stop(client: Client, sweep: str, futures: Sequence[Future[str]]) -> None:
    """End what the workers do for a sweep; those that are out of reach end by themselves."""

    def stop() -> None:
        client.cancel(futures, force=True)
        client.run(cluster_worker.stop, sweep, on_error="ignore")

    if client.status != "running":
        return
    pool = concurrent.futures.ThreadPoolExecutor(1)
    with contextlib.suppress(Exception):
        pool.submit(stop).result(STOP_SECONDS)
    pool.shutdown(wait=False)
