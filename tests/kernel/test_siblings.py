# SPDX-License-Identifier: GPL-2.0-only
"""Part 1 of the series in a guest: cgroups below one limit, of which one comes late."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.checks.ci import GUEST_KERNELS
from mglru.machine.uml import boot
from support.guests import DISK, kernel_build, memcg, read_report, request

pytestmark = pytest.mark.guest

SERIES = GUEST_KERNELS[1]
# A stream fills the limit of 16 MiB; then somebody else reads 8 MiB now and then, and has to have 2
# of them in the end.
BESIDE_A_STREAM = (
    "cd $MGLRU_CGROUP; echo +memory >cgroup.subtree_control; mkdir late stream; "
    "(echo 0 >stream/cgroup.procs; while :; do "
    "dd if=/dev/data of=/dev/null bs=128k count=160 skip=64 2>/dev/null; done) & sleep 0.1; "
    "(echo 0 >late/cgroup.procs; for i in 1 2 3 4 5 6 7 8; do sleep 0.05; "
    "dd if=/dev/data of=/dev/null bs=1M count=8 2>/dev/null; done); "
    "kill $!; test $(cat late/memory.current) -ge $((2 << 20))"
)


def test_who_comes_late_gets_its_share(tmp_path: Path) -> None:
    plan = [*DISK, *memcg("16M"), f"step\tbeside\t-\t/bin/sh\t-c\t{BESIDE_A_STREAM}"]
    report = read_report(boot(request(kernel_build(SERIES), *plan), tmp_path))
    (done,) = report.steps
    assert not done.failed
