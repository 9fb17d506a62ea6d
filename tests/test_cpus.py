# SPDX-License-Identifier: GPL-2.0-only
from __future__ import annotations

import contextlib
import os

from mglru.cpus import one_cpu


def test_guests_at_once_have_different_cpus_as_long_as_there_are_any() -> None:
    allowed = os.sched_getaffinity(0)
    with contextlib.ExitStack() as stack:
        taken = [stack.enter_context(one_cpu()) for _ in allowed]
        assert set(taken) == allowed
        assert stack.enter_context(one_cpu()) in allowed
    with one_cpu() as first:
        assert first in allowed
