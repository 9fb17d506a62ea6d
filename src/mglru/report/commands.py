# SPDX-License-Identifier: GPL-2.0-only
"""The commands that make again what a report shows."""

from __future__ import annotations

import shlex

from mglru.results.model import RunResult
from mglru.study.bound.file import Bound
from mglru.study.sweep.file import Sweep

# A run has this parameter if it was made by `try`: the user's own program.
TRIED = "command"


def settings_of(run: RunResult) -> str:
    """Return the settings of a run as the command line gives them; nothing if it has none."""
    parameters = run.provenance.experiment.parameters
    if TRIED in parameters:
        options = {key: value for key, value in parameters.items() if key != TRIED}
        words = [f"--{key.replace('_', '-')} {shlex.quote(str(v))}" for key, v in options.items()]
        return " ".join([*words, "--", str(parameters[TRIED])])
    return " ".join(f"--set {shlex.quote(f'{key}={value}')}" for key, value in parameters.items())


def command_of(run: RunResult) -> str:
    """Return the command that makes a run again."""
    tried = TRIED in run.provenance.experiment.parameters
    common = [
        f"--kernels {','.join(run.kernels)}",
        f"--boots {run.boots} --seed {run.seed}",
        f"--json {run.experiment}.json",
    ]
    first = "./mglru try" if tried else f"./mglru run {run.experiment}"
    # what follows `--` is the user's command, and comes last
    return " ".join(part for part in (first, *common, settings_of(run)) if part)


def sweep_command(sweep: Sweep) -> str:
    """Return the command that makes a sweep again."""
    words = [f"./mglru sweep {sweep.experiment}"]
    for key, values in sweep.vary.items():
        words.append(f"--vary {shlex.quote(f'{key}=' + ','.join(map(str, values)))}")
    words.append(f"--kernels {','.join(sweep.kernels)}")
    if sweep.points:
        run = sweep.points[0].run
        words.append(f"--boots {run.boots} --seed {run.seed}")
    return " ".join([*words, f"--json {sweep.experiment}-sweep.json"])


def bound_command(bound: Bound) -> str:
    """Return the command that makes a bound again."""
    words = [f"./mglru bound {bound.experiment}"]
    if bound.kernels:
        words.append(f"--kernels {','.join(bound.kernels)}")
    words.append(f"--seed {bound.seed}")
    words += [f"--set {shlex.quote(setting)}" for setting in bound.settings]
    return " ".join([*words, f"--json {bound.experiment}-bound.json"])
