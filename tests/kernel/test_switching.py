# SPDX-License-Identifier: GPL-2.0-only
"""Switching the multi-gen LRU off and on in a guest whose memory is short."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.checks.ci import GUEST_KERNELS
from mglru.guest import console
from mglru.machine.uml import boot
from support.guests import CGROUP, ENABLED, held_disk, kernel_build, read_report, request

pytestmark = pytest.mark.guest

SERIES = GUEST_KERNELS[1]
DISK = held_disk(400)
SECONDS = 12
# Moving the folios of `large` takes longer than a turn on the processor. Meanwhile those of `small`,
# whose turn comes after it, read what does not fit, and all that they have is clean page cache.
SCRIPT = (
    "cd $MGLRU_CGROUP; echo +memory >cgroup.subtree_control; mkdir large small; "
    "(echo 0 >large/cgroup.procs; dd if=/dev/data of=/dev/null bs=1M count=300 2>/dev/null); "
    "echo 8M >small/memory.max; "
    "for i in 1 2 3; do (echo 0 >small/cgroup.procs; "
    "exec sh -c 'while :; do dd if=/dev/data of=/dev/null bs=64k count=512 skip=4900 "
    "2>/dev/null; done') & done; "
    f"times=0; until test $(cut -d. -f1 /proc/uptime) -ge {SECONDS}; do "
    f"echo n >{ENABLED}; echo y >{ENABLED}; times=$((times + 1)); done; "
    "for i in cgroup.kill; do echo 1 >small/$i; done; "
    "echo switched $times times, $(grep oom_kill small/memory.events | head -1) >/dev/console; "
    "test $times -gt 20 && grep -qx 'oom_kill 0' small/memory.events"
)


def test_nobody_is_killed_for_it(tmp_path: Path) -> None:
    plan = [
        *DISK,
        "cgroup\t2",
        f"mkdir\t{CGROUP}",
        f"env\tMGLRU_CGROUP\t{CGROUP}",
        f"step\tswitch\t-\t/bin/sh\t-c\t{SCRIPT}",
    ]
    asked = request(kernel_build(SERIES), *plan, limit=120, virtual=False)
    outcome = boot(asked, tmp_path)
    (done,) = read_report(outcome).steps
    assert not done.failed
    assert console.scan(outcome.console.read_bytes()) == []
