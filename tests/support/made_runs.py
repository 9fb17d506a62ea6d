# SPDX-License-Identifier: GPL-2.0-only
"""Runs for tests, from figures by kernel and metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mglru.results.model import BootRecord, Headline, RunInfo, RunResult
from support.provenance import SERIES, patched, provenance

Values = Mapping[str, Mapping[str, Sequence[float]]]


def made_info(
    kernels: Sequence[str],
    *,
    experiment: str = "lagged:far",
    boots: int = 1,
    seed: int = 1,
    series: str = SERIES,
    headline: Sequence[Headline] = (),
) -> RunInfo:
    """Describe a run in virtual time."""
    return RunInfo(
        experiment=experiment,
        machine="uml",
        seed=seed,
        kernels=list(kernels),
        boots=boots,
        provenance=provenance({name: patched(name, series) for name in kernels}, seed=seed),
        headline=list(headline),
    )


def made_run(
    values: Values,
    *,
    experiment: str = "lagged:far",
    seed: int = 1,
    series: str = SERIES,
    headline: Sequence[Headline] = (),
    problems: Mapping[str, Sequence[int]] | None = None,
) -> RunResult:
    """Make a run from {kernel: {metric: [value of boot 0, ...]}}.

    `problems`: the boots, by kernel, in which something went wrong.
    """
    boots = max(len(series) for metrics in values.values() for series in metrics.values())
    info = made_info(
        list(values),
        experiment=experiment,
        boots=boots,
        seed=seed,
        series=series,
        headline=headline,
    )
    records = [
        BootRecord(
            kernel=name,
            boot=boot,
            seed=seed + boot,
            metrics={m: list_[boot] for m, list_ in metrics.items() if boot < len(list_)},
            problems=["it broke"] if boot in (problems or {}).get(name, ()) else [],
        )
        for boot in range(boots)
        for name, metrics in values.items()
    ]
    return RunResult.from_boots(info, records)
