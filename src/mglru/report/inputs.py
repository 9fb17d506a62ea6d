# SPDX-License-Identifier: GPL-2.0-only
"""Step 1 of a report: files, told apart by what they hold."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mglru.core.errors import UsageError
from mglru.results.compare import Named, load_named
from mglru.results.folders import result_files
from mglru.results.model import RunResult
from mglru.source.kernel_id import KernelId
from mglru.study.bound import file as bound_file
from mglru.study.bound.file import LRU, OPTIMUM, Bound
from mglru.study.sweep import file as sweep_file
from mglru.study.sweep.file import Sweep

RUN, SWEEP, BOUND = "run", sweep_file.KIND.name, bound_file.KIND.name
# From so many prefixes of the series on, a run shows the effect of single patches.
PREFIXES_OF_A_WATERFALL = 2


@dataclass
class ReportInputs:
    """What the files of a report hold, each kind in the order of the files."""

    runs: list[Named] = field(default_factory=list)
    waterfalls: list[Named] = field(default_factory=list)
    sweeps: list[Sweep] = field(default_factory=list)
    bounds: list[Bound] = field(default_factory=list)

    def experiments(self) -> list[str]:
        """Return the names of all experiments, each once, in the order of the files."""
        named = [each.run.experiment for each in (*self.runs, *self.waterfalls)]
        named += [each.experiment for each in self.sweeps]
        named += [each.experiment for each in self.bounds]
        return list(dict.fromkeys(named))


def load_inputs(paths: Sequence[str | Path]) -> ReportInputs:
    """Read result files, or those of directories, of any kind: runs, waterfalls, sweeps, bounds.

    Raises:
        UsageError: a file cannot be read, or is none of these.
    """
    inputs = ReportInputs()
    for path in result_files(paths):
        _add(inputs, path)
    return inputs


def _add(inputs: ReportInputs, path: str | Path) -> None:
    kind = _kind_of(path)
    if kind == SWEEP:
        inputs.sweeps.append(sweep_file.load(path))
    elif kind == BOUND:
        inputs.bounds.append(_load_bound(path))
    elif kind == RUN:
        for named in load_named([path]):
            target = inputs.waterfalls if is_waterfall(named.run) else inputs.runs
            target.append(named)
    else:
        raise UsageError(
            f"{path} is of the kind '{kind}', which a report does not show",
            next_step=f"name results of a run, or of the kinds {SWEEP} and {BOUND}",
        )


def _kind_of(path: str | Path) -> str:
    """Return the kind that a file names; that of runs, which name none, also for a bad file.

    The reader of runs knows all that can be wrong with a file.
    """
    with contextlib.suppress(OSError, ValueError, RecursionError):
        document = json.loads(Path(path).read_text(encoding="utf-8"))
        if isinstance(document, dict):
            return str(document.get("kind", RUN))
    return RUN


def is_waterfall(run: RunResult) -> bool:
    """Whether a run's kernels are prefixes of the series."""
    prefixes = [name for name in run.kernels if KernelId.parse(name).upto is not None]
    return len(prefixes) >= PREFIXES_OF_A_WATERFALL


def _load_bound(path: str | Path) -> Bound:
    bound = bound_file.load(path)
    if missing := {OPTIMUM, LRU} - bound.policies.keys():
        raise bound_file.KIND.refuse(str(path), f"it lacks {', '.join(sorted(missing))}")
    return bound
