# SPDX-License-Identifier: GPL-2.0-only
"""Experiments whose data shell scripts make."""

from __future__ import annotations

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
