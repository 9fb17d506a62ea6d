# SPDX-License-Identifier: GPL-2.0-only
"""Interrupted and failing downloads and builds: no stray process, a cache that still works."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from mglru.core.errors import ExitCode
from mglru.core.paths import REPO
from mglru.debian import archive
from support import lab_process

# Stands in for make, for a kernel that never finishes until the file `go` exists.
MAKE = """#!/bin/sh
for word; do case $word in
KCONFIG_CONFIG=*) config=${word#*=};; LOCALVERSION=*) ;;
esac; done
case $* in
*allnoconfig*) : >"$config" ;;
*olddefconfig*) ;;
*)
	echo $$ >"$STAND_IN/pid"
	echo "  CC      mm/vmscan.o"
	[ -e "$STAND_IN/broken" ] && { echo "mm/vmscan.c:1: error: no such thing"; exit 2; }
	[ -e "$STAND_IN/go" ] || { sleep 1000 & wait; }
	suffix=$(sed -n 's/^CONFIG_LOCALVERSION="\\(.*\\)"/\\1/p' .config)
	mkdir -p include/config
	echo "6.12.99$suffix" >include/config/kernel.release
	echo image | tee linux >vmlinux
;;
esac
"""
# Stands in for apt-get: its download goes on for ever.
APT = """#!/bin/sh
case $* in
*print-uris*) echo "'http://deb.invalid/debian/dists/trixie/InRelease' x 0" ;;
*download*) echo $$ >"$STAND_IN/pid"; echo half >linux-source-6.12_1_all.deb; sleep 1000 & wait ;;
esac
"""
# To start takes seconds, and much longer where many programs want to run. What never ends is ended
# by the test's own limit.
BUSY_SECONDS = 120


def running(group: int) -> list[str]:
    """Return what runs in a process group; zombies, which only wait for init, do not count."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            name, _bracket, rest = stat.read_text().rpartition(")")
            state, _parent, its_group = rest.split()[:3]
            if its_group == str(group) and state != "Z":
                found.append(name)
    return found


