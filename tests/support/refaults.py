# SPDX-License-Identifier: GPL-2.0-only
"""File refaults of commands in a guest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mglru.guest import channel
from mglru.machine.uml import boot
from support.guests import DISK, kernel_build, memcg, read_report, request, step

ENABLED = "/sys/kernel/mm/lru_gen/enabled"


def refaults(
    name: str, switch: str, where: Path, before: Sequence[str], counted: Sequence[str]
) -> float:
    """Run commands in a cgroup of 16 MiB; return the file refaults of those that are counted."""
    plan = [
        f"write\t{ENABLED}\t{switch}",
        *DISK,
        *memcg("16M"),
        *(step(f"before{i}", command) for i, command in enumerate(before)),
        "counters\tbegin",
        *(step(f"counted{i}", command) for i, command in enumerate(counted)),
        "counters\tend",
    ]
    report = read_report(boot(request(kernel_build(name), *plan), where))
    assert not [step for step in report.steps if step.failed]
    return channel.metrics_of(report)["workingset_refault_file"]
