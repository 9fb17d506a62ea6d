# SPDX-License-Identifier: GPL-2.0-only
"""Programs of a userland in a guest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mglru.core.ui import Ui
from mglru.debian.userland import get_userland
from mglru.experiment.load import load_experiment
from mglru.guest import channel
from mglru.guest.places import guest_path
from mglru.machine.uml import boot
from mglru.run.provenance import run_info
from mglru.source.kernel_id import KernelId
from support.guests import kernel_build, request

pytestmark = pytest.mark.guest


def test_a_guest_runs_the_programs_of_its_userland(tmp_path: Path, quiet: Ui) -> None:
    tree = get_userland([], quiet)
    host = Path("/etc/only-on-the-host")
    shell = "step\t%s\t-\t/bin/sh\t-c\t%s"
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\ntest $(id -u) = 1000 && test $(id -un) = lab\n")
    script.chmod(0o755)
    checks = {
        "tools": "test -x /usr/bin/setpriv && test -x /usr/sbin/mkswap && awk 1 </dev/null",
        "suite": f"test ! -e {host.parent}/debian_version && test ! -e {tmp_path}",
        "mounts": "echo x >/tmp/x && test -d /sys/fs/cgroup/work && test -c /dev/null",
        "host": f"test -e {guest_path(script)}",
        "user": f"cat {guest_path(script)} >/tmp/s && setpriv --reuid lab --regid lab "
        "--clear-groups sh /tmp/s",
        "read_only": "! touch /etc/x 2>/dev/null",
    }
    plan = [
        f"userland\t{guest_path(tree.root)}",
        "cgroup\t2",
        "mkdir\t/sys/fs/cgroup/work",
        *(shell % item for item in checks.items()),
    ]
    (tmp_path / "boot").mkdir()
    outcome = boot(request(kernel_build("6.12"), *plan), tmp_path / "boot")
    report = channel.parse(outcome.reported)
    assert report.errors == ()
    assert {step.label: step.status for step in report.steps} == dict.fromkeys(checks, 0)
    assert not os.path.lexists(tree.root / "etc/x")


def test_a_result_names_the_packages(quiet: Ui) -> None:
    tree = get_userland([], quiet)
    builds = {KernelId.parse("6.12"): kernel_build("6.12")}
    experiment = load_experiment("read-twice")
    info = run_info(experiment, builds, None, boots=1, seed=1, userland=tree)
    assert info.provenance.userland == tree.versions
    assert "util-linux" in tree.versions


def test_a_userland_that_is_not_there_is_said(tmp_path: Path) -> None:
    outcome = boot(request(kernel_build("6.12"), "userland\t/run/host/nowhere"), tmp_path)
    report = channel.parse(outcome.reported)
    assert any("cannot bind /run to /run/host/nowhere/run" in error for error in report.errors)
