# SPDX-License-Identifier: GPL-2.0-only
"""The sweep: a document that a report reads beside runs."""

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
