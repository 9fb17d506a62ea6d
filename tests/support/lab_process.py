# SPDX-License-Identifier: GPL-2.0-only
"""The lab as a process of its own, which an interrupt reaches and which ends with its test."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from mglru.core.paths import REPO

PYTHON = sys.executable
# The path as `./mglru` sets it: pytest knows its own way, which programs that it starts do not.
OWN = {"MGLRU_NO_INSTALL": "1", "PYTHONPATH": str(REPO / "src")}
# SIGTERM lets the lab take its guests along, which takes a while where much else runs.
STOP_SECONDS = 60
_started: list[subprocess.Popen[str]] = []


def start(
    *arguments: str | Path,
    environment: Mapping[str, str] | None = None,
    output: BinaryIO | None = None,
    cwd: Path | None = None,
) -> subprocess.Popen[str]:
    """Start `./mglru` with arguments.

    Args:
        arguments: after the program's name.
        environment: variables added to those of this process.
        output: gets all that it prints; None: stdout and stderr are pipes.
        cwd: working directory.
    """
    # What a shell starts in the background ignores SIGINT, and so would this, started from it.
    command = ["env", "--default-signal=INT", PYTHON, "-m", "mglru", *map(str, arguments)]
    process = subprocess.Popen(
        command,
        env={**os.environ, **OWN, **(environment or {})},
        stdout=output or subprocess.PIPE,
        stderr=output or subprocess.PIPE,
        cwd=cwd,
        text=True,
    )
    _started.append(process)
    return process


def stop_all() -> None:
    """End what a test has left running, as one does that failed; the last one first."""
    while _started:
        process = _started.pop()
        if process.poll() is not None:
            continue
        process.terminate()
        try:
            process.communicate(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
