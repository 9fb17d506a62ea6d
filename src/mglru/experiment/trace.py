# SPDX-License-Identifier: GPL-2.0-only
"""The sequence of operations of a run, drawn on the host so that every kernel gets the same.

The distributions are those of YCSB (Cooper et al., SoCC 2010): its zipfian ranks are hashed
over the records, so that hot records lie scattered over the pages; "latest" prefers the
records inserted last.
"""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, model_validator


class Op(IntEnum):
    """What an operation does; the same numbers are in guest/lib/trace.h."""

    READ = 0
    UPDATE = 1
    INSERT = 2
    SCAN = 3
    READ_MODIFY_WRITE = 4


RECORD = np.dtype([("op", "u1"), ("shift", "u1"), ("length", "<u2"), ("key", "<u4")])
"""One operation: what, whether the hot records are others from here on, on which record, and
for a scan how many records."""

Trace = npt.NDArray[np.void]
Floats = npt.NDArray[np.float64]
Keys = npt.NDArray[np.int64]
Distribution = Literal["zipfian", "latest", "uniform"]
Share = Annotated[float, Field(ge=0, le=1)]

EXACT_RANKS = 1 << 20
"""Ranks drawn one by one; rarer ones are, once hashed, uniform over the records."""

IN_FLIGHT = 64
"""Inserts this recent are not read: in YCSB, too, a record is read only once it is there."""

_FNV_OFFSET = np.uint64(0xCBF29CE484222325)
_FNV_PRIME = np.uint64(1099511628211)


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Mix(_Model):
    """Shares of the kinds of operations; they add up to 1."""

    read: Share = 0.0
    update: Share = 0.0
    insert: Share = 0.0
    scan: Share = 0.0
    read_modify_write: Share = 0.0

    @property
    def shares(self) -> Floats:
        """The shares in the order of `Op`."""
        return np.array(
            [self.read, self.update, self.insert, self.scan, self.read_modify_write], dtype=float
        )

    @model_validator(mode="after")
    def _whole(self) -> Mix:
        if abs(self.shares.sum() - 1) > 1e-9:
            raise ValueError(f"the shares of the mix add up to {self.shares.sum():g}, not to 1")
        return self


WORKLOADS: dict[str, tuple[Mix, Distribution]] = {
    "a": (Mix(read=0.5, update=0.5), "zipfian"),
    "b": (Mix(read=0.95, update=0.05), "zipfian"),
    "c": (Mix(read=1.0), "zipfian"),
    "d": (Mix(read=0.95, insert=0.05), "latest"),
    "e": (Mix(scan=0.95, insert=0.05), "zipfian"),
    "f": (Mix(read=0.5, read_modify_write=0.5), "zipfian"),
}
"""The core workloads of YCSB."""


class TraceSpec(_Model):
    """What to draw; the table [trace] of an experiment.

    Attributes:
        records: how many records the database has before the first operation.
        operations: how many operations are measured.
        warmup: how many come before them.
        workload: a core workload of YCSB, instead of `mix` and `distribution`.
        mix: shares of the kinds of operations.
        distribution: how reads, updates and scans choose their record.
        theta: exponent of the zipfian distribution.
        ranks: how many zipfian ranks are hashed over the records; YCSB has 10,000,000,000
            whatever the number of records (None: as many as records).
        scan_lengths: the shortest and the longest scan, drawn uniformly.
        scan_start: where scans start, if not as `distribution` says.
        shift: the share of the measured operations after which other records are the hot ones,
            scattered and popular as those before (None: always the same ones).
    """

    records: int = Field(gt=0, le=1 << 31)
    operations: int = Field(gt=0)
    warmup: int = Field(default=0, ge=0)
    workload: Literal["a", "b", "c", "d", "e", "f"] | None = None
    mix: Mix | None = None
    distribution: Distribution | None = None
    theta: float = Field(default=0.99, gt=0)
    ranks: int | None = Field(default=None, gt=0)
    scan_lengths: tuple[int, int] = (1, 100)
    scan_start: Distribution | None = None
    # Left out where there is none, so that such an experiment's digest is what it was.
    shift: float | None = Field(default=None, gt=0, lt=1, exclude_if=lambda shift: shift is None)

    @model_validator(mode="after")
    def _complete(self) -> TraceSpec:
        if (self.workload is None) == (self.mix is None):
            raise ValueError("a trace has either a workload or a mix")
        if self.workload is None and self.distribution is None:
            raise ValueError("a trace with a mix also needs a distribution")
        low, high = self.scan_lengths
        if not 1 <= low <= high < 1 << 16:
            raise ValueError("scan_lengths must be two ascending numbers from 1 to 65535")
        if self.shift is not None and self.resolved[1] != "zipfian":
            raise ValueError("only a zipfian distribution has hot records that a shift can change")
        return self

    @property
    def resolved(self) -> tuple[Mix, Distribution]:
        """The mix and the distribution, the workload's unless overridden."""
        if self.workload is None:
            assert self.mix is not None and self.distribution is not None  # noqa: S101
            return self.mix, self.distribution
        mix, distribution = WORKLOADS[self.workload]
        return mix, self.distribution or distribution

    @property
    def shift_at(self) -> int | None:
        """The operation, counted from the warm-up's first, from which on others are hot."""
        return None if self.shift is None else self.warmup + round(self.operations * self.shift)


