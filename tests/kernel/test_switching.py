# SPDX-License-Identifier: GPL-2.0-only
"""Switching the multi-gen LRU off and on in a guest whose memory is short."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.checks.ci import GUEST_KERNELS
from mglru.guest import console
from mglru.machine.uml import boot
from support.guests import ENABLED, kernel_build, read_report, request, script_with_groups

pytestmark = pytest.mark.guest

SERIES = GUEST_KERNELS[1]
DISK_MB = 1200
SECONDS, LEAST_TIMES = 12, 20
# In real time: in virtual time computing is free, and whoever switches is never preempted.
SWITCH = (
    f"times=0; until test $(cut -d. -f1 /proc/uptime) -ge {SECONDS}; do "
    f"echo n >{ENABLED}; echo y >{ENABLED}; times=$((times + 1)); done; "
    f"echo switched $times times >/dev/console; test $times -ge {LEAST_TIMES}"
)
# Moving the folios of `large` takes longer than a turn on the processor. Meanwhile those of
# `small`, whose turn comes after it, read what does not fit: all they have is clean page cache.
CGROUPS = (
    "cd $MGLRU_CGROUP; echo +memory >cgroup.subtree_control; mkdir large small; "
    "(echo 0 >large/cgroup.procs; dd if=/dev/data of=/dev/null bs=1M count=300 2>/dev/null); "
    "echo 8M >small/memory.max; "
    "for i in 1 2 3; do (echo 0 >small/cgroup.procs; while :; do "
    "dd if=/dev/data of=/dev/null bs=64k count=512 skip=4900 2>/dev/null; done) & done; "
    f"{SWITCH} && grep -qx 'oom_kill 0' small/memory.events; "
    "kept=$?; echo 1 >small/cgroup.kill; exit $kept"
)
# A stream through the machine's memory, in which no generation is to be younger than a millisecond.
# kswapd kills if all are, or too small.
MACHINE = (
    "echo 1 >/sys/kernel/mm/lru_gen/min_ttl_ms; "
    "(while :; do dd if=/dev/data of=/dev/null bs=1M 2>/dev/null; done) & "
    f"stream=$!; {SWITCH} && grep -qx 'oom_kill 0' /proc/vmstat; kept=$?; kill $stream; exit $kept"
)


@pytest.mark.parametrize("script", [CGROUPS, MACHINE], ids=["cgroups", "machine"])
def test_nobody_is_killed(tmp_path: Path, script: str) -> None:
    plan = script_with_groups("switch", script, DISK_MB)
    outcome = boot(request(kernel_build(SERIES), *plan, limit=120, virtual=False), tmp_path)
    assert console.scan(outcome.console.read_bytes()) == []
    (done,) = read_report(outcome).steps
    assert not done.failed
