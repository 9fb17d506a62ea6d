# SPDX-License-Identifier: GPL-2.0-only
"""Experiments whose data shell scripts make; what is in images, and in the cache of them."""

from __future__ import annotations

import subprocess
from pathlib import Path

from mglru.build.build import Build
from mglru.experiment.load import load_experiment
from mglru.experiment.spec import Experiment

EXPERIMENT = """\
summary = "x"
[userland]
packages = []
[parameters]
lines = 1000
unused = 1
[dataset]
kind = "prepared"
size_mb = 64
memory_mb = 256
[[steps]]
label = "run"
argv = ["/bin/true"]
"""


STEP = """\
[[dataset.steps]]
label = "step_{number}"
argv = ["/bin/sh", "-c", '''{script}''']
"""


def experiment(tmp_path: Path, *scripts: str) -> Experiment:
    """An experiment whose data these shell scripts make."""
    steps = [STEP.format(number=n, script=script) for n, script in enumerate(scripts)]
    (tmp_path / "small.toml").write_text(EXPERIMENT + "".join(steps))
    return load_experiment("small", directory=tmp_path)


def no_kernel() -> Build:
    raise AssertionError("the image should have been in the cache")


def dump(image: Path, command: str) -> str:
    """What debugfs says of an image."""
    return subprocess.run(
        ["debugfs", "-R", command, image], check=True, capture_output=True, text=True
    ).stdout


def left_behind(cache: Path) -> list[str]:
    """What is in the cache of datasets, but for lock files."""
    return [path.name for path in (cache / "datasets").glob("*") if path.suffix != ".lock"]
