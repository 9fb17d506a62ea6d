# SPDX-License-Identifier: GPL-2.0-only
"""mglru bound: what was accessed, what policies make of it, and when not to believe it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mglru.core.errors import LabError, UsageError
from mglru.experiment.load import load_experiment
from mglru.results.model import BootRecord
from mglru.results.output_file import OnceFile
from mglru.results.timeline import Timeline
from mglru.source.kernel_id import KernelId
from mglru.study.bound import bound as bounds
from mglru.study.bound import table as bound_table
from mglru.study.bound.accesses import RECORD, Accesses, AccessKind, read_accesses, read_requests
from mglru.study.bound.file import Bound, KernelOutcome, PolicyOutcome, load, to_document
from mglru.study.bound.kernels import Compared, model_of, render
from mglru.study.bound.simulate import POLICIES, next_access, simulate

Event = tuple[int, int, int, int, int]


def mark(name: str) -> Event:
    return (int.from_bytes(name.encode() + b"\n", "little"), 0, 1, 1, AccessKind.MARK)


def event(
    kind: AccessKind, first: int, last: int | None = None, *, pid: int = 10, ino: int = 7
) -> Event:
    return (ino, first, (first if last is None else last) - first + 1, pid, kind)


def read(first: int, last: int | None = None, *, pid: int = 10, ino: int = 7) -> Event:
    return event(AccessKind.READ, first, last, pid=pid, ino=ino)


def added(*pages: int, pid: int = 10, ino: int = 7) -> list[Event]:
    return [event(AccessKind.ADD, page, pid=pid, ino=ino) for page in pages]


def written(path: Path, events: Sequence[Event]) -> Path:
    np.array(events, dtype=RECORD).tofile(path)
    return path


def accesses(tmp_path: Path, *events: Event) -> Accesses:
    """All of them in the measured part."""
    whole = [mark("join"), mark("begin"), *events, mark("end")]
    return read_accesses(written(tmp_path / "accesses", whole))


def test_a_read_is_an_access_to_each_of_its_pages(tmp_path: Path) -> None:
    found = accesses(tmp_path, *added(3, 4, 5), read(3, 5), *added(3, ino=8), read(3, ino=8))
    assert list(found.pages) == [0, 1, 2, 3]
    assert (found.begin, found.end, found.distinct, found.first_time) == (0, 4, 4, 4)
    assert (found.missed, found.unused, found.faults) == (4, 0, 0)


def test_a_read_that_waits_for_its_last_pages_is_one_read(tmp_path: Path) -> None:
    found = accesses(
        tmp_path,
        *added(0, 1, 2),
        read(0, 2),
        read(2, 2),  # still the same one
        read(0, 2, pid=11),  # another thread's
        read(0, 2),  # the whole again: a second read
    )
    assert list(found.pages) == [0, 1, 2] * 3
    assert found.missed == 3


def test_small_reads_of_one_page_are_one_access(tmp_path: Path) -> None:
    found = accesses(tmp_path, *added(0, 1), read(0), read(0), read(0), read(1), read(0))
    assert list(found.pages) == [0, 1, 0]


def test_a_read_that_goes_on_in_the_page_where_the_last_one_ended_does_not_use_it_again(
    tmp_path: Path,
) -> None:
    found = accesses(
        tmp_path,
        *added(0, 1, 2),
        read(0),  # the first bytes of a file, then all of it
        read(0, 1),
        read(1, 2),
        read(2, 2, pid=11),  # another thread's
        read(1, 2),  # begins elsewhere: a read of both
    )
    assert list(found.pages) == [0, 1, 2, 2, 1, 2]
    assert found.missed == 3


def test_what_lies_beyond_the_end_of_a_file_is_no_page(tmp_path: Path) -> None:
    found = accesses(tmp_path, *added(0, 1), read(0, 31))
    assert list(found.pages) == [0, 1]


def test_pages_read_ahead_are_used_or_not(tmp_path: Path) -> None:
    found = accesses(
        tmp_path,
        *added(0, 1, 2, 3),
        read(0),
        read(1),
        *added(1),  # had been evicted
        read(1, 2),
        *added(3),  # again, and again for nothing
        event(AccessKind.MAP, 0, 3),
        event(AccessKind.FAULT, 0),
    )
    assert list(found.pages) == [0, 1, 1, 2, 0]
    assert (found.missed, found.unused, found.faults) == (4, 2, 1)


def test_a_write_comes_before_the_page_that_it_brings_in(tmp_path: Path) -> None:
    found = accesses(
        tmp_path,
        event(AccessKind.WRITE, 0),
        *added(0),
        event(AccessKind.WRITE, 0),
        event(AccessKind.WRITE, 1, 2, pid=12),
        *added(1, 2, pid=12),
    )
    assert list(found.pages) == [0, 0, 1, 2]
    assert (found.missed, found.unused) == (3, 0)


def test_only_what_follows_the_join_counts_and_only_the_measured_part_is_counted(
    tmp_path: Path,
) -> None:
    events = [
        *added(0, 1),
        read(0, 1),
        mark("join"),
        read(0, 1, pid=11),
        mark("begin"),
        *added(2),
        read(1, 2, pid=12),
        mark("end"),
        read(0, pid=11),
        mark("join"),
    ]
    found = read_accesses(written(tmp_path / "accesses", events))
    assert list(found.pages) == [0, 1, 1, 2, 0]
    assert (found.begin, found.end, found.first_time, found.missed) == (2, 4, 1, 1)
    assert list(found.measured) == [1, 2]


def test_a_model_gets_the_arrivals_between_the_accesses(tmp_path: Path) -> None:
    events = [
        *added(9),  # before the join
        mark("join"),
        *added(0, 1),
        read(0),
        mark("begin"),
        event(AccessKind.WRITE, 2),
        *added(2, 3),
        read(1, 9),  # 4 to 8 never arrive: beyond the end of the file
        mark("end"),
        read(0),
    ]
    found = read_requests(written(tmp_path / "accesses", events))
    assert list(found.pages) == [0, 1, 0, 2, 2, 3, 1, 2, 3, 4]
    assert list(found.ahead) == [True, True, False, False, True, True, *[False] * 4]
    assert (found.begin, found.measured, found.arrived) == (3, 7, 2)


def test_a_model_is_near_its_kernel_or_not() -> None:
    near = Compared("x", "6.12+next", "series", "t:64:100", 64, 1000, 1029)
    far = replace(near, model_pages=969)
    assert (near.is_near, far.is_near) == (True, False)
    assert "-3.1%!" in render([near, far]) and "+2.9%!" not in render([near, far])
    with pytest.raises(UsageError, match=r"kernel 7.3 has no model"):
        model_of(KernelId.parse("7.3"))


def test_a_recording_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "accesses", [mark("join"), mark("begin"), read(0)])
    with pytest.raises(LabError, match="no mark of phase end"):
        read_accesses(path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(LabError, match="cut off"):
        read_accesses(path)


def random_accesses(seed: int, count: int = 3000, begin: int = 500) -> Accesses:
    pages = np.random.default_rng(seed).zipf(1.3, count) % 300
    _values, numbers = np.unique(pages, return_inverse=True)
    return Accesses(numbers, begin, count, faults=0, missed=0, unused=0)


def lru_misses(found: Accesses, capacity: int) -> int:
    cache: dict[int, None] = {}
    misses = 0
    for position, page in enumerate(found.pages.tolist()):
        hit = page in cache
        cache.pop(page, None)
        cache[page] = None
        if len(cache) > capacity:
            del cache[next(iter(cache))]
        misses += not hit and position >= found.begin
    return misses


def optimal_misses(found: Accesses, capacity: int) -> int:
    """Belady's algorithm by its definition: evict what is used last."""
    following = next_access(found.pages)
    cache: dict[int, int] = {}
    misses = 0
    for position, page in enumerate(found.pages.tolist()):
        hit = page in cache
        if not hit and len(cache) == capacity:
            del cache[max(cache, key=cache.__getitem__)]
        then = int(following[position])
        cache[page] = then if then >= 0 else len(found.pages)
        misses += not hit and position >= found.begin
    return misses


