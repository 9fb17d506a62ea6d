# SPDX-License-Identifier: GPL-2.0-only
"""What other policies, and the optimum, would do with a sequence of page accesses.

The caches are libCacheSim's. It reads sequences from files of the format oracleGeneral, in which
every access names the next one to the same page: that is what the optimum needs to know.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import libcachesim  # type: ignore[import-untyped]
import numpy as np
import numpy.typing as npt

from mglru.core.errors import UsageError
from mglru.study.bound.accesses import Accesses, Flags, Pages
from mglru.study.bound.file import LRU, OPTIMUM

# libCacheSim's names beside those that papers use. Its LFU, LRU-K and LHD are left out: the
# first two gave the figures of SIEVE, and the last differs from run to run.
POLICIES: dict[str, str] = {
    OPTIMUM: "Belady",
    LRU: "LRU",
    "FIFO": "FIFO",
    "CLOCK": "Clock",
    "2Q": "TwoQ",
    "ARC": "ARC",
    "LIRS": "LIRS",
    "SIEVE": "Sieve",
    "S3-FIFO": "S3FIFO",
    "W-TinyLFU": "WTinyLFU",
    "MQ": "MQ",
    "Cacheus": "Cacheus",
    "Clock2Q+": "Clock2QPlus",
}

# Learns from what it sees; takes a minute or two for a million accesses.
LEARNED: dict[str, str] = {"LRB": "LRB"}

# S3-FIFO and W-TinyLFU divide a cache into parts; libCacheSim ends the program if one is empty.
SMALLEST = 64

REQUEST = np.dtype([("time", "<u4"), ("object", "<u8"), ("size", "<u4"), ("next", "<i8")])
"""An access in the format oracleGeneral; `next` is -1 if there is none."""


@dataclass(frozen=True)
class Simulated:
    """What a policy does with the measured part of a sequence.

    Attributes:
        misses: accesses to pages that are not in the cache.
        refaults: misses of pages that had been in the cache before.
    """

    misses: int
    refaults: int


def next_access(pages: Pages) -> npt.NDArray[np.int64]:
    """Return for each access the position of the next one to the same page, -1 if none.

    Args:
        pages: shape (accesses,).

    Returns:
        shape (accesses,).
    """
    order = np.argsort(pages, kind="stable")
    following = np.full(len(pages), -1, dtype=np.int64)
    same = pages[order[:-1]] == pages[order[1:]]
    following[order[:-1][same]] = order[1:][same]
    return following


def write_requests(path: Path, pages: Pages, ahead: Flags | None = None) -> None:
    """Write a sequence as an uncompressed oracleGeneral file, each page of size 1.

    Args:
        path: is made, or written anew.
        pages: shape (requests,).
        ahead: shape (requests,): those that are arrivals, no accesses; they have size 2, which only
            the models in policies/ understand.
    """
    requests = np.zeros(len(pages), dtype=REQUEST)
    requests["time"] = np.arange(len(pages))
    requests["object"] = pages
    requests["size"] = 1 if ahead is None else 1 + ahead
    requests["next"] = next_access(pages)
    requests.tofile(path)


def simulate(
    accesses: Accesses,
    capacity: int,
    progress: Callable[[int, str], None] = lambda _n, _s: None,
    policies: Mapping[str, str] = POLICIES,
) -> dict[str, Simulated]:
    """Return what each of the policies does, by name.

    All accesses go through the cache, which starts empty; those of the measured part are counted.

    Args:
        accesses: the sequence.
        capacity: of the cache, in pages.
        progress: called with the number of policies that are done, and the next one's name.
        policies: libCacheSim's name of each.

    Raises:
        UsageError: nothing was accessed, or the cache is smaller than SMALLEST.
    """
    if accesses.end <= accesses.begin or capacity < SMALLEST:
        raise UsageError(
            f"nothing to simulate: {accesses.end - accesses.begin} accesses of files, "
            f"{capacity} pages of cache (at least {SMALLEST} are needed)",
            next_step="choose an experiment that reads files from its disk",
        )
    first = accesses.first_time
    outcomes = {}
    with tempfile.TemporaryDirectory(prefix="mglru-accesses-") as scratch:
        path = Path(scratch) / "requests.oracleGeneral"
        write_requests(path, accesses.pages)
        for number, (name, policy) in enumerate(policies.items()):
            progress(number, name)
            # In a process of its own: random numbers begin anew for each.
            with ProcessPoolExecutor(1, get_context("fork")) as apart:
                misses = apart.submit(_misses, policy, path, capacity, accesses).result()
            outcomes[name] = Simulated(misses=misses, refaults=misses - first)
    return outcomes


def _misses(policy: str, path: Path, capacity: int, accesses: Accesses) -> int:
    cache = getattr(libcachesim, policy)(cache_size=capacity)
    reader = libcachesim.TraceReader(
        str(path), trace_type=libcachesim.TraceType.ORACLE_GENERAL_TRACE
    )
    counted = list(_parts(cache, reader, accesses))
    return counted[-1]


def _parts(cache: Any, reader: Any, accesses: Accesses) -> Iterator[int]:
    """Run the accesses before the measured part, then those of it; yield the misses of each."""
    for start, end in ((0, accesses.begin), (accesses.begin, accesses.end)):
        # A number of 0 would mean: all.
        if end > start:
            ratio, _bytes = cache.process_trace(reader, start, end - start)
            yield round(ratio * (end - start))
