# SPDX-License-Identifier: GPL-2.0-only
"""Inputs of every kind for the tests of the report: small, complete, of made-up figures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mglru.guest.latency import Histogram
from mglru.report.inputs import ReportInputs
from mglru.results.compare import Named
from mglru.results.model import BootRecord, Headline, Published, RunInfo, RunResult
from mglru.results.timeline import Timeline
from mglru.series.listing import load_series
from mglru.study.bound.file import Bound
from mglru.study.sweep.file import Sweep, SweepPoint
from support.provenance import provenance

KERNELS = ("6.12@classic", "6.12", "7.3", "6.12+next")
REFAULTS = "workingset_refault_file"


def make_run(
    values: Mapping[str, Mapping[str, float]],
    *,
    experiment: str = "ycsb-b",
    boots: int = 1,
    series: Mapping[str, str] | None = None,
    **parts: Any,
) -> RunResult:
    """A run from {kernel: {metric: value}}; later boots are a little slower; with a histogram."""
    made_by = provenance(
        {kernel: (series or {}).get(kernel) for kernel in values},
        options={"memory_mb": 2048},
        parameters=parts.get("parameters"),
    )
    info = RunInfo(
        experiment=experiment,
        machine="uml",
        seed=1,
        kernels=list(values),
        boots=boots,
        provenance=made_by,
        headline=[
            Headline(name="ops_per_second", better="higher"),
            Headline(name=REFAULTS, better="lower"),
        ],
        published={"ops_per_second": Published(before=100, after=128)},
    )
    records = [
        _boot(kernel, boot, metrics) for boot in range(boots) for kernel, metrics in values.items()
    ]
    return RunResult.from_boots(info, records)


def _boot(kernel: str, boot: int, metrics: Mapping[str, float]) -> BootRecord:
    counts = [(0, 900), (80, 90), (int(1e6 / metrics.get("ops_per_second", 100)), 10)]
    return BootRecord(
        kernel=kernel,
        boot=boot,
        seed=1 + boot,
        metrics={name: value * (1 + 0.01 * boot) for name, value in metrics.items()},
        latency={"latency": Histogram(counts).encode()},
        timeline=None if boot else _timeline(kernel),
    )


def _timeline(kernel: str) -> Timeline:
    moments = range(200)
    figures = {
        REFAULTS: [25 * at for at in moments],
        "nr_dirty": [int(1000 + 900 * math.sin(at / 9)) for at in moments],
        "psi_some_us": [3000 * at for at in moments],
        "memory_current": [160_000_000 for _ in moments],
    }
    if "classic" not in kernel:
        figures |= {
            f"generation_{age}_file": [int(4000 + 2000 * math.sin(at / 20 + age)) for at in moments]
            for age in range(4)
        }
    return Timeline(seconds=[at / 50 for at in moments], figures=figures)


def ordinary_run(**options: Any) -> RunResult:
    """Four kernels, in three boots."""
    figures = {
        kernel: {"ops_per_second": 100 + 10 * at, REFAULTS: 5000 - 700 * at}
        for at, kernel in enumerate(KERNELS)
    }
    return make_run(figures, boots=3, **options)


def waterfall_run(*, measured: bool = True) -> RunResult:
    """Stock, the first patches of the series, and all of it; each patch wins a tenth."""
    series = load_series("6.12")
    kernels = ["6.12", "6.12+next:1", "6.12+next:3", "6.12+next"]
    ends = [0, 1, 3, len(series.patches)]
    shas = {
        kernel: series.first(end if end < len(series.patches) else None).sha256
        for kernel, end in zip(kernels[1:], ends[1:], strict=True)
    }
    figures = {
        kernel: {"ops_per_second": 100 * 1.1**at, REFAULTS: 5000 / 1.1**at}
        for at, kernel in enumerate(kernels)
    }
    return make_run(figures, series=shas if measured else dict.fromkeys(shas, "0" * 64), boots=5)


def make_sweep() -> Sweep:
    """Three limits by two skews."""
    limits, skews = ["64M", "128M", "256M"], [0.8, 0.99]
    points = [
        SweepPoint(
            settings={"limit": limit, "zipf": skew},
            run=make_run(
                {
                    kernel: {
                        "ops_per_second": 50 + 30 * at,
                        REFAULTS: 9000 - 2000 * at - 90 * number,
                    }
                    for number, kernel in enumerate(KERNELS)
                }
            ),
        )
        for at, limit in enumerate(limits)
        for skew in skews
    ]
    vary: dict[str, Any] = {"limit": limits, "zipf": skews}
    return Sweep(experiment="ycsb-b", vary=vary, kernels=list(KERNELS), points=points)


def bound_document() -> dict[str, Any]:
    """The optimum and three policies beside two kernels, as their file has them."""
    refaults = {"LRU": 5000, "S3-FIFO": 4200, "ARC": 4300, "Belady": 2000}
    unused = {"unused": 0, "workingset_refault_file": 5000}
    return {
        "format": 1,
        "kind": "bound",
        "experiment": "ycsb-b",
        "seed": 1,
        "accesses": 1_000_000,
        "pages": 90_000,
        "faults": 0,
        "first_time": 90_000,
        "capacity_pages": 40_000,
        "policies": {name: {"misses": r + 90_000, "refaults": r} for name, r in refaults.items()},
        "recorded_on": "6.12",
        "kernels": {
            "6.12": {"misses": 94_900, "refaults": 4900} | unused,
            "6.12+next": {"misses": 93_000, "refaults": 3000} | unused,
        },
    }


def make_bound() -> Bound:
    """The same as a value."""
    document = bound_document()
    return Bound.model_validate({k: v for k, v in document.items() if k not in {"format", "kind"}})


def all_inputs() -> ReportInputs:
    """Every kind of chart that a page can have."""
    return ReportInputs(
        runs=[Named("one", ordinary_run()), Named("two", ordinary_run(experiment="other"))],
        waterfalls=[Named("steps", waterfall_run())],
        sweeps=[make_sweep()],
        bounds=[make_bound()],
    )