@pytest.mark.parametrize("capacity", [64, 100, 200])
def test_lru_and_the_optimum_are_what_their_definitions_say(capacity: int) -> None:
    found = random_accesses(seed=capacity)
    outcomes = simulate(found, capacity)
    assert outcomes["LRU"].misses == lru_misses(found, capacity)
    assert outcomes["Belady"].misses == optimal_misses(found, capacity)
    for name, outcome in outcomes.items():
        assert outcomes["Belady"].misses <= outcome.misses <= len(found.measured), name
        assert outcome.refaults == outcome.misses - found.first_time


def test_a_cache_for_all_pages_misses_each_once() -> None:
    found = random_accesses(seed=1, begin=0)
    outcomes = simulate(found, found.distinct)
    assert {outcome.misses for outcome in outcomes.values()} == {found.distinct}
    assert {outcome.refaults for outcome in outcomes.values()} == {0}


def test_a_simulation_gives_the_same_twice_and_tells_how_far_it_is() -> None:
    found, seen = random_accesses(seed=2), []
    first = simulate(found, 80, lambda number, name: seen.append((number, name)))
    assert simulate(found, 80) == first
    assert seen == list(enumerate(POLICIES))


def test_nothing_to_simulate_is_said() -> None:
    few = "63 pages of cache"
    nothing = Accesses(np.array([], dtype=np.int64), 0, 0, faults=0, missed=0, unused=0)
    with pytest.raises(UsageError, match="nothing to simulate: 0 accesses"):
        simulate(nothing, 100)
    with pytest.raises(UsageError, match=few):
        simulate(random_accesses(1), 63)


