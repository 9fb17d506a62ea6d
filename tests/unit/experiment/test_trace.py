# SPDX-License-Identifier: GPL-2.0-only
"""The drawn operations against the formulas of their distributions."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from pydantic import ValidationError

from mglru.experiment import trace
from mglru.experiment.trace import Mix, Op, TraceSpec, make_trace

READS = Mix(read=1.0)
Floats = npt.NDArray[np.float64]


def spec(**fields: object) -> TraceSpec:
    """A trace of reads, unless told otherwise."""
    return TraceSpec.model_validate(
        {"records": 1000, "operations": 100_000, "mix": READS, "distribution": "zipfian", **fields}
    )


def chi_square(counts: npt.NDArray[np.int64], shares: Floats) -> float:
    """How far counts are from what the shares predict, in standard deviations.

    Rare values are counted together, so that each class is expected at least ten times.
    """
    expected = shares * counts.sum()
    rare = expected < 10
    got = np.append(counts[~rare], counts[rare].sum())
    wanted = np.append(expected[~rare], expected[rare].sum())
    got, wanted = got[wanted > 0], wanted[wanted > 0]
    freedom = len(wanted) - 1
    return float((((got - wanted) ** 2 / wanted).sum() - freedom) / np.sqrt(2 * freedom))


def harmonic(count: int, theta: float) -> float:
    return float((np.arange(1, count + 1, dtype=float) ** -theta).sum())


def record_shares(records: int, theta: float) -> Floats:
    """The probability of each record, of which hashing may give several ranks to one."""
    shares = np.zeros(records)
    np.add.at(
        shares,
        trace.scramble(np.arange(records), records),
        trace.zipfian_shares(records, theta),
    )
    return shares


def fnv(value: int) -> int:
    """YCSB's Utils.fnvhash64, written down again from its Java source."""
    digest = 0xCBF29CE484222325
    for _ in range(8):
        digest = ((digest ^ (value & 0xFF)) * 1099511628211) % 2**64
        value >>= 8
    return abs(digest - 2**64 if digest >= 2**63 else digest)


