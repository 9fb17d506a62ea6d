# SPDX-License-Identifier: GPL-2.0-only
"""What made a run, for runs that tests make up."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from mglru.results.model import (
    ExperimentProvenance,
    KernelProvenance,
    MachineProvenance,
    Provenance,
)

# Of a series that is none of this checkout.
SERIES = "5" * 64
BUILD = "0123456789ab"


def patched(kernel: str, series: str = SERIES) -> str | None:
    """The series of a kernel by its name; stock kernels have none."""
    return series if "+next" in kernel else None


def provenance(
    kernels: Mapping[str, str | None],
    *,
    seed: int = 1,
    virtual_time: bool = True,
    options: Mapping[str, JsonValue] | None = None,
    parameters: Mapping[str, JsonValue] | None = None,
) -> Provenance:
    """Say what made a run of kernels, given with the digests of their series."""
    return Provenance(
        kernels={
            name: KernelProvenance(
                release="6.12.117",
                base_version="6.12.117",
                series_sha256=series,
                config_sha256="c" * 64,
                compiler="gcc 12.2.0",
                build=BUILD,
            )
            for name, series in kernels.items()
        },
        machine=MachineProvenance(virtual_time=virtual_time, options=dict(options or {})),
        experiment=ExperimentProvenance(sha256="e" * 64, parameters=dict(parameters or {})),
        seed=seed,
    )