class Lab:
    """A copy of the lab without lab patches, its own cache, and stand-ins before the PATH."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.cache = home / "cache"
        self.bin = home / "bin"
        self.bin.mkdir()
        for name in ("src", "kconfig"):
            shutil.copytree(REPO / name, home / "repo" / name)
        self.environment = {
            "MGLRU_CACHE": str(self.cache),
            "PYTHONPATH": str(home / "repo" / "src"),
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "STAND_IN": str(home),
        }

    def stand_in(self, name: str, script: str) -> None:
        path = self.bin / name
        path.write_text(script)
        path.chmod(0o755)

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        return lab_process.start(*arguments, environment=self.environment)

    def interrupt(self, process: subprocess.Popen[str], number: signal.Signals) -> str:
        """Send a signal when the stand-in has begun; return stderr once both are gone."""
        pid = self.wait_for_pid(process)
        process.send_signal(number)
        _out, err = process.communicate(timeout=BUSY_SECONDS)
        assert process.returncode == ExitCode.INTERRUPTED, err
        assert running(pid) == []
        return err

    def wait_for_pid(self, process: subprocess.Popen[str]) -> int:
        deadline = time.monotonic() + BUSY_SECONDS
        while time.monotonic() < deadline:
            if (self.home / "pid").exists() and (text := (self.home / "pid").read_text().strip()):
                (self.home / "pid").unlink()
                return int(text)
            if process.poll() is not None:
                break
            time.sleep(0.1)
        process.kill()
        pytest.fail(f"it never began: {process.communicate()}")

    def leftovers(self) -> list[Path]:
        """Everything staged or scratch that should be gone after a command."""
        return [
            path
            for path in self.cache.rglob("*")
            if path.name.startswith((".download.", "overlay-")) or path.parent.name == "tmp"
        ]


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def test_a_second_signal_does_not_stop_the_cleaning_up(lab: Lab, mini_kernel: Path) -> None:
    lab.stand_in("make", MAKE)
    process = lab.start("kernel", "build", "6.12", "--source", mini_kernel)
    pid = lab.wait_for_pid(process)
    for _ in range(3):
        process.send_signal(signal.SIGTERM)
        time.sleep(0.01)
    _out, err = process.communicate(timeout=BUSY_SECONDS)
    assert process.returncode == ExitCode.INTERRUPTED, err
    assert err.splitlines()[-1] == "mglru: interrupted; finished work is kept"
    assert "Traceback" not in err
    assert running(pid) == []
    assert lab.leftovers() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_build_is_finished_by_the_next_run(
    lab: Lab, mini_kernel: Path, number: signal.Signals
) -> None:
    lab.stand_in("make", MAKE)
    build = ("kernel", "build", "6.12", "--source", mini_kernel)
    err = lab.interrupt(lab.start(*build), number)
    assert err.splitlines()[-1] == "mglru: interrupted; finished work is kept"
    assert "Traceback" not in err
    assert lab.leftovers() == []
    (lab.home / "go").touch()
    process = lab.start(*build)
    out, err = process.communicate(timeout=BUSY_SECONDS)
    assert process.returncode == 0, err
    assert Path(out.split("\t")[2].strip()).read_text() == "image\n"


def test_a_failed_build_shows_the_log_and_keeps_it(lab: Lab, mini_kernel: Path) -> None:
    lab.stand_in("make", MAKE)
    (lab.home / "broken").touch()
    process = lab.start("kernel", "build", "6.12", "--source", mini_kernel)
    _out, err = process.communicate(timeout=BUSY_SECONDS)
    assert process.returncode == ExitCode.INFRASTRUCTURE
    assert "cannot build 6.12: exit status 2" in err
    assert "mm/vmscan.c:1: error: no such thing" in err
    log = Path(err.rsplit("the whole log is ", 1)[1].strip())
    assert "CC      mm/vmscan.o" in log.read_text()
    (lab.home / "broken").unlink()
    (lab.home / "go").touch()
    again = lab.start("kernel", "build", "6.12", "--source", mini_kernel)
    assert again.wait(timeout=BUSY_SECONDS) == 0
    again.communicate()


def test_two_builds_of_one_kernel_at_once_share_the_work(lab: Lab, mini_kernel: Path) -> None:
    lab.stand_in("make", MAKE)
    (lab.home / "go").touch()
    both = [lab.start("kernel", "build", "6.12", "--source", mini_kernel) for _ in range(2)]
    outputs = [process.communicate(timeout=BUSY_SECONDS) for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    assert outputs[0][0] == outputs[1][0]


@pytest.mark.skipif(not archive.available(), reason="this machine has no apt")
def test_an_interrupted_download_leaves_nothing(lab: Lab) -> None:
    lab.stand_in("apt-get", APT)
    lab.interrupt(lab.start("kernel", "fetch", "6.12"), signal.SIGINT)
    assert lab.leftovers() == []
    assert list((lab.cache / "sources" / "6.12").iterdir()) == []


@pytest.mark.skipif(not archive.available(), reason="this machine has no apt")
def test_without_a_network_the_download_says_what_else_to_do(lab: Lab) -> None:
    nowhere = "http://127.0.0.1:9"
    lab.environment |= {"http_proxy": nowhere, "https_proxy": nowhere}
    config = lab.home / "apt.conf"
    config.write_text(f'Acquire::http::Proxy "{nowhere}"; Acquire::https::Proxy "{nowhere}";')
    lab.environment["APT_CONFIG"] = str(config)
    process = lab.start("kernel", "fetch", "6.12")
    _out, err = process.communicate(timeout=BUSY_SECONDS)
    assert process.returncode == ExitCode.INFRASTRUCTURE
    assert "cannot download linux-source-6.12 from Debian" in err
    assert "--source DIR|TARBALL" in err
    assert "Traceback" not in err
