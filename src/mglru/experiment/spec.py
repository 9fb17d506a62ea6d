# SPDX-License-Identifier: GPL-2.0-only
"""An experiment as its TOML file describes it: workload, scale, kernels, metrics, published."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    model_validator,
)

from mglru.core.keys import sha256_of
from mglru.experiment.dataset import DatasetSpec
from mglru.experiment.fields import Kernels, Memcg
from mglru.experiment.filesystem import LEAST_MB, Filesystem
from mglru.experiment.trace import TraceSpec

Table = dict[str, Any]
# What passes for time in a guest.
Time = Literal["virtual", "real", "instructions"]

# Latency and bandwidth of the disks that people have: an NVMe drive of a server, and a hard
# disk with its seeks.
DISK_PRESETS = {
    "nvme": {"completion_us": 80, "mbps": 1700},
    "hdd": {"completion_us": 8000, "mbps": 160},
}

# For less than this the driver polls the clock instead of waiting for a timer.
SHORTEST_DELAY_MS = 50

# So many pairs of boots it takes to call a figure better or worse (`marks.py`).
VIRTUAL_BOOTS = 5

PROGRAM = re.compile(r"\{program:(\w+)\}")
SAMPLER = "sampler"
RECORDER = "recorder"


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Guest(_Model):
    """The guest's size.

    Attributes:
        memory_mb: its memory.
        cpus: its processors; None: as many as its machine has by itself.
        nodes: its memory nodes, likewise.
        movable_mb: how much of its memory is a zone for page cache and programs only, of which
            the kernel cannot have any for itself.
    """

    memory_mb: int = Field(default=2048, ge=64, le=65536)
    movable_mb: int = Field(default=0, ge=0, le=65536)
    cpus: int | None = Field(default=None, ge=1, le=64)
    nodes: int | None = Field(default=None, ge=1, le=64)


def _check_delay(milliseconds: int) -> int:
    if 0 < milliseconds < SHORTEST_DELAY_MS:
        raise ValueError(
            f"dm-delay would poll, which stops virtual time: 0, or at least {SHORTEST_DELAY_MS}"
        )
    return milliseconds


class Disk(_Model):
    """The guest's disk: a latency for each request (us) and a bandwidth (MB/s, 0: unlimited).

    Attributes:
        filesystem: what the data is on; for all but ext4 it takes a kernel that has it.
        write_delay_ms: each write comes this much later to the disk (0: at once), by dm-delay.
    """

    preset: Literal["nvme", "hdd"] = "nvme"
    filesystem: Filesystem = "ext4"
    completion_us: int = Field(ge=0)
    mbps: int = Field(ge=0)
    write_delay_ms: Annotated[int, AfterValidator(_check_delay)] = Field(
        default=0, ge=0, le=3_600_000
    )

    @model_validator(mode="before")
    @classmethod
    def _from_preset(cls, fields: Table) -> Table:
        return {**DISK_PRESETS.get(fields.get("preset", "nvme"), {}), **fields}


PackageName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.+-]+$")]


class Packages(_Model):
    """Whose programs the guest runs: packages of one Debian suite instead of the host's.

    Attributes:
        packages: their names.
        sources: source packages, unpacked in /usr/src.
    """

    packages: tuple[PackageName, ...]
    sources: tuple[PackageName, ...] = ()


class Swap(_Model):
    """Swap space: in the guest's memory, compressed (no time passes), or on a disk of its own.

    Attributes:
        zram_mb: zram's disk size.
        disk_mb: of the disk, all of whose memory the guest gives away at its start.
        completion_us: how long each of the disk's requests takes.
    """

    zram_mb: int | None = Field(default=None, gt=0, le=1 << 20)
    disk_mb: int | None = Field(default=None, gt=0, le=65_536)
    completion_us: int = Field(default=80, ge=0)

    @model_validator(mode="after")
    def _either_or(self) -> Self:
        if (self.zram_mb is None) == (self.disk_mb is None):
            raise ValueError("give either zram_mb or disk_mb")
        return self


class Sample(_Model):
    """Which counters are read at an interval of the guest's clock, beside those of the sampler.

    Attributes:
        interval_ms: between two samples.
        vmstat: of /proc/vmstat.
        memory_stat: of the cgroup's memory.stat, by the names of cgroup v2. Empty by default:
            reading that file brings the kernel's own view of the cgroup's dirty pages up to date.
    """

    interval_ms: float = Field(default=4, ge=0.1)
    vmstat: tuple[str, ...] = (
        *("nr_file_pages", "nr_shmem", "nr_dirty", "nr_writeback", "nr_anon_pages"),
        *("nr_active_file", "nr_inactive_file", "nr_active_anon", "nr_inactive_anon"),
        *("nr_dirty_threshold", "nr_dirty_background_threshold"),
        *("pgpgin", "pgpgout", "pswpin", "pswpout", "pgscan_direct", "pgscan_kswapd"),
        *("workingset_refault_anon", "workingset_refault_file"),
    )
    memory_stat: tuple[str, ...] = ()


class Step(_Model):
    """One program that the guest runs: to its end, or beside the steps after it.

    Attributes:
        label: names the step in results.
        argv: the program and its arguments, with placeholders.
        join: who puts it into the cgroup under test: the guest's `init` before it starts, the
            `program` itself after it has read its input, or `none`.
        metric: the step's elapsed seconds become this metric.
        fresh_cache: drop the page cache before the step.
        background: go on at once; it is stopped after the last step that is not.
    """

    label: str = Field(pattern=r"^[a-z0-9_]+$")
    argv: tuple[str, ...] = Field(min_length=1)
    join: Literal["program", "init", "none"] = "init"
    metric: str | None = None
    fresh_cache: bool = False
    background: bool = False

    @model_validator(mode="after")
    def _stopped_is_not_timed(self) -> Self:
        if self.background and self.metric:
            raise ValueError(f"step {self.label} is stopped, so its seconds are no metric")
        return self


class Point(_Model):
    """One variant of an experiment that is a family of them.

    Attributes:
        name: with the experiment's, `NAME:POINT`, it names the variant.
        set: `key=value` settings, as for `--set`.
        quick: it is among those that `--quick` runs.
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.+-]*$")]
    set: tuple[str, ...] = ()
    quick: bool = False


