# SPDX-License-Identifier: GPL-2.0-only
"""The guest's report: one JSON object a line on a channel of its own, read leniently.

A guest can be killed at any byte. Whatever arrived is used, and what is wrong or
missing is listed; nothing on the channel makes the reader raise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

from pydantic import ValidationError

from mglru.guest.counters import (
    cpu_figures,
    fallen,
    kernel_figures,
    sample_figures,
    write_figures,
)
from mglru.guest.events import (
    BEGIN,
    END,
    EVENT,
    SHIFT,
    Counters,
    CounterSample,
    Done,
    DriverMetric,
    Event,
    EventBase,
    GuestError,
    KernelProof,
    LatencyCounts,
    LruGen,
    Progress,
    StepEvent,
    SymbolProof,
)
from mglru.guest.hot_shift import shift_figures
from mglru.guest.latency import Histogram
from mglru.guest.timeline import make_timeline
from mglru.results.timeline import Timeline

SHOWN_CHARACTERS = 120
_E = TypeVar("_E", bound=EventBase)


class ProblemKind(StrEnum):
    """What can be wrong with a report."""

    GARBAGE = "garbage"  # a line that is not JSON
    TRUNCATED = "truncated"  # the last line, cut off
    MALFORMED = "malformed"  # JSON, but not in an event's form
    UNKNOWN_EVENT = "unknown event"
    DUPLICATE = "duplicate"  # a figure or a phase reported twice
    OUT_OF_RANGE = "out of range"  # latencies longer than a histogram holds
    BACKWARDS = "backwards"  # an event counter that fell
    MISSING_COUNTERS = "missing counters"  # no `begin`, or no `end`
    MISSING_DONE = "missing done"
    GUEST_ERROR = "guest error"


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a report.

    Attributes:
        kind: what it is.
        text: one sentence for the user.
        line: the channel's line, from 1; 0 if it is about the whole.
    """

    kind: ProblemKind
    text: str
    line: int = 0

    def __str__(self) -> str:
        where = f" (line {self.line})" if self.line else ""
        return f"{self.kind}: {self.text}{where}"


@dataclass(frozen=True)
class Latency:
    """All latencies reported under one name."""

    name: str
    unit: str
    histogram: Histogram


@dataclass(frozen=True)
class GuestReport:
    """Everything a guest reported, and what was wrong with it.

    Attributes:
        kernel: release and version of the kernel that ran, None if never told.
        lru_gen: /sys/kernel/mm/lru_gen/enabled, None if never told.
        symbols: kernel symbols asked for, and whether they were there.
        counters: the snapshots, in order.
        samples: some counters at intervals, in order.
        metrics: the drivers' own figures.
        latencies: one histogram a name.
        progress: how far the driver was at which moment, None if it did not tell.
        steps: the programs that ran, to their end or until they were stopped.
        errors: what guest programs said before they gave up.
        done: whether the guest came to its end.
        problems: all that was wrong or missing.
    """

    kernel: KernelProof | None
    lru_gen: str | None
    symbols: dict[str, bool]
    counters: tuple[Counters, ...]
    samples: tuple[CounterSample, ...]
    metrics: dict[str, float]
    latencies: tuple[Latency, ...]
    progress: Progress | None
    steps: tuple[StepEvent, ...]
    errors: tuple[str, ...]
    done: bool
    problems: tuple[Problem, ...]

    def phase(self, name: str) -> Counters | None:
        """Return the last snapshot of a phase."""
        return next((c for c in reversed(self.counters) if c.phase == name), None)


def parse(raw: bytes | str) -> GuestReport:
    """Read all that came over the channel. Never raises: see `GuestReport.problems`."""
    text = raw if isinstance(raw, str) else raw.decode("utf-8", errors="replace")
    problems: list[Problem] = []
    events = list(_events(text, problems.append))

    def of(kind: type[_E]) -> list[_E]:
        return [event for event in events if isinstance(event, kind)]

    kernels, switches, progress = of(KernelProof), of(LruGen), of(Progress)
    report = GuestReport(
        kernel=kernels[-1] if kernels else None,
        lru_gen=switches[-1].enabled if switches else None,
        symbols={symbol.name: symbol.present for symbol in of(SymbolProof)},
        counters=tuple(of(Counters)),
        samples=tuple(of(CounterSample)),
        metrics={metric.name: metric.value for metric in of(DriverMetric)},
        latencies=_merge(of(LatencyCounts), problems.append),
        progress=progress[-1] if progress else None,
        steps=tuple(of(StepEvent)),
        errors=tuple(error.message for error in of(GuestError)),
        done=bool(of(Done)),
        problems=(),
    )
    problems += _duplicates(of(DriverMetric), of(Counters), of(StepEvent))
    problems += _gaps(report)
    return replace(report, problems=tuple(problems))


