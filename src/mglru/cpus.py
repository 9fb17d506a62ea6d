# SPDX-License-Identifier: GPL-2.0-only
"""One CPU for each guest.

A User Mode Linux guest and its processes take turns, and each turn is a wake-up: across two CPUs
it takes three times as long as on one, and how long depends on what else the host does.
"""

from __future__ import annotations

import contextlib
import os
import random
import threading
from collections import Counter
from collections.abc import Iterator

_lock = threading.Lock()
_guests: Counter[int] = Counter()


@contextlib.contextmanager
def one_cpu() -> Iterator[int]:
    """Give the number of a CPU that has no guest of this process, or the fewest."""
    with _lock:
        allowed = list(os.sched_getaffinity(0))
        # Two labs at once know nothing of each other: by chance they part.
        random.shuffle(allowed)
        cpu = min(allowed, key=lambda each: _guests[each])
        _guests[cpu] += 1
    try:
        yield cpu
    finally:
        with _lock:
            _guests[cpu] -= 1
