# SPDX-License-Identifier: GPL-2.0-only
"""Figures over time, as a result keeps them."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, model_validator


class Timeline(BaseModel):
    """Figures over time, one value of each at each moment.

    Attributes:
        seconds: the moments, since the begin of the measured part.
        figures: by name. What counts events counts from the begin of the measured part
            (`psi_some_us` and `psi_full_us` from the first moment); gauges are as they stood.
            `memory_current` is in bytes; `generation_0_file`, `generation_0_anon` and so on are
            sizes of generations in pages, 0 being the youngest; `agings` counts new generations
            since the first moment; `ops_per_second` is the driver's throughput since the moment
            before.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    seconds: list[float]
    figures: dict[str, list[int]]

    @model_validator(mode="after")
    def _as_long(self) -> Timeline:
        if wrong := [n for n, v in self.figures.items() if len(v) != len(self.seconds)]:
            raise ValueError(f"not one value a moment: {', '.join(wrong)}")
        return self
