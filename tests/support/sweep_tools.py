# SPDX-License-Identifier: GPL-2.0-only
"""What the tests of sweeps share: small sweeps, as values and as a command."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from mglru.results.model import BootRecord, Headline, RunInfo, RunResult
from mglru.source.kernel_id import KernelId
from mglru.study.sweep import file as sweep_file
from mglru.study.sweep.file import Sweep, SweepPoint
from mglru.study.sweep.points import Settings, combinations, parse_vary
from support.provenance import provenance

KERNELS = ["6.12", "6.12+next"]
IDS = [KernelId.parse(name) for name in KERNELS]
VARY = parse_vary(["limit=8M,32M", "zipf=0.8,1.2"], 2)
# Eight boots of about a second each.
SMALL = (
    *("read-twice", "--kernels", "6.12,6.12+next", "--vary", "limit=8M..48M", "--points", "4"),
    *("--set", "dataset.size_mb=64", "--set", "dataset.file_mb=32"),
    *("--set", "guest.memory_mb=512"),
)


def info(settings: Settings, **changes: object) -> RunInfo:
    """A run as it would be at a point."""
    parameters: dict[str, JsonValue] = {key: str(value) for key, value in settings.items()}
    run = RunInfo(
        experiment="ycsb-b",
        machine="uml",
        seed=1,
        kernels=KERNELS,
        boots=1,
        provenance=provenance(dict.fromkeys(KERNELS), parameters=parameters),
        headline=[Headline(name="ops_per_second", better="higher", label="ops/s")],
    )
    return run.model_copy(update=changes)


def record(kernel: str, refaults: float, boot: int = 0, *problems: str) -> BootRecord:
    """A boot with two figures."""
    metrics = {"ops_per_second": 1e6 / (refaults + 1), "workingset_refault_file": refaults}
    return BootRecord(
        kernel=kernel, boot=boot, seed=1 + boot, metrics=metrics, problems=list(problems)
    )


def sweep(vary: Mapping[str, list[str | int | float]] | None = None) -> Sweep:
    """A complete sweep: the second kernel has half of the refaults of the first."""
    varied = dict(vary or VARY)
    points = [
        SweepPoint(
            settings=settings,
            run=RunResult.from_boots(
                info(settings), [record("6.12", 1000 >> at), record("6.12+next", 500 >> at)]
            ),
        )
        for at, settings in enumerate(combinations(varied))
    ]
    return Sweep(experiment="ycsb-b", vary=varied, kernels=KERNELS, points=points)


def figures(path: Path) -> list[tuple[Settings, list[BootRecord]]]:
    """Return what a sweep's file says of every boot, but for how long it took the host."""
    return [
        (point.settings, [r.model_copy(update={"real_seconds": 0.0}) for r in point.run.raw])
        for point in sweep_file.load(path).points
    ]