def test_one_seed_gives_one_trace() -> None:
    first, again, other = (make_trace(spec(), seed).tobytes() for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_the_file_is_what_the_guest_reads(tmp_path: Path) -> None:
    small = spec(workload="e", mix=None, distribution=None, operations=50)
    trace.write_trace(tmp_path / "trace", small, seed=3)
    data = (tmp_path / "trace").read_bytes()
    records = [struct.unpack_from("<BBHI", data, at) for at in range(0, len(data), 8)]
    drawn = make_trace(small, 3)
    assert records == [
        (int(r["op"]), int(r["shift"]), int(r["length"]), int(r["key"])) for r in drawn
    ]


@pytest.mark.parametrize("theta", [0.5, 0.99, 1.0, 1.2])
def test_zipfian_shares_are_those_of_the_formula(theta: float) -> None:
    shares = trace.zipfian_shares(1000, theta)
    assert shares.sum() == pytest.approx(1)
    assert shares[0] == pytest.approx(1 / harmonic(1000, theta))
    assert shares[99] / shares[0] == pytest.approx(100**-theta)


@pytest.mark.parametrize("theta", [0.5, 0.99, 1.0, 1.2])
def test_ranks_that_are_not_drawn_one_by_one_have_their_share(theta: float) -> None:
    ranks = trace.EXACT_RANKS + 500_000
    shares = trace.zipfian_shares(ranks, theta)
    assert len(shares) == trace.EXACT_RANKS
    total = harmonic(ranks, theta)
    assert shares[0] == pytest.approx(1 / total, rel=1e-9)
    assert shares.sum() == pytest.approx(harmonic(trace.EXACT_RANKS, theta) / total, rel=1e-9)


def test_ranks_are_hashed_as_ycsb_does() -> None:
    ranks = np.array([0, 1, 2, 255, 256, 10**9])
    keys = trace.scramble(ranks, 312_500)
    assert [int(key) for key in keys] == [fnv(int(rank)) % 312_500 for rank in ranks]


@pytest.mark.parametrize("theta", [0.7, 0.99])
def test_zipfian_records_are_drawn_as_often_as_the_formula_says(theta: float) -> None:
    records = 1000
    drawn = make_trace(spec(theta=theta), seed=7)["key"]
    shares = record_shares(records, theta)
    assert abs(chi_square(np.bincount(drawn, minlength=records), shares)) < 4


def test_the_chi_square_test_notices_another_exponent() -> None:
    drawn = make_trace(spec(theta=0.9), seed=7)["key"]
    assert chi_square(np.bincount(drawn, minlength=1000), record_shares(1000, 0.99)) > 20


def test_rare_ranks_are_uniform_over_the_records() -> None:
    many = spec(ranks=156_250_000, records=50, operations=200_000)
    drawn = make_trace(many, seed=5)["key"]
    shares = trace.zipfian_shares(156_250_000, 0.99)
    hashed = trace.scramble(np.arange(len(shares)), 50)
    expected = np.bincount(hashed, weights=shares, minlength=50) + (1 - shares.sum()) / 50
    assert abs(chi_square(np.bincount(drawn, minlength=50), expected)) < 4


def test_uniform_is_uniform() -> None:
    drawn = make_trace(spec(distribution="uniform"), seed=1)["key"]
    assert abs(chi_square(np.bincount(drawn, minlength=1000), np.full(1000, 1e-3))) < 4


def test_latest_prefers_the_newest_by_the_zipfian_formula() -> None:
    drawn = make_trace(spec(distribution="latest"), seed=9)["key"]
    ages = 999 - drawn.astype(int)
    shares = np.arange(1, 1001, dtype=float) ** -0.99 / harmonic(1000, 0.99)
    assert abs(chi_square(np.bincount(ages, minlength=1000), shares)) < 4


def test_latest_moves_on_with_the_inserts_and_reads_only_what_is_there() -> None:
    drawn = make_trace(spec(workload="d", mix=None, distribution=None), seed=1)
    inserts = drawn["op"] == Op.INSERT
    assert list(drawn["key"][inserts]) == list(range(1000, 1000 + inserts.sum()))
    newest = 999 + np.cumsum(inserts)
    reads = drawn["key"].astype(int)[~inserts]
    assert (reads <= newest[~inserts]).all()
    # At the end as at the beginning, the newest record that may be read is the most popular.
    ages = (newest[~inserts] - reads)[-20_000:]
    assert np.median(ages) < 100 + trace.IN_FLIGHT


@pytest.mark.parametrize("workload", list("abcdef"))
def test_the_mix_is_that_of_the_workload(workload: str) -> None:
    drawn = make_trace(spec(workload=workload, mix=None, distribution=None), seed=4)
    counts = np.bincount(drawn["op"], minlength=len(Op))
    shares = trace.WORKLOADS[workload][0].shares
    assert (counts[shares == 0] == 0).all()
    assert np.abs(counts / len(drawn) - shares).max() < 0.01


def test_scans_have_lengths_from_1_to_100_and_others_none() -> None:
    drawn = make_trace(spec(workload="e", mix=None, distribution=None), seed=4)
    scans = drawn["op"] == Op.SCAN
    counts = np.bincount(drawn["length"][scans], minlength=101)[1:]
    assert abs(chi_square(counts, np.full(100, 0.01))) < 4
    assert (drawn["length"][~scans] == 1).all()


def test_scans_may_start_elsewhere_than_reads() -> None:
    mix = Mix(read=0.5, scan=0.5)
    drawn = make_trace(spec(mix=mix, scan_start="uniform"), seed=4)
    scans = drawn["op"] == Op.SCAN
    starts = np.bincount(drawn["key"][scans], minlength=1000)
    assert abs(chi_square(starts, np.full(1000, 1e-3))) < 4
    assert np.bincount(drawn["key"][~scans]).max() > 10 * starts.max()


def test_after_a_shift_other_records_are_as_hot_as_those_before() -> None:
    shifting, steady = spec(shift=0.5, warmup=500), spec(warmup=500)
    assert shifting.shift_at == 50_500
    drawn, same = make_trace(shifting, seed=2), make_trace(steady, seed=2)
    before, after = drawn["key"][:50_500], drawn["key"][50_500:]
    assert (before == same["key"][:50_500]).all()
    assert np.flatnonzero(drawn["shift"]).tolist() == [50_500]
    assert not same["shift"].any()
    counts = [np.bincount(part, minlength=1000) for part in (before, after)]
    hottest = [set(np.argsort(part)[-20:].tolist()) for part in counts]
    assert len(hottest[0] & hottest[1]) <= 5
    # As popular: the shares of the hottest 20 are those of the formula, give or take a hash.
    expected = np.sort(record_shares(1000, 0.99))[-20:].sum()
    for part in counts:
        assert np.sort(part)[-20:].sum() / part.sum() == pytest.approx(expected, rel=0.15)


def test_a_trace_without_a_shift_is_described_as_before_there_were_any() -> None:
    assert "shift" not in spec().model_dump()
    assert spec(shift=0.25).model_dump()["shift"] == 0.25


def test_the_warm_up_comes_first_and_is_drawn_alike() -> None:
    assert len(make_trace(spec(warmup=500), seed=1)) == 100_500


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"mix": {"read": 0.9}}, "add up to 0.9, not to 1"),
        ({"mix": {"read": 1.5}}, "less than or equal to 1"),
        ({"mix": None}, "either a workload or a mix"),
        ({"workload": "a"}, "either a workload or a mix"),
        ({"distribution": None}, "needs a distribution"),
        ({"distribution": "gaussian"}, "'zipfian', 'latest' or 'uniform'"),
        ({"scan_lengths": (5, 1)}, "ascending"),
        ({"scan_lengths": (1, 70_000)}, "65535"),
        ({"shift": 1.0}, "less than 1"),
        ({"shift": 0.5, "distribution": "uniform"}, "only a zipfian"),
        ({"records": 0}, "greater than 0"),
        ({"thetta": 1}, "not permitted"),
    ],
)
def test_a_specification_that_makes_no_sense_says_why(
    fields: dict[str, object], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        spec(**fields)
