# SPDX-License-Identifier: GPL-2.0-only
"""Latency histograms: built from a driver's counts, read as percentiles, kept as text."""

from __future__ import annotations

from collections.abc import Iterable

from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]

# Three significant digits: exact up to 2,047 units, within 0.1 % above. The highest
# value is what guest/lib/latency.c can hold: over an hour in microseconds.
SIGNIFICANT_DIGITS = 3
LOWEST = 1
HIGHEST = 2**32 - 1

PERCENTILES = {"p50": 50.0, "p90": 90.0, "p95": 95.0, "p99": 99.0, "p999": 99.9}


class Histogram:
    """How often each latency was seen, in whole units (microseconds as a rule)."""

    def __init__(self, counts: Iterable[tuple[int, int]] = ()) -> None:
        self._hdr = HdrHistogram(LOWEST, HIGHEST, SIGNIFICANT_DIGITS)
        self.add(counts)

    def add(self, counts: Iterable[tuple[int, int]]) -> int:
        """Count each (value, times) pair; return how many samples were out of range."""
        return sum(
            times for value, times in counts if times and not self._hdr.record_value(value, times)
        )

    @property
    def total(self) -> int:
        """The number of samples."""
        return int(self._hdr.get_total_count())

    def summary(self) -> dict[str, float]:
        """Return mean, p50, p90, p95, p99, p999 and max; nothing if there are no samples."""
        if not self.total:
            return {}
        at = self._hdr.get_percentile_to_value_dict(list(PERCENTILES.values()))
        highest = float(self._hdr.get_max_value())
        figures = {name: float(at[percentile]) for name, percentile in PERCENTILES.items()}
        return {"mean": float(self._hdr.get_mean_value()), **figures, "max": highest}

    def encode(self) -> str:
        """Return the histogram in HdrHistogram's own interchange format (V2, base64)."""
        encoded: bytes = self._hdr.encode()
        return encoded.decode("ascii")

    def at(self, percentile: float) -> float:
        """Return the value that so many percent of the samples do not exceed."""
        return float(self._hdr.get_value_at_percentile(percentile))

    @classmethod
    def decode(cls, *texts: str) -> Histogram:
        """Read what `encode` wrote, or any other HdrHistogram program; several become one."""
        histogram = cls()
        for text in texts:
            histogram._hdr.decode_and_add(text.encode("ascii"))
        return histogram
