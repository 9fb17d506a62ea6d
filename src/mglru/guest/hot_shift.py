# SPDX-License-Identifier: GPL-2.0-only
"""What a shift of the hot set did: before and after it, and how long the recovery took."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mglru.guest.counters import kernel_figures
from mglru.guest.events import Counters, Progress

Clocks = npt.NDArray[np.float64]

# Counters that are also told for the part before the shift and the part after it.
HALVED = ("workingset_refault_file", "workingset_refault_anon", "pgpgin", "pgpgout")
# Recovered is what is at least this share of the throughput before the shift ...
RECOVERED = 0.9
# ... in a window of so many of the operations after it.
WINDOW = 0.05


def shift_figures(
    begin: Counters, shift: Counters, end: Counters, progress: Progress | None
) -> dict[str, float]:
    """Return the figures of a run in which other records became hot at the phase `shift`.

    - `<name>_before` and `<name>_after` of the counters in HALVED.
    - `ops_per_second_before`, of the second half of the operations before the shift, when the
      cache is no longer filling; `ops_per_second_after`, of all operations after it.
    - `recovery_seconds`: from the shift to the end of the first WINDOW of the operations after it
      whose throughput is at least RECOVERED times that before. If there is none, to the end of
      the run; `recovered` is 1 or 0.

    Args:
        begin: the snapshot at the start of the measured part.
        shift: the one right before the first operation on the new hot set.
        end: the one at the end.
        progress: the driver's, without which only the counters are told.
    """
    figures: dict[str, float] = {}
    for name, first, last in (("before", begin, shift), ("after", shift, end)):
        rose = kernel_figures(first, last)
        figures |= {f"{key}_{name}": rose[key] for key in HALVED if key in rose}
    if progress is None or not progress.clock_ns:
        return figures
    clocks = np.sort(np.array(progress.clock_ns, dtype=float)) / 1e9
    moments = [snapshot.clock_ns / 1e9 for snapshot in (shift, end)]
    return figures | _throughput(clocks, progress.every, moments[0], moments[1])


def _throughput(clocks: Clocks, every: int, shift: float, end: float) -> dict[str, float]:
    """Return the figures of the driver; `clocks` are the moments of each `every`th operation."""
    at = int(np.searchsorted(clocks, shift))
    before, after = clocks[at // 2 : at], clocks[at:]
    if len(after) < 2 or end <= shift or len(before) < 2 or before[-1] <= before[0]:
        return {}
    level = (len(before) - 1) * every / (before[-1] - before[0])
    window = max(1, round(len(after) * WINDOW))
    # Compared as times: those of a window may be the same, where nothing had to wait.
    longest = window * every / (RECOVERED * level)
    fast = np.flatnonzero(after[window:] - after[:-window] <= longest)
    recovered = after[window + fast[0]] if len(fast) else end
    return {
        "ops_per_second_before": level,
        "ops_per_second_after": len(after) * every / (end - shift),
        "recovery_seconds": recovered - shift,
        "recovered": float(len(fast) > 0),
    }
