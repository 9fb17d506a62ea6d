# SPDX-License-Identifier: GPL-2.0-only
"""The result of a run: what every boot gave, and what made it.

`raw` is the truth. Medians and ratios are computed from it whenever they are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, computed_field

from mglru.core import stats
from mglru.results.baseline import baseline_of
from mglru.results.timeline import Timeline


class _Model(BaseModel):
    """Results are values: immutable, finite, without keys that are not known."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class KernelProvenance(_Model):
    """What a kernel was built from.

    Attributes:
        release: as uname gives it in the guest.
        base_version: the version of the source.
        series_sha256: of our patches as applied; None for a stock kernel.
        lab_series_sha256: of the lab-only patches that every kernel gets; None if there are none.
        config_sha256: of the .config.
        compiler: its version line.
        build: the key of the build in the cache.
    """

    release: str
    base_version: str
    series_sha256: str | None = None
    lab_series_sha256: str | None = None
    config_sha256: str
    compiler: str
    build: str


class MachineProvenance(_Model):
    """The machine that booted the kernels.

    Attributes:
        virtual_time: whether the guest's clock is simulated (computing costs nothing, or a
            fixed amount), so that figures do not depend on the host.
        options: memory, disk and whatever else was set.
    """

    virtual_time: bool
    options: dict[str, JsonValue] = {}


class ExperimentProvenance(_Model):
    """The experiment file, and the parameters after `--set`."""

    sha256: str
    parameters: dict[str, JsonValue] = {}


class Provenance(_Model):
    """All that made a result.

    Attributes:
        kernels: by kernel id.
        machine: the machine and its options.
        experiment: the experiment file and its parameters.
        seed: boot i of every kernel ran with seed + i.
        dataset_sha256: of the prepared data set; None if there is none.
        userland: the versions of the Debian packages whose programs ran; none: the host's.
        lab_commit: the git commit of the lab, with `-dirty` if it was changed.
        host: the host's processor and system, see `provenance.describe_host`; no names.
    """

    kernels: dict[str, KernelProvenance]
    machine: MachineProvenance
    experiment: ExperimentProvenance
    seed: int
    dataset_sha256: str | None = None
    userland: dict[str, str] = {}
    lab_commit: str | None = None
    host: dict[str, str] = {}


class Headline(_Model):
    """A metric that the experiment is about.

    Attributes:
        name: the metric.
        better: which way is better.
        label: what tables call it; the name if empty.
    """

    name: str
    better: Literal["higher", "lower"]
    label: str = ""


class Published(_Model):
    """A published figure: before and after the published change, in any one unit."""

    before: float
    after: float

    @property
    def ratio(self) -> float | None:
        """The published change, as a factor."""
        return stats.ratio(self.after, self.before)


class BootRecord(_Model):
    """One boot: the sample.

    Attributes:
        kernel: the kernel's id.
        boot: its number, from 0; the same number is the same seed on every kernel.
        seed: the guest's seed.
        metrics: every figure, by name.
        problems: whatever went wrong, one sentence each; empty for a good boot.
        release: as the guest read it from its own kernel.
        build: the key of the build.
        real_seconds: of the host, for the whole boot; 0 where that is not kept.
        latency: HdrHistogram V2 in base64, by name.
        timeline: figures over time; of a kernel's first boot only.
    """

    kernel: str
    boot: int = Field(ge=0)
    seed: int
    metrics: dict[str, float]
    problems: list[str] = []
    release: str = ""
    build: str = ""
    real_seconds: float = 0.0
    latency: dict[str, str] = {}
    timeline: Timeline | None = None


class Figure(_Model):
    """One metric of one kernel: its values by boot, their median, its ratio to the baseline."""

    values: list[float]
    median: float
    ratio: float | None


class RunInfo(_Model):
    """All of a run that is known before its first boot.

    Attributes:
        experiment: its name.
        machine: uml, qemu or kvm.
        seed: the first boot's.
        kernels: ids, in the order asked for.
        boots: how many each kernel was to have; `raw` tells how many it had.
        provenance: what made the result.
        headline: the metrics that the experiment is about, the most important first.
        published: published figures by metric.
        baseline: the kernel that somebody chose for ratios to refer to; empty: nobody, and
            `baseline_of` says which it is.
    """

    experiment: str
    machine: str
    seed: int
    kernels: list[str] = Field(min_length=1)
    boots: int = Field(ge=1)
    provenance: Provenance
    headline: list[Headline] = []
    published: dict[str, Published] = {}
    baseline: str = ""


class RunResult(RunInfo):
    """A run, complete or not: `RunInfo` and the boots so far.

    Attributes:
        raw: the boots, in the order they ran.
    """

    raw: list[BootRecord] = []

    @classmethod
    def from_boots(cls, info: RunInfo, boots: Sequence[BootRecord]) -> RunResult:
        """Join a run's description and its boots."""
        return cls(**{name: getattr(info, name) for name in RunInfo.model_fields}, raw=list(boots))

    def boots_of(self, kernel: str) -> list[BootRecord]:
        """Return a kernel's boots by number."""
        return sorted((r for r in self.raw if r.kernel == kernel), key=lambda r: r.boot)

    def values(self, metric: str, kernel: str) -> dict[int, float]:
        """Return a metric of a kernel by boot number; boots that lack it are left out."""
        return {r.boot: r.metrics[metric] for r in self.boots_of(kernel) if metric in r.metrics}

    def metric_names(self) -> list[str]:
        """Return every metric that some boot has: headline first, then by name."""
        names = {name for record in self.raw for name in record.metrics}
        first = [headline.name for headline in self.headline if headline.name in names]
        return first + sorted(names - set(first))

    @computed_field  # type: ignore[prop-decorator]
    @property
    def metrics(self) -> dict[str, dict[str, Figure]]:
        """Every metric of every kernel, with the ratio to the run's baseline."""
        return {name: self._figures(name) for name in self.metric_names()}

    def _figures(self, metric: str) -> dict[str, Figure]:
        by_kernel = {kernel: self.values(metric, kernel) for kernel in self.kernels}
        medians = {k: stats.median(list(v.values())) for k, v in by_kernel.items() if v}
        base = medians.get(baseline_of(self.kernels, self.baseline), 0.0)
        return {
            kernel: Figure(
                values=list(by_kernel[kernel].values()),
                median=middle,
                ratio=stats.ratio(middle, base),
            )
            for kernel, middle in medians.items()
        }


def in_order(info: RunInfo, boots: Sequence[BootRecord]) -> list[BootRecord]:
    """Return boots by number, and those of one number as the run has its kernels."""
    order = {kernel: at for at, kernel in enumerate(info.kernels)}
    return sorted(boots, key=lambda each: (each.boot, order[each.kernel]))


def series_of(info: RunInfo) -> dict[str, str | None]:
    """Return the digest of every kernel's patches; None for stock."""
    return {name: made_of.series_sha256 for name, made_of in info.provenance.kernels.items()}