def make_trace(spec: TraceSpec, seed: int) -> Trace:
    """Return the operations, warm-up first: an array of RECORD; the same for the same seed."""
    rng = np.random.default_rng(seed)
    mix, distribution = spec.resolved
    count = spec.warmup + spec.operations
    trace = np.zeros(count, dtype=RECORD)
    op = rng.choice(len(Op), size=count, p=mix.shares)
    trace["op"] = op
    trace["key"] = _choose(distribution, spec, op, rng)
    if spec.scan_start is not None:
        starts = _choose(spec.scan_start, spec, op, rng)
        trace["key"] = np.where(op == Op.SCAN, starts, trace["key"])
    inserts = op == Op.INSERT
    trace["key"][inserts] = spec.records + np.arange(inserts.sum())
    lengths = rng.integers(*spec.scan_lengths, size=count, endpoint=True)
    trace["length"] = np.where(op == Op.SCAN, lengths, 1)
    if spec.shift_at is not None:
        trace["shift"][spec.shift_at] = 1
    return trace


def write_trace(path: Path, spec: TraceSpec, seed: int) -> None:
    """Write the operations as the guest reads them: packed little-endian records of 8 bytes."""
    make_trace(spec, seed).tofile(path)


def zipfian_shares(ranks: int, theta: float) -> Floats:
    """Return the probabilities of the first ranks: 1/k**theta over the sum for all `ranks`.

    At most EXACT_RANKS of them; what is missing to 1 belongs to the rarer ones.
    """
    exact = min(ranks, EXACT_RANKS)
    weights = np.arange(1, exact + 1, dtype=float) ** -theta
    shares: Floats = weights / (weights.sum() + _tail_weight(exact, ranks, theta))
    return shares


def scramble(ranks: Keys, records: int) -> Keys:
    """Spread ranks (from 0) over the records with YCSB's hash (FNV-1a of the eight octets)."""
    value = ranks.astype(np.uint64)
    digest = np.full(value.shape, _FNV_OFFSET)
    for shift in range(0, 64, 8):
        octet = (value >> np.uint64(shift)) & np.uint64(0xFF)
        digest = (digest ^ octet) * _FNV_PRIME
    # Java's Math.abs() of the signed number.
    keys: Keys = np.abs(digest.view(np.int64)) % records
    return keys


def _tail_weight(first: int, last: int, theta: float) -> float:
    """Sum of k**-theta for first < k <= last (Euler and Maclaurin's formula)."""
    if first == last:
        return 0.0
    if theta == 1:
        integral = float(np.log(last / first))
    else:
        integral = (last ** (1 - theta) - first ** (1 - theta)) / (1 - theta)
    return float(integral + (last**-theta - first**-theta) / 2)


def _choose(
    distribution: Distribution, spec: TraceSpec, op: npt.NDArray[np.int64], rng: np.random.Generator
) -> Keys:
    """Draw a record for every operation; inserts get theirs later."""
    if distribution == "uniform":
        return rng.integers(spec.records, size=len(op))
    if distribution == "latest":
        return _latest(spec, op, rng)
    return _scrambled(spec, len(op), rng)


def _scrambled(spec: TraceSpec, count: int, rng: np.random.Generator) -> Keys:
    shares = zipfian_shares(spec.ranks or spec.records, spec.theta)
    ranks = np.searchsorted(np.cumsum(shares), rng.random(count), side="right")
    others = np.zeros(count, dtype=np.int64)
    if spec.shift_at is not None:
        # Ranks that are not drawn before: hashed, they are as good as any other records.
        others[spec.shift_at :] = spec.ranks or spec.records
    keys = scramble(ranks + others, spec.records)
    rare = ranks >= len(shares)
    keys[rare] = rng.integers(spec.records, size=int(rare.sum()))
    return keys


def _latest(spec: TraceSpec, op: npt.NDArray[np.int64], rng: np.random.Generator) -> Keys:
    """Rank 0 is the newest record: a zipfian over as many records as there are by then."""
    inserted = np.cumsum(op == Op.INSERT)
    present = spec.records + np.concatenate([np.zeros(IN_FLIGHT, int), inserted])[: len(op)]
    cumulated = np.cumsum(np.arange(1, present[-1] + 1, dtype=float) ** -spec.theta)
    wanted = rng.random(len(op)) * cumulated[present - 1]
    ranks = np.searchsorted(cumulated, wanted, side="right")
    keys: Keys = present - 1 - np.minimum(ranks, present - 1)
    return keys
