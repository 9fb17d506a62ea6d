# SPDX-License-Identifier: GPL-2.0-only
"""One CPU for each guest.

A User Mode Linux guest and its processes take turns, and each turn is a wake-up: across two CPUs
it takes three times as long as on one, and how long depends on what else the host does.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

STAT = Path("/proc/stat")
LOOK_SECONDS = 0.2
_lock = threading.Lock()
_guests: Counter[int] = Counter()


@contextlib.contextmanager
def one_cpu() -> Iterator[int]:
    """Give the number of the CPU that has the fewest guests of this process, then least to do.

    Other labs know nothing of this one, but their guests keep their CPU busy.
    """
    with _lock:
        idle = _idle_ticks(LOOK_SECONDS)
        allowed = os.sched_getaffinity(0)
        cpu = min(allowed, key=lambda each: (_guests[each], -idle.get(each, 0), each))
        _guests[cpu] += 1
    try:
        yield cpu
    finally:
        with _lock:
            _guests[cpu] -= 1


def _idle_ticks(seconds: float) -> dict[int, int]:
    """Look how long each CPU idles in so many seconds, in clock ticks; empty if nobody says."""
    try:
        before = parse_idle(STAT.read_text())
        time.sleep(seconds)
        after = parse_idle(STAT.read_text())
    except OSError:
        return {}
    return {cpu: ticks - before.get(cpu, 0) for cpu, ticks in after.items()}


def parse_idle(stat: str) -> dict[int, int]:
    """Return from the text of /proc/stat how long each CPU was idle, in clock ticks."""
    rows = [line.split() for line in stat.splitlines()]
    cpus = [row for row in rows if row and row[0].startswith("cpu") and row[0] != "cpu"]
    return {int(row[0].removeprefix("cpu")): int(row[4]) for row in cpus}