def test_the_next_access_of_each() -> None:
    assert list(next_access(np.array([5, 3, 5, 5, 1]))) == [2, -1, 3, -1, -1]


def made(misses: dict[str, int], faults: int = 0) -> Bound:
    """A bound with these misses of kernels; LRU has 1000, the optimum 400."""
    policies = {"Belady": 400, "LRU": 1000}
    return Bound(
        experiment="x",
        seed=1,
        recorded_on="6.12",
        accesses=2000,
        faults=faults,
        pages=300,
        first_time=100,
        capacity_pages=64,
        policies={n: PolicyOutcome(misses=m, refaults=m - 100) for n, m in policies.items()},
        kernels={
            name: KernelOutcome(misses=m, refaults=m - 100, unused=7, workingset_refault_file=m)
            for name, m in misses.items()
        },
    )


def test_a_stock_kernel_far_from_lru_makes_the_recording_doubtful() -> None:
    assert bounds.doubts(made({"6.12": 1090, "6.12@classic": 910, "6.12+next": 500})) == []
    assert "6.12@classic misses -12.0%" in bounds.doubts(made({"6.12@classic": 880}))[0]
    assert "6.12 misses +11.0%" in bounds.doubts(made({"6.12": 1110}))[0]


def test_many_page_faults_make_the_recording_doubtful() -> None:
    assert bounds.doubts(made({}, faults=90)) == []
    assert "10% of the accesses are page faults" in bounds.doubts(made({}, faults=200))[0]


def test_the_table_goes_from_the_optimum_up() -> None:
    bound = made({"6.12": 1000, "6.12+next": 700})
    lines = bound_table.render(bound).splitlines()
    rows = [line for line in lines if line.startswith(("6.12", "Belady", "LRU"))]
    assert [row.split()[0] for row in rows] == ["Belady", "6.12+next", "6.12", "LRU"]
    assert rows[1].split() == ["6.12+next", "700", "0.700", "0.50", "600", "7"]


def test_a_file_is_read_as_it_was_written_and_others_are_refused(tmp_path: Path) -> None:
    bound, path = made({"6.12": 1000}), tmp_path / "b.json"
    with OnceFile(path) as file:
        file.write()
        assert not path.exists()
        file.keep(to_document(bound))
    assert load(path) == bound
    text = path.read_text()
    for change, message in (
        ((text[:-40], "cut off")),
        ((text.replace('"bound"', '"sweep"'), "is a sweep")),
        ((text.replace('"format": 1', '"format": 2'), "has format 2")),
        ((text.replace('"misses": 1000', '"misses": -1'), "misses")),
    ):
        path.write_text(change)
        with pytest.raises(UsageError, match=message):
            load(path)


def test_the_capacity_is_what_the_cgroup_had_of_files() -> None:
    record = BootRecord(kernel="6.12", boot=0, seed=1, metrics={"file": 40960.0})
    assert bounds.capacity_pages(record) == 10
    figures = {
        "generation_0_file": [4, 8],
        "generation_3_file": [2, 2],
        "generation_0_anon": [9, 9],
    }
    line = Timeline(seconds=[0.0, 1.0], figures=figures)
    assert bounds.capacity_pages(record.model_copy(update={"timeline": line})) == 8


@pytest.mark.parametrize(
    ("name", "message"), [("memcg-create", "no disk"), ("memcg-stress", "real time")]
)
def test_what_cannot_be_recorded_is_said_at_once(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        bounds.check(load_experiment(name))
