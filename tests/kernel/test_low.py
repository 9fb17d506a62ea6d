# SPDX-License-Identifier: GPL-2.0-only
"""Part 1 of the series in a guest: memory.low in a machine that is short of memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.checks.ci import GUEST_KERNELS
from mglru.machine.uml import boot
from support.guests import kernel_build, read_report, request, script_with_groups

pytestmark = pytest.mark.guest

SERIES = GUEST_KERNELS[1]
# What was never written to it takes no memory: a stream of more than the guest has.
DISK_MB = 1200
# 64 MiB below a memory.low of 80: nothing is taken of them while the stream has pages.
BESIDE_A_STREAM = (
    "cd $MGLRU_CGROUP; echo +memory >cgroup.subtree_control; mkdir kept stream; "
    "echo 80M >memory.low; echo 80M >kept/memory.low; "
    "(echo 0 >kept/cgroup.procs; dd if=/dev/data of=/dev/null bs=1M count=64 2>/dev/null); "
    "(echo 0 >stream/cgroup.procs; dd if=/dev/data of=/dev/null bs=1M skip=64 2>/dev/null); "
    "test $(sed -n 's/^pgsteal //p' stream/memory.stat) -gt 100000 && "
    "grep -qx 'pgsteal 0' kept/memory.stat && grep -qx 'low 0' kept/memory.events"
)

# The same five levels down, with what the ancestors protect not computed yet: kswapd has not run,
# as there is free memory. Who wants some from all (memory.reclaim of the root) takes it elsewhere.
NESTED = (
    "cd $MGLRU_CGROUP; "
    "for d in . a a/b a/b/c; do mkdir -p $d; echo +memory >$d/cgroup.subtree_control; done; "
    "mkdir a/b/c/kept stream; "
    "for d in . a a/b a/b/c a/b/c/kept; do echo 80M >$d/memory.low; done; "
    "(echo 0 >a/b/c/kept/cgroup.procs; dd if=/dev/data of=/dev/null bs=1M count=64 2>/dev/null); "
    "(echo 0 >stream/cgroup.procs; "
    "dd if=/dev/data of=/dev/null bs=1M skip=64 count=200 2>/dev/null); "
    "for i in 1 2 3 4; do echo 4M >/sys/fs/cgroup/memory.reclaim; done; "
    "test $(sed -n 's/^pgsteal //p' stream/memory.stat) -gt 2000 && "
    "grep -qx 'pgsteal 0' a/b/c/kept/memory.stat && grep -qx 'low 0' a/b/c/kept/memory.events"
)


@pytest.mark.parametrize("script", [BESIDE_A_STREAM, NESTED], ids=["stream", "nested"])
def test_nothing_is_taken_below_memory_low(tmp_path: Path, script: str) -> None:
    plan = script_with_groups("beside", script, DISK_MB)
    report = read_report(boot(request(kernel_build(SERIES), *plan), tmp_path))
    (done,) = report.steps
    assert not done.failed
