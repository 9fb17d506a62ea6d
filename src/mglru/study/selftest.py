# SPDX-License-Identifier: GPL-2.0-only
"""How far boots that should be the same differ: the lab's test of itself."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from mglru.core import stats
from mglru.core.errors import UsageError
from mglru.core.figures import number
from mglru.core.ui import Ui
from mglru.experiment.load import load_experiment
from mglru.experiment.settings import Setting, recorded
from mglru.machine.registry import MACHINES
from mglru.results.marks import TOLERANCE
from mglru.results.model import RunResult
from mglru.results.result_file import ResultFile
from mglru.results.tables import DEFAULT_WIDTH
from mglru.run.session import Session
from mglru.source.kernel_id import KernelId

SHOWN = 20


@dataclass(frozen=True)
class Spread:
    """One metric over boots of one kernel with one seed.

    Attributes:
        experiment: its name.
        kernel: its id.
        seed: of all these boots.
        metric: its name.
        values: of every boot that has it.
        boots: how many boots there were.
        relative: (max - min) / median; infinite if only the median is zero, or if a boot
            lacks the metric.
    """

    experiment: str
    kernel: str
    seed: int
    metric: str
    values: tuple[float, ...]
    boots: int
    relative: float

    def __str__(self) -> str:
        return f"{self.metric} of {self.experiment} on {self.kernel}: {self.relative:.2%}"


@dataclass(frozen=True, kw_only=True)
class WantedSelftest:
    """What is to be booted again and again.

    Attributes:
        name: of the experiment.
        kernels: which.
        machine: a name in `registry.MACHINES`.
        settings: of the experiment.
        boots: of each kernel, 2 or more.
        seed: of all boots.
        json_file: where the result is kept, boot by boot; None: nowhere.
        own_sources: the user's kernel sources.
    """

    name: str
    kernels: Sequence[KernelId]
    machine: str
    settings: Sequence[Setting]
    boots: int
    seed: int
    json_file: str | None = None
    own_sources: Sequence[Path] = ()


@dataclass(frozen=True)
class Agreement:
    """How far boots with one seed agree.

    Attributes:
        result: of the boots.
        spreads: of every metric, the widest first.
    """

    result: RunResult
    spreads: Sequence[Spread]

    @property
    def widest(self) -> float:
        """The widest relative spread of a headline figure."""
        return widest(self.spreads, [headline.name for headline in self.result.headline])

    @property
    def agrees(self) -> bool:
        """Whether no headline figure differs by more than what is tolerated."""
        return self.widest <= TOLERANCE


def run_selftest(wanted: WantedSelftest, ui: Ui) -> Agreement:
    """Boot one experiment several times with one seed, and return how far the boots agree.

    Raises:
        UsageError: an experiment or a setting that there is not, or real time.
        LabError: no kernel, no data, no boot.
    """
    experiment = load_experiment(wanted.name, wanted.settings)
    if MACHINES[wanted.machine].fit(experiment).time == "real":
        raise UsageError(
            f"{wanted.name} measures real time on the machine {wanted.machine}, which never "
            "repeats exactly",
            next_step="choose one in virtual time (./mglru experiments tells), or --machine qemu",
        )
    with ResultFile.wanted(wanted.json_file) as file:
        session = Session(wanted.kernels, wanted.own_sources, ui, file, machine=wanted.machine)
        result = session.run(
            experiment,
            boots=wanted.boots,
            seed=wanted.seed,
            parameters=recorded(wanted.settings),
            vary_seed=False,
        )
    return Agreement(result, spread([result]))


def spread(results: Iterable[RunResult]) -> list[Spread]:
    """Return the relative spread of every metric, the widest first.

    Only boots of the same experiment, kernel and seed are compared.

    Raises:
        UsageError: no kernel was booted twice with one seed.
    """
    groups: dict[tuple[str, str, int], list[dict[str, float]]] = {}
    for result in results:
        for record in result.raw:
            key = (result.experiment, record.kernel, record.seed)
            groups.setdefault(key, []).append(record.metrics)
    spreads = [
        _one(key, name, boots)
        for key, boots in groups.items()
        if len(boots) > 1
        for name in sorted({name for metrics in boots for name in metrics})
    ]
    if not spreads:
        raise UsageError(
            "a spread needs at least two boots of one kernel with the same seed",
            next_step="boot more often with --boots",
        )
    return sorted(spreads, key=lambda item: (-item.relative, item.metric))


def _one(key: tuple[str, str, int], name: str, boots: Sequence[dict[str, float]]) -> Spread:
    values = tuple(metrics[name] for metrics in boots if name in metrics)
    complete = len(values) == len(boots)
    relative = stats.relative_spread(values) if complete else float("inf")
    return Spread(*key, name, values, len(boots), relative)


def widest(spreads: Iterable[Spread], metrics: Sequence[str] = ()) -> float:
    """Return the widest relative spread, of all metrics or of those named; 0 if there is none."""
    return max((s.relative for s in spreads if not metrics or s.metric in metrics), default=0.0)


def render(spreads: Sequence[Spread], *, width: int | None = None, shown: int = SHOWN) -> str:
    """Return the widest spreads as a table, and how many metrics did not differ at all."""
    differing = [item for item in spreads if item.relative > 0]
    buffer = io.StringIO()
    console = Console(file=buffer, width=width or DEFAULT_WIDTH, no_color=True, highlight=False)
    if differing:
        console.print(_table(differing[:shown]))
    if len(differing) > shown:
        console.print(f"and {len(differing) - shown} more that differ")
    boots = " or ".join(str(n) for n in sorted({item.boots for item in spreads}))
    same = len(spreads) - len(differing)
    console.print(f"{same} of {len(spreads)} metrics are the same to the bit in {boots} boots")
    return buffer.getvalue()


def _table(spreads: Sequence[Spread]) -> Table:
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for heading in ("metric", "experiment", "kernel"):
        grid.add_column(heading, overflow="fold")
    for heading in ("least", "most", "spread"):
        grid.add_column(heading, justify="right")
    for item in spreads:
        least, most = number(min(item.values)), number(max(item.values))
        grid.add_row(item.metric, item.experiment, item.kernel, least, most, f"{item.relative:.3%}")
    return grid