SuiteName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]


class PublishedFigures(_Model):
    """A published figure before and after the same idea, in its own unit and at its own scale."""

    before: float
    after: float


class Metric(_Model):
    """A figure that a report shows first."""

    name: str
    better: Literal["higher", "lower"]
    label: str | None = None
    published: PublishedFigures | None = None


# What an experiment says beside what it runs.
_NOT_DECISIVE = {"published", "profile", "summary", "folder", "suites", "points"}


class Experiment(_Model):
    """One experiment; the fields are those of its TOML file (docs/use/experiments.md).

    Attributes:
        folder: the suite in whose folder its file lies.
        suites: other suites that it belongs to.
        points: the variants of a family; none: the file alone is what there is to run.
    """

    name: str
    summary: str
    folder: str | None = None
    suites: tuple[SuiteName, ...] = ()
    points: tuple[Point, ...] = ()
    time: Time = "virtual"
    boots: int | None = Field(default=None, ge=1)
    limit_seconds: float = Field(default=300, gt=0)
    kernels: Kernels = Field(default=("6.12", "6.12+next"), validate_default=True)
    guest: Guest = Guest()
    cgroup_version: Literal[1, 2] = 2
    disk: Disk = Disk.model_validate({})
    dataset: DatasetSpec | None = None
    userland: Packages | None = None
    trace: TraceSpec | None = None
    swap: Swap | None = None
    sample: Sample | None = None
    memcg: Memcg = {}
    memcg_optional: Memcg = {}
    sysctl: dict[str, str] = {}
    parameters: dict[str, str | int | float] = {}
    steps: tuple[Step, ...] = Field(min_length=1)
    metrics: tuple[Metric, ...] = ()
    expects: tuple[str, ...] = ()
    published: Table = {}
    profile: Table = {}

    @model_validator(mode="after")
    def _check_steps(self) -> Self:
        if all(step.background for step in self.steps):
            raise ValueError("all steps are in the background, so the run would end at once")
        labels = [step.label for step in self.steps]
        if {SAMPLER, RECORDER} & set(labels) or len(set(labels)) < len(labels):
            raise ValueError(f"each step needs a label of its own, not {SAMPLER} or {RECORDER}")
        return self

    @model_validator(mode="after")
    def _check_points(self) -> Self:
        names = [point.name for point in self.points]
        if len(set(names)) < len(names):
            raise ValueError(f"each point needs a name of its own: {', '.join(names)}")
        return self

    @model_validator(mode="after")
    def _check_filesystem(self) -> Self:
        filesystem = self.disk.filesystem
        if filesystem == "ext4" or not self.dataset:
            return self
        if self.userland:
            raise ValueError(f"[userland] has no mkfs.{filesystem}: leave disk.filesystem at ext4")
        if self.dataset.size_mb < LEAST_MB[filesystem]:
            raise ValueError(f"{filesystem} needs a dataset.size_mb of {LEAST_MB[filesystem]}")
        return self

    @property
    def sampling(self) -> Sample | None:
        """What is sampled: where sampling takes time, only what the file asks for."""
        return self.sample or (Sample() if self.time == "virtual" else None)

    @property
    def usual_boots(self) -> int:
        """Boots of each kernel if nobody says how many: enough for a verdict in virtual time."""
        return self.boots or (1 if self.time == "real" else VIRTUAL_BOOTS)

    @property
    def driver_counts(self) -> bool:
        """Whether a program of the steps sends the counters itself (after its warm-up)."""
        return any(step.join == "program" for step in self.steps)

    @property
    def programs(self) -> list[str]:
        """The guest programs that a run starts."""
        words = [word for step in self.steps for word in step.argv]
        found = [name for word in words for name in PROGRAM.findall(word)]
        return [*found, SAMPLER] if self.sampling else found

    @property
    def sha256(self) -> str:
        """Digest of everything that decides a run; notes, suites and other points do not."""
        fields = self.model_dump(mode="json", exclude=_NOT_DECISIVE)
        # How often is no part of what (and 1 is what it once was for nearly all).
        fields["boots"] = 1
        # What an experiment leaves to the machine is no part of it.
        fields["guest"] = self.guest.model_dump(exclude_none=True)
        # Nor is a choice that everybody leaves as it always was.
        if not self.guest.movable_mb:
            del fields["guest"]["movable_mb"]
        if self.disk.filesystem == "ext4":
            del fields["disk"]["filesystem"]
        return sha256_of(json.dumps(fields, sort_keys=True))
