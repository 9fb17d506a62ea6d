# SPDX-License-Identifier: GPL-2.0-only
"""The stress on several processors: how long, how large, how far, what came of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mglru.core.ui import Ui
from mglru.experiment.load import load_experiment
from mglru.experiment.settings import Setting, recorded
from mglru.experiment.spec import Experiment
from mglru.guest import console
from mglru.machine.registry import MACHINES, THREADS
from mglru.results.model import BootRecord, RunResult
from mglru.results.result_file import ResultFile
from mglru.run.session import Session
from mglru.source.kernel_id import KernelId

NAME = "stress-ng"
# Without the stressors of stress-ng, which come from Debian.
ALONE = "stress"
# What a boot takes beside the stress: of the guest to come up, and to come to rest.
BOOT_SECONDS = 900
# A process in the middle of something long has to come to its end first.
PATIENCE = 1.5
DONE, REFUSED = "done_", "failed_"
# Figures that are 0 in a kernel whose counters agree, by guest/stress/stress_check.c.
AGREEMENT = ("left_", "more_", "zone_drift_", "group_drift_", "lru_gen_drift_")
# What guest/stress/stress.c writes on the console every few seconds.
_TOLD = re.compile(rb"stress: (\d+) of \d+ s, ([^\r\n]*)")


def settings(seconds: int, cpus: int, nodes: int) -> list[Setting]:
    """Return the settings of the experiment for so long, on so many processors and nodes."""
    chosen = {"seconds": seconds, "guest.cpus": cpus, "guest.nodes": nodes}
    return [Setting(name, str(value)) for name, value in chosen.items()]


def stress_experiment(seconds: int, cpus: int, nodes: int, name: str = NAME) -> Experiment:
    """Return an experiment of the stress, with the time that it needs on `qemu-threads`.

    Args:
        seconds: for which the stress lasts, by the guest's clock, which is the host's.
        cpus: processors of the guest.
        nodes: its memory nodes.
        name: NAME or ALONE.

    Raises:
        UsageError: the machine has fewer processors or nodes.
    """
    experiment = load_experiment(name, settings(seconds, cpus, nodes))
    limit = (seconds * PATIENCE + BOOT_SECONDS) / MACHINES[THREADS].slowness
    return experiment.model_copy(update={"limit_seconds": limit})


@dataclass(frozen=True, kw_only=True)
class WantedStress:
    """What is to be stressed, and how.

    Attributes:
        kernels: which, one after another.
        seconds: see `stress_experiment`, as of the next three.
        cpus: processors of the guest.
        nodes: its memory nodes.
        name: NAME or ALONE.
        seed: of the one boot of each kernel.
        json_file: where the result is kept; None: nowhere.
        own_sources: the user's kernel sources.
    """

    kernels: Sequence[KernelId]
    seconds: int
    cpus: int
    nodes: int
    name: str
    seed: int
    json_file: str | None = None
    own_sources: Sequence[Path] = ()


def run_stress(wanted: WantedStress, ui: Ui) -> RunResult:
    """Run the stress on kernels, one after another, with a bar that tells how far.

    Raises:
        UsageError: more processors or nodes than the machine has; before anything is built.
        LabError: no kernel, no data, no boot.
    """
    experiment = stress_experiment(wanted.seconds, wanted.cpus, wanted.nodes, wanted.name)
    with ResultFile.wanted(wanted.json_file) as file:
        session = Session(wanted.kernels, wanted.own_sources, ui, file, machine=THREADS)
        with ui.bar("seconds of stress", wanted.seconds) as update:
            return session.run(
                experiment,
                boots=1,
                seed=wanted.seed,
                parameters=recorded(settings(wanted.seconds, wanted.cpus, wanted.nodes)),
                watch=Watcher(update),
            )


class Watcher:
    """Tells how far a stress is, from what the guest's console says.

    Args:
        tell: called with the seconds that are over and a line about the rest.
    """

    def __init__(self, tell: Callable[[float, str], None]) -> None:
        self._tell = tell
        self._expected = load_experiment(NAME).expects
        self._begin(Path())

    def _begin(self, log: Path) -> None:
        self._log = log
        self._at = 0
        self._reports = 0

    def __call__(self, log: Path) -> None:
        """Read the lines that the console has more than at the last call."""
        if log != self._log:
            self._begin(log)
        with log.open("rb") as file:
            file.seek(self._at)
            lines, end, _unfinished = file.read().rpartition(b"\n")
        self._at += len(lines + end)
        self._reports += len(console.unexpected(console.scan(lines), self._expected))
        if told := _TOLD.findall(lines):
            seconds, text = told[-1]
            self._tell(float(seconds), f"{text.decode(errors='replace')}{self._trouble}")

    @property
    def _trouble(self) -> str:
        return f", {self._reports} REPORTS" if self._reports else ""


@dataclass(frozen=True)
class ActionCount:
    """How often an action was done in one boot, and how often the kernel refused it."""

    name: str
    done: int
    refused: int


def action_counts(metrics: Mapping[str, float]) -> list[ActionCount]:
    """Return the counts of all actions of a boot, in the order of its metrics."""
    return [
        ActionCount(name, int(done), int(metrics.get(REFUSED + name, 0)))
        for name, done in (
            (key.removeprefix(DONE), value)
            for key, value in metrics.items()
            if key.startswith(DONE)
        )
    ]


def disagreements(record: BootRecord) -> dict[str, float]:
    """Return what the kernel's counters did not agree on after a boot, in pages."""
    return {
        name: value
        for name, value in record.metrics.items()
        if value and name.startswith(AGREEMENT)
    }