def _events(text: str, complain: Callable[[Problem], None]) -> Iterator[Event]:
    lines = text.replace("\0", "").split("\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield EVENT.validate_json(line.strip())
        except ValidationError as error:
            last = number == len(lines)  # nothing ended it, so it may be half a line
            complain(_explain(error, line.strip(), number, last=last))


def _explain(error: ValidationError, line: str, number: int, *, last: bool) -> Problem:
    first = error.errors(include_url=False)[0]
    shown = line[:SHOWN_CHARACTERS]
    if first["type"] == "json_invalid":
        kind = ProblemKind.TRUNCATED if last else ProblemKind.GARBAGE
        return Problem(kind, f"'{shown}'", number)
    if first["type"] == "union_tag_invalid":
        return Problem(ProblemKind.UNKNOWN_EVENT, f"'{shown}'", number)
    where = ".".join(str(part) for part in first["loc"])
    message = f"{where}: {first['msg']}" if where else first["msg"]
    return Problem(ProblemKind.MALFORMED, f"{message} in '{shown}'", number)


def _merge(
    parts: Iterable[LatencyCounts], complain: Callable[[Problem], None]
) -> tuple[Latency, ...]:
    latencies: dict[tuple[str, str], Latency] = {}
    for part in parts:
        key = (part.name, part.unit)
        latency = latencies.setdefault(key, Latency(part.name, part.unit, Histogram()))
        if lost := latency.histogram.add(part.counts):
            text = f"{lost} samples of {part.name} are longer than the histogram holds"
            complain(Problem(ProblemKind.OUT_OF_RANGE, text))
    return tuple(latencies.values())


def _duplicates(
    metrics: Iterable[DriverMetric], counters: Iterable[Counters], steps: Iterable[StepEvent]
) -> list[Problem]:
    seen = Counter([f"metric {metric.name}" for metric in metrics])
    seen.update(f"phase {snapshot.phase}" for snapshot in counters)
    seen.update(f"step {step.label}" for step in steps)
    return [
        Problem(ProblemKind.DUPLICATE, f"{what} was reported {times} times; the last one counts")
        for what, times in seen.items()
        if times > 1
    ]


def _gaps(report: GuestReport) -> list[Problem]:
    """Return what a complete report has and this one lacks."""
    problems = [Problem(ProblemKind.GUEST_ERROR, message) for message in report.errors]
    missing = [name for name in (BEGIN, END) if report.phase(name) is None]
    if missing:
        text = f"no counters of phase {' and '.join(missing)}"
        problems.append(Problem(ProblemKind.MISSING_COUNTERS, text))
    if not report.done:
        text = "the guest stopped before it was done"
        problems.append(Problem(ProblemKind.MISSING_DONE, text))
    begin, end = report.phase(BEGIN), report.phase(END)
    if begin is not None and end is not None:
        problems += [
            Problem(ProblemKind.BACKWARDS, f"the counter {name} fell between begin and end")
            for name in fallen(begin, end)
        ]
    return problems


def metrics_of(report: GuestReport) -> dict[str, float]:
    """Return every figure of a report under one name.

    - Event counters: what they rose by from `begin` to `end`. Gauges: as they stood at
      `end`, in the kernel's own unit (pages in vmstat's nr_*, bytes in memory.stat). Names
      are the kernel's; a figure of the cgroup under test wins over the whole system's of
      the same name, except pgpgin and pgpgout (kB), which are always the system's.
    - `written_kb`, with what is left to be written, see `write_figures`.
    - `cpu_seconds` and the like, where computing takes time, see `cpu_figures`.
    - `elapsed_seconds` from `begin` to `end`, on the guest's clock. Without an `end`:
      `reached_seconds`, from `begin` to the last sample.
    - `<name>_<mean|p50|p90|p95|p99|p999|max>_<unit>` of each latency histogram.
    - `file_dirty_mean_mb` and the like of the samples between the two, see `sample_figures`.
    - What a shift of the hot set did, see `shift_figures`.
    - `<label>_seconds` of each step that came to its end without an error.
    - The drivers' own figures, which win over all others.

    Without both snapshots there are no figures of the kernel.
    """
    metrics: dict[str, float] = {}
    begin, end = report.phase(BEGIN), report.phase(END)
    if begin is not None and end is not None:
        metrics |= kernel_figures(begin, end) | write_figures(begin, end)
        metrics |= cpu_figures(begin, end, report.metrics.get("ops_per_second"))
        metrics["elapsed_seconds"] = (end.clock_ns - begin.clock_ns) / 1e9
        during = [s for s in report.samples if begin.clock_ns <= s.clock_ns <= end.clock_ns]
        metrics |= sample_figures(during)
        if shift := report.phase(SHIFT):
            metrics |= shift_figures(begin, shift, end, report.progress)
    elif begin is not None and report.samples:
        metrics["reached_seconds"] = (report.samples[-1].clock_ns - begin.clock_ns) / 1e9
    for latency in report.latencies:
        for figure, value in latency.histogram.summary().items():
            metrics[f"{latency.name}_{figure}_{latency.unit}"] = value
    # What was killed or gave up did not take the time that its work takes.
    ended = [step for step in report.steps if not (step.stopped or step.failed)]
    metrics |= {f"{step.label}_seconds": step.seconds for step in ended}
    return metrics | report.metrics


def timeline_of(report: GuestReport) -> Timeline | None:
    """Return the figures over time of the measured part, None if there are none."""
    begin, end = report.phase(BEGIN), report.phase(END)
    return make_timeline(begin, end, report.samples, progress=report.progress)
