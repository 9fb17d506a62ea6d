# SPDX-License-Identifier: GPL-2.0-only
"""A cluster of this machine, which ends with its test."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from mglru.core.paths import REPO
from support import lab_process


class Cluster:
    """A scheduler of its own, and workers that end with the test."""

    def __init__(self, home: Path, port: int = 0) -> None:
        self._home = home
        self.processes: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start("scheduler", "--port", str(port))
        self.address = self._wait("scheduler0.log", "scheduler at ").split(";")[0]

    def _start(self, *words: str, lab: Path = REPO, cache: Path | None = None) -> int:
        number = len(self.processes)
        environment = {**os.environ, "MGLRU_NO_INSTALL": "1", "PYTHONPATH": str(lab / "src")}
        if cache:
            environment["MGLRU_CACHE"] = str(cache)
        with (self._home / f"{words[0]}{number}.log").open("wb") as log:
            command = ["env", "--default-signal=INT", lab_process.PYTHON, "-m", "mglru", "cluster"]
            started = subprocess.Popen(
                [*command, *words], env=environment, stdout=log, stderr=log, cwd=self._home
            )
        self.processes.append(started)
        return number

    def _wait(self, log: str, text: str) -> str:
        """Return what follows a text in a log, as soon as it is there."""
        for _attempt in range(2400):
            said = (self._home / log).read_text()
            if text in said:
                return said.split(text, 1)[1].split("\n")[0]
            time.sleep(0.05)
        pytest.fail(f"{log}: {said}")

    def worker(self, *, lab: Path = REPO, cache: Path | None = None) -> int:
        """Start a worker that makes one boot at once, and return its number."""
        number = self._start("worker", self.address, "--boots", "1", lab=lab, cache=cache)
        self._wait(f"worker{number}.log", "boot(s) at once")
        return number

    def signal(self, number: int, what: signal.Signals) -> int:
        """Send a signal to a process and return its exit status."""
        self.processes[number].send_signal(what)
        return self.processes[number].wait(timeout=60)

    def stop(self) -> None:
        for each in reversed(self.processes):
            if each.poll() is None:
                each.terminate()
                each.wait(timeout=60)
