# SPDX-License-Identifier: GPL-2.0-only
"""The processes of a cluster: one scheduler, and a worker on each machine."""

from __future__ import annotations

import asyncio
import logging
import os
import time

from mglru.core import process
from mglru.core.errors import LabError
from mglru.core.paths import cache_dir
from mglru.core.ui import Ui
from mglru.experiment.spec import Guest
from mglru.run.jobs import available_bytes
from mglru.study.cluster import worker as cluster_worker
from mglru.study.cluster.client import check_answers, nobody_answers, quiet

JOIN_SECONDS = 30
RETRY_SECONDS = 0.5
ANY_PORT = ":0"
# A boot that so many workers died over would kill the next one, too.
ALLOWED_FAILURES = 5


def boots_at_once() -> int:
    """Return how many guests of the usual size this machine has room for, one for each CPU."""
    megabytes = int(available_bytes() * cluster_worker.SHARE) >> 20
    return max(1, min(len(os.sched_getaffinity(0)), megabytes // Guest().memory_mb))


def serve_scheduler(host: str, port: int, ui: Ui) -> None:
    """Be the scheduler of a cluster until an interrupt.

    Raises:
        LabError: it cannot listen there.
    """
    asyncio.run(_scheduler(host, port, ui))


async def _scheduler(host: str, port: int, ui: Ui) -> None:
    from distributed import Scheduler  # noqa: PLC0415

    quiet(logging.WARNING)
    try:
        scheduler = await Scheduler(
            host=host,
            port=port,
            dashboard=False,
            dashboard_address=ANY_PORT,
            allowed_failures=ALLOWED_FAILURES,
        )
    except (OSError, ValueError, RuntimeError) as error:
        raise LabError(
            f"the scheduler cannot listen at {host}:{port}: {error}",
            next_step="name another address of this machine with --host, or another --port",
        ) from error
    async with scheduler:
        ui.note(f"scheduler at {scheduler.address}; on each machine:")
        ui.note(f"  ./mglru cluster worker {scheduler.address}")
        await scheduler.finished()


def serve_worker(address: str, boots: int, ui: Ui, wait_seconds: float) -> None:
    """Be a worker of a cluster until an interrupt, or until its scheduler is gone.

    Args:
        address: of the scheduler.
        boots: guests at once.
        ui: told when it has joined.
        wait_seconds: for the scheduler to be there.

    Raises:
        LabError: no scheduler answers there.
    """
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            check_answers(address)
            break
        except LabError:
            if time.monotonic() >= deadline:
                raise
        time.sleep(RETRY_SECONDS)
    asyncio.run(_worker(address, boots, ui))


async def _worker(address: str, boots: int, ui: Ui) -> None:
    from distributed import Worker  # noqa: PLC0415

    quiet(logging.WARNING)
    try:
        worker = await Worker(
            address,
            nthreads=boots,
            memory_limit=0,
            dashboard=False,
            dashboard_address=ANY_PORT,
            death_timeout=JOIN_SECONDS,
            local_directory=str(cache_dir("tmp")),
        )
    except (OSError, ValueError, RuntimeError) as error:
        raise nobody_answers(address, error) from error
    async with worker:
        ui.note(f"worker {worker.address}: {boots} boot(s) at once, lab {cluster_worker.VERSION}")
        try:
            await worker.finished()
        finally:
            # What it was asked for, another worker can do; closing would wait for it.
            process.cancel_all()
