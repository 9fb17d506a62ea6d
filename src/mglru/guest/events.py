# SPDX-License-Identifier: GPL-2.0-only
"""The events of the result channel, one JSON object a line; guest/lib/lab.h is the other side."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

BEGIN = "begin"
# The hot set of the trace becomes another one.
SHIFT = "shift"
END = "end"

# The kernel's own ranges: a damaged line must not bring numbers that overflow later.
_Signed = Annotated[int, Field(ge=-(2**63), lt=2**64)]
_Unsigned = Annotated[int, Field(ge=0, lt=2**64)]
_Times = Annotated[int, Field(ge=0, lt=2**32)]


class EventBase(BaseModel):
    """What all events share: strict types, unknown keys passed over, no NaN or infinity."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", allow_inf_nan=False)


class Counters(EventBase):
    """A snapshot of the kernel's counters.

    Attributes:
        phase: the measured part lies between `begin` and `end`.
        clock_ns: the guest's monotonic clock in nanoseconds.
        vmstat: /proc/vmstat (pages or events; pgpgin and pgpgout in kB).
        memory_stat: memory.stat of the cgroup under test (bytes or events).
        memory_events: memory.events of the cgroup under test; empty for the root.
        memory_pressure: microseconds in which `some` or all (`full`) of its tasks waited for
            memory; empty for the root and on cgroup v1.
        cpu_stat: cpu.stat of the cgroup under test (microseconds of a processor); empty on
            cgroup v1, and where computing takes no time.
    """

    event: Literal["counters"]
    phase: str
    clock_ns: _Unsigned
    vmstat: dict[str, _Signed]
    memory_stat: dict[str, _Signed] = Field(alias="memory.stat", default_factory=dict)
    memory_events: dict[str, _Signed] = Field(alias="memory.events", default_factory=dict)
    memory_pressure: dict[str, _Unsigned] = Field(alias="memory.pressure", default_factory=dict)
    cpu_stat: dict[str, _Unsigned] = Field(alias="cpu.stat", default_factory=dict)


class Generations(EventBase):
    """Sizes of the generations of the cgroup under test and of all below it, youngest first.

    Attributes:
        max_seq: of the youngest one; rises by one with each aging.
        anon: pages, one number a generation; all 0 with the classic LRU.
        file: likewise.
    """

    max_seq: _Unsigned
    anon: list[_Unsigned]
    file: list[_Unsigned]


class CounterSample(EventBase):
    """Some of the kernel's counters at one moment; the sampler sends one at each interval.

    Attributes:
        clock_ns: the guest's monotonic clock in nanoseconds.
        vmstat: of /proc/vmstat, those asked for.
        memory_stat: of memory.stat of the cgroup under test, those asked for.
        memory_current: bytes charged to the cgroup under test.
        memory_pressure: as in `Counters`.
        generations: of the cgroup under test, None if the sampler does not tell.
    """

    event: Literal["sample"]
    clock_ns: _Unsigned
    vmstat: dict[str, _Signed]
    memory_stat: dict[str, _Signed] = Field(alias="memory.stat", default_factory=dict)
    memory_current: _Unsigned = Field(alias="memory.current", default=0)
    memory_pressure: dict[str, _Unsigned] = Field(alias="memory.pressure", default_factory=dict)
    generations: Generations | None = None


class DriverMetric(EventBase):
    """One figure of a driver."""

    event: Literal["metric"]
    name: str = Field(min_length=1)
    value: float


class LatencyCounts(EventBase):
    """Part of a latency histogram: (latency in `unit`, times) pairs."""

    event: Literal["latency"]
    name: str = Field(min_length=1)
    unit: str = Field(min_length=1)
    counts: list[tuple[_Unsigned, _Times]]


class Progress(EventBase):
    """How far a driver was at which moment.

    Attributes:
        every: so many operations lie between two moments.
        clock_ns: the guest's monotonic clock when each `every`th operation ended.
    """

    event: Literal["progress"]
    every: Annotated[int, Field(gt=0)]
    clock_ns: list[_Unsigned]


class KernelProof(EventBase):
    """The kernel that really runs, as uname has it, and on what.

    Attributes:
        release: as `uname -r`.
        version: as `uname -v`.
        cpus: processors that are online.
        nodes: memory nodes.
    """

    event: Literal["kernel"]
    release: str
    version: str
    cpus: _Unsigned = 1
    nodes: _Unsigned = 1


class SymbolProof(EventBase):
    """Whether the running kernel has a symbol: proof of a patch."""

    event: Literal["symbol"]
    name: str
    present: bool


class LruGen(EventBase):
    """/sys/kernel/mm/lru_gen/enabled, as text."""

    event: Literal["lru_gen"]
    enabled: str


class StepEvent(EventBase):
    """One program that the guest ran to its end.

    Attributes:
        label: its name in the experiment.
        status: its exit status.
        signal: the signal that killed it, else 0.
        seconds: how long it took, on the guest's clock.
        stopped: it ran in the background until init stopped it; however it then ended is no
            failure.
    """

    event: Literal["step"]
    label: str = Field(min_length=1)
    status: int
    signal: int
    seconds: float
    stopped: bool = False

    @property
    def failed(self) -> bool:
        """Whether it was killed or returned an error, by itself."""
        return bool(self.status or self.signal) and not self.stopped

    @property
    def how(self) -> str:
        """How it ended, in words."""
        return f"was killed by signal {self.signal}" if self.signal else f"returned {self.status}"


class GuestError(EventBase):
    """What a guest program said before it gave up."""

    event: Literal["error"]
    message: str


class Done(EventBase):
    """The guest did all it was asked to."""

    event: Literal["done"]


Event = (
    Counters
    | CounterSample
    | DriverMetric
    | LatencyCounts
    | Progress
    | KernelProof
    | SymbolProof
    | LruGen
    | StepEvent
    | GuestError
    | Done
)
EVENT: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="event")])
