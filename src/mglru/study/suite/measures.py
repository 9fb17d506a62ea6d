# SPDX-License-Identifier: GPL-2.0-only
"""What harm is measured by: which figures of a run are pages read, written, seconds, a tail."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from mglru.results.model import Headline, RunResult

# Below these, a figure counts as if it were this: so little that no ratio of it matters.
READ_FLOOR_KB = 1024.0
WRITTEN_FLOOR_KB = 1024.0
SECONDS_FLOOR = 0.010
# A request of the lab's usual disk takes 80 us: a tail of one request is no harm, two are.
TAIL_FLOOR_US = 100.0

# Where a file has no blocks nothing is read from a disk; as many pages as are missed are evicted.
EVICTED, EVICTED_FLOOR_PAGES = "pgsteal", 256.0

# What all steps that are counted take together.
WHOLE_RUN = "elapsed_seconds"

# Above 0 in a boot in which the kernel killed for want of memory.
KILLS = "oom_kill"

READ, WRITTEN, SECONDS, TAIL = "pages read", "pages written", "seconds", "tail latency"
MEASURES = (READ, WRITTEN, SECONDS, TAIL)

# Of what is done in a time that is fixed, more is faster.
_RATE = re.compile(r"(^|_)(ops|tps|requests|reads|touches|rounds|per_second)$")
_SECONDS = re.compile(r"(^|_)seconds$")
_TAIL = re.compile(r"_(p9\d*|max)_(us|ms)$")
_EVERY_TAIL = re.compile(r"(^|_)p99_(us|ms)$")


@dataclass(frozen=True)
class HarmFigure:
    """One metric as harm: the higher the worse.

    Attributes:
        measure: one of MEASURES.
        metric: its name.
        floor: values below it count as it, in the metric's unit; of a rate: 0.
        rate: the metric is a rate, whose inverse is the time that one takes.
    """

    measure: str
    metric: str
    floor: float
    rate: bool = False

    def cost(self, value: float) -> float:
        """Return how bad a value is, above 0; infinite for a rate of 0."""
        if self.rate:
            return 1 / value if value else float("inf")
        return max(value, self.floor)

    def costs(self, values: Mapping[int, float]) -> dict[int, float]:
        """Return how bad each boot's value is."""
        return {boot: self.cost(value) for boot, value in values.items()}


def figures(run: RunResult) -> list[HarmFigure]:
    """Return the figures of a run that are looked at.

    Pages read are the guest's pgpgin (kB); a headline pgsteal (pages) counts as read. Pages
    written are written_kb, or pgpgout of a run that was kept before there was that. Seconds are
    the headline metrics that end so, and rates; else, or if it is among them, the time of the
    whole run alone: the phases of one job, where who is slow in one is fast in the next. Tails are
    the headline metrics from p90 on and maxima; else every p99 that the run has.
    """
    there = set(run.metric_names())
    written = "written_kb" if "written_kb" in there else "pgpgout"
    fixed = [
        HarmFigure(READ, "pgpgin", READ_FLOOR_KB),
        HarmFigure(WRITTEN, written, WRITTEN_FLOOR_KB),
    ]
    shown = [figure for headline in run.headline if (figure := _headline(headline))]
    if any(headline.name == WHOLE_RUN for headline in run.headline):
        shown = [f for f in shown if f.measure != SECONDS or f.metric == WHOLE_RUN]
    kinds = {figure.measure for figure in shown}
    if SECONDS not in kinds:
        fixed.append(HarmFigure(SECONDS, WHOLE_RUN, SECONDS_FLOOR))
    if TAIL not in kinds:
        fixed += [_tail(name) for name in sorted(there) if _EVERY_TAIL.search(name)]
    return [figure for figure in (*fixed, *shown) if figure.metric in there]


def metrics_of_tables(run: RunResult) -> set[str]:
    """Return the metrics of a run that tables are made of: judged, shown, or telling of a kill.

    These are all that a suite's file keeps: boots made before a measure looks at another metric
    lack it, and have to be made again (`--anew`).
    """
    judged = (figure.metric for figure in figures(run))
    return {KILLS, *(headline.name for headline in run.headline), *judged}


def _headline(headline: Headline) -> HarmFigure | None:
    if headline.name == EVICTED:
        return HarmFigure(READ, EVICTED, EVICTED_FLOOR_PAGES)
    if headline.better == "higher":
        if _RATE.search(headline.name):
            return HarmFigure(SECONDS, headline.name, 0, rate=True)
        return None
    if _SECONDS.search(headline.name):
        return HarmFigure(SECONDS, headline.name, SECONDS_FLOOR)
    return _tail(headline.name) if _TAIL.search(headline.name) else None


def _tail(metric: str) -> HarmFigure:
    unit = 1.0 if metric.endswith("_us") else 1e-3
    return HarmFigure(TAIL, metric, TAIL_FLOOR_US * unit)
