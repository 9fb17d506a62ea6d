# SPDX-License-Identifier: GPL-2.0-only
"""The documents that a report reads beside runs: sweeps and bounds."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from mglru.results import RunResult

Scalar = str | int | float


class _Model(BaseModel):
    """Keys that this version does not know are left alone: the report shows what it can."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class SweepPoint(_Model):
    """One point of a sweep: its settings, and the run with them."""

    settings: dict[str, Scalar]
    run: RunResult


class Sweep(_Model):
    """One experiment with some settings varied.

    Attributes:
        experiment: its name.
        vary: the values of each setting that is varied.
        kernels: ids, in the order asked for.
        points: the runs so far.
    """

    kind: Literal["sweep"]
    experiment: str
    vary: dict[str, list[Scalar]] = Field(min_length=1)
    kernels: list[str] = Field(min_length=1)
    points: list[SweepPoint] = []


class PolicyResult(_Model):
    """What a simulated policy does with the recorded accesses."""

    misses: float
    refaults: float


class KernelAccesses(_Model):
    """What a kernel did with its own accesses."""

    misses: float
    refaults: float


class Bound(_Model):
    """The optimum, and other policies, on the recorded accesses of one experiment.

    Attributes:
        experiment: its name.
        seed: of the boot that was recorded.
        accesses: how many page accesses were recorded.
        pages: how many different pages.
        capacity_pages: how many pages the simulated cache holds.
        policies: what each policy does, by name.
        kernels: what each kernel did.
        recorded_on: the kernel whose accesses the policies were given.
        settings: what `--set` changed.
    """

    kind: Literal["bound"]
    experiment: str
    seed: int
    accesses: int = Field(ge=0)
    pages: int = Field(ge=0)
    capacity_pages: int = Field(ge=0)
    policies: dict[str, PolicyResult] = Field(min_length=1)
    kernels: dict[str, KernelAccesses] = {}
    recorded_on: str = ""
    settings: list[str] = []
