# SPDX-License-Identifier: GPL-2.0-only
"""Which of the kernel's figures count events and which are gauges, and what a run made of them.

The kernel's files do not say which of their figures count events since boot and which are
gauges; its names do. In /proc/vmstat the gauges are called nr_*, and `workingset_nodes`; a few
nr_* count events, see VMSTAT_NR_EVENTS. In memory.stat gauges have plain names (file, anon,
active_file, ...) and are bytes; events have the prefixes of the VM's events. memory.events has
events only. cgroup v1 repeats each name of memory.stat with total_ before it, for the whole tree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from mglru.core.sizes import PAGE_BYTES
from mglru.guest.events import Counters, CounterSample

VMSTAT_NR_EVENTS = frozenset(
    {
        "nr_dirtied",
        "nr_written",
        "nr_throttled_written",
        "nr_vmscan_write",
        "nr_vmscan_immediate_reclaim",
        "nr_foll_pin_acquired",
        "nr_foll_pin_released",
        "nr_tlb_remote_flush",
        "nr_tlb_remote_flush_received",
        "nr_tlb_local_flush_all",
        "nr_tlb_local_flush_one",
    }
)
MEMORY_STAT_EVENT_PREFIXES = ("workingset_", "pg", "pswp", "swp", "zswp", "thp_", "numa_")
# memory.stat of cgroup v1 counts pages charged and uncharged under the names that
# /proc/vmstat uses for kB read and written; these two are always those of /proc/vmstat.
VMSTAT_ALWAYS = frozenset({"pgpgin", "pgpgout"})


def is_vmstat_event(name: str) -> bool:
    """Whether a figure of /proc/vmstat counts events (else it is a gauge)."""
    if name.startswith("nr_"):
        return name in VMSTAT_NR_EVENTS
    return name != "workingset_nodes"


def is_memory_stat_event(name: str) -> bool:
    """Whether a figure of memory.stat counts events (else it is a gauge, in bytes)."""
    return name.removeprefix("total_").startswith(MEMORY_STAT_EVENT_PREFIXES)


def _sources(
    begin: Counters, end: Counters
) -> list[tuple[Callable[[str], bool], Mapping[str, int], Mapping[str, int]]]:
    """The three files, the one whose figure wins last."""
    return [
        (is_vmstat_event, begin.vmstat, end.vmstat),
        (is_memory_stat_event, begin.memory_stat, end.memory_stat),
        (lambda _name: True, begin.memory_events, end.memory_events),
    ]


def kernel_figures(begin: Counters, end: Counters) -> dict[str, float]:
    """Return what event counters rose by between two snapshots, and gauges at the second.

    A figure of the cgroup wins over the whole system's of the same name, except
    VMSTAT_ALWAYS. `psi_some_us` and `psi_full_us` are the cgroup's memory.pressure.
    """
    figures = {
        psi_name(share): float(us - begin.memory_pressure.get(share, 0))
        for share, us in end.memory_pressure.items()
    }
    for rule, before, after in _sources(begin, end):
        for name, value in after.items():
            if name in VMSTAT_ALWAYS and after is not end.vmstat:
                continue
            figures[name] = float(value - before.get(name, 0) if rule(name) else value)
    return figures


def write_figures(begin: Counters, end: Counters) -> dict[str, float]:
    """Return `written_kb`: what was written to disks, and what is left to be written.

    A kernel whose run ends just before its flusher's turn has written less (pgpgout) than one
    whose run ends just after it, and not saved a page. Nothing if a snapshot lacks the figures.
    """
    if any({"pgpgout", "nr_dirty"} - part.vmstat.keys() for part in (begin, end)):
        return {}
    rose = {name: end.vmstat[name] - begin.vmstat[name] for name in ("pgpgout", "nr_dirty")}
    return {"written_kb": float(rose["pgpgout"] + rose["nr_dirty"] * PAGE_BYTES // 1024)}


def cpu_figures(begin: Counters, end: Counters, per_second: float | None) -> dict[str, float]:
    """Return what the cgroup's tasks took of a processor that counts instructions.

    - `cpu_seconds`: of the processor's time; `cpu_user_seconds`, `cpu_system_seconds`: its parts,
      which the kernel estimates at each tick of its timer.
    - `instructions_per_operation`: at one instruction a nanosecond.

    Args:
        begin: where the measured part begins.
        end: where it ends.
        per_second: operations that the driver counted, if it did.
    """
    usage = end.cpu_stat.get("usage_usec", 0) - begin.cpu_stat.get("usage_usec", 0)
    if not usage:
        return {}
    names = {"cpu_seconds": "usage_usec", "cpu_user_seconds": "user_usec"}
    names["cpu_system_seconds"] = "system_usec"
    figures = {
        figure: (end.cpu_stat.get(name, 0) - begin.cpu_stat.get(name, 0)) / 1e6
        for figure, name in names.items()
    }
    operations = (per_second or 0) * (end.clock_ns - begin.clock_ns) / 1e9
    if operations:
        figures["instructions_per_operation"] = usage * 1000 / operations
    return figures


def psi_name(share: str) -> str:
    """Return the metric of a line of memory.pressure (`some` or `full`), in microseconds."""
    return f"psi_{share}_us"


def fallen(begin: Counters, end: Counters) -> list[str]:
    """Return the names of event counters that fell, which they never should."""
    return sorted(
        {
            name
            for rule, before, after in _sources(begin, end)
            for name in before.keys() & after.keys()
            if rule(name) and after[name] < before[name]
        }
    )


def sample_figures(samples: Sequence[CounterSample]) -> dict[str, float]:
    """Return mean and peak over time of the dirty page cache, the whole guest's.

    - `file_dirty_mean_mb`, `file_dirty_peak_mb`: dirty pages, in MB.
    - `dirty_share_mean`, `dirty_share_peak`: their share of the pages of files (tmpfs apart).

    Samples without these figures are left out; from none comes nothing.
    """
    needed = {"nr_dirty", "nr_file_pages", "nr_shmem"}
    samples = [sample for sample in samples if needed <= sample.vmstat.keys()]
    if not samples:
        return {}
    pages = [s.vmstat["nr_dirty"] for s in samples]
    cached = [s.vmstat["nr_file_pages"] - s.vmstat["nr_shmem"] for s in samples]
    shares = [dirty / max(all_, 1) for dirty, all_ in zip(pages, cached, strict=True)]
    return {
        "file_dirty_mean_mb": fmean(pages) * PAGE_BYTES / 1e6,
        "file_dirty_peak_mb": max(pages) * PAGE_BYTES / 1e6,
        "dirty_share_mean": fmean(shares),
        "dirty_share_peak": max(shares),
    }
