# SPDX-License-Identifier: GPL-2.0-only
"""What `mglru bound` found, as a table for people."""

from __future__ import annotations

from rich import box
from rich.table import Table

from mglru.core.sizes import PAGE_BYTES
from mglru.results.tables import text_console
from mglru.study.bound.file import Bound, distance

WIDTH = 100
COLUMNS = ("misses", "of LRU's", "to the optimum", "refaults", "read ahead, unused")
LEGEND = """\
misses: accesses to pages that are not in the cache; refaults: those of pages that had been there.
known rates: evicts what is used least in all of the recording. hazard rates: a bound for what
knows how often, at which interval and how long ago pages were used, and not the future.
to the optimum: 0 as Belady's algorithm, which knows the future; 1 as LRU.
read ahead, unused: pages that came in and were not accessed; the kernel's own counter of refaults
has them too, the simulations read nothing ahead.
"""


def render(bound: Bound) -> str:
    """Return the kernels and the policies, the fewest misses first, as a table."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("")
    for heading in COLUMNS:
        table.add_column(heading, justify="right")
    lru = bound.policies["LRU"].misses
    for _misses, name, cells in sorted([*_policies(bound), *_kernels(bound)]):
        misses, *others = cells
        share = f"{misses / lru:.3f}" if lru else ""
        away = distance(misses, bound)
        table.add_row(name, f"{misses:,}", share, "" if away is None else f"{away:.2f}", *others)
    console, buffer = text_console(WIDTH)
    console.print(table)
    return f"{_title(bound)}\n{buffer.getvalue()}{LEGEND}"


_Row = tuple[int, str, tuple[int, str, str]]


def _policies(bound: Bound) -> list[_Row]:
    return [
        (outcome.misses, f"{name} (simulated)", (outcome.misses, f"{outcome.refaults:,}", ""))
        for name, outcome in bound.policies.items()
    ]


def _kernels(bound: Bound) -> list[_Row]:
    return [
        (outcome.misses, name, (outcome.misses, f"{outcome.refaults:,}", f"{outcome.unused:,}"))
        for name, outcome in bound.kernels.items()
    ]


def _title(bound: Bound) -> str:
    settings = f" with {', '.join(bound.settings)}" if bound.settings else ""
    return (
        f"{bound.experiment}{settings}, seed {bound.seed}: {bound.accesses:,} accesses to "
        f"{bound.pages:,} pages of files, as recorded on {bound.recorded_on}; the simulated caches "
        f"hold {bound.capacity_pages:,} pages ({bound.capacity_pages * PAGE_BYTES / 2**20:.0f} MiB)"
    )
