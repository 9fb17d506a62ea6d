# SPDX-License-Identifier: GPL-2.0-only
"""From what the guest's sampler sent during the measured part to figures over time, thinned."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from mglru.guest.counters import is_memory_stat_event, is_vmstat_event, psi_name
from mglru.guest.events import Counters, CounterSample, Progress
from mglru.results.timeline import Timeline

# As many as a plot of a page's width can show; a result file keeps them as text.
POINTS = 160
CLOCK_DIGITS = 6


def make_timeline(
    begin: Counters | None,
    end: Counters | None,
    samples: Sequence[CounterSample],
    points: int = POINTS,
    progress: Progress | None = None,
) -> Timeline | None:
    """Return the samples between two snapshots as a time line, None if there are none.

    Args:
        begin: the snapshot of phase `begin`.
        end: the snapshot of phase `end`.
        samples: all samples of a boot, in order.
        points: at most so many moments, evenly spaced; of the samples in each space the last.
        progress: of the driver, if it tells.
    """
    if begin is None or end is None:
        return None
    chosen = _thin([s for s in samples if begin.clock_ns <= s.clock_ns <= end.clock_ns], points)
    if not chosen:
        return None
    rows = [_figures(sample) for sample in chosen]
    common = [name for name in rows[0] if all(name in row for row in rows)]
    start = _start(begin, rows[0])
    figures = {name: [row[name] - start.get(name, 0) for row in rows] for name in common}
    if progress is not None:
        moments = [begin.clock_ns, *(sample.clock_ns for sample in chosen)]
        figures["ops_per_second"] = _throughput(progress, moments)
    return Timeline(
        seconds=[round((s.clock_ns - begin.clock_ns) / 1e9, CLOCK_DIGITS) for s in chosen],
        figures={name: values for name, values in figures.items() if any(values)},
    )


def _throughput(progress: Progress, moments: Sequence[int]) -> list[int]:
    """Return the operations a second from each moment (ns) to the next."""
    clocks = sorted(progress.clock_ns)
    done = [bisect_right(clocks, moment) * progress.every for moment in moments]
    return [
        round((after - before) * 1e9 / max(to - since, 1))
        for before, after, since, to in zip(done, done[1:], moments, moments[1:], strict=False)
    ]


def _thin(samples: Sequence[CounterSample], points: int) -> list[CounterSample]:
    if len(samples) <= points:
        return list(samples)
    clocks = [sample.clock_ns for sample in samples]
    first, width = clocks[0], clocks[-1] - clocks[0]
    moments = (first + width * (number + 1) / points for number in range(points))
    positions = sorted({bisect_right(clocks, moment) - 1 for moment in moments})
    return [samples[position] for position in positions]


def _figures(sample: CounterSample) -> dict[str, int]:
    """Return all figures of one sample by name; vmstat's win, as they are the whole guest's."""
    figures = {"memory_current": sample.memory_current}
    figures |= {psi_name(share): us for share, us in sample.memory_pressure.items()}
    figures |= sample.memory_stat | sample.vmstat
    if (generations := sample.generations) is None:
        return figures
    for kind, sizes in (("file", generations.file), ("anon", generations.anon)):
        figures |= {f"generation_{age}_{kind}": pages for age, pages in enumerate(sizes)}
    return figures | {"agings": generations.max_seq}


def _start(begin: Counters, first: Mapping[str, int]) -> dict[str, int]:
    """Return what counters of events are counted from."""
    kept = {"agings", psi_name("some"), psi_name("full")}
    start = {name: value for name, value in first.items() if name in kept}
    start |= {n: v for n, v in begin.memory_stat.items() if is_memory_stat_event(n)}
    return start | {n: v for n, v in begin.vmstat.items() if is_vmstat_event(n)}
