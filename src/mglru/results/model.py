# SPDX-License-Identifier: GPL-2.0-only
"""The result of a run: what every boot gave, what made it, and the file that keeps it.

`raw` is the truth. Medians and ratios are computed from it whenever they are asked for;
the file repeats them under `metrics` for its readers, and `load` computes them anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, computed_field

from mglru.core import stats
from mglru.results import recording
from mglru.results.baseline import baseline_of
from mglru.results.json_file import FileKind, shown
from mglru.results.output_file import OutputFile, json_text
from mglru.results.timeline import Timeline

FORMAT = 1
KIND = FileKind("result", "./mglru run EXPERIMENT --json FILE", FORMAT)


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
        real_seconds: of the host, for the whole boot.
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


def to_document(run: RunResult) -> dict[str, JsonValue]:
    """Return what a file says of a run: its fields, its format, and its figures."""
    return {"format": FORMAT, **run.model_dump(mode="json")}


def to_json(runs: Sequence[RunResult]) -> str:
    """Return the file's text: one run as an object, several as an array of them."""
    documents = [to_document(run) for run in runs]
    return json_text(documents[0] if len(documents) == 1 else documents)


class ResultFile(OutputFile):
    """A file of runs, written boot by boot (see OutputFile).

    Usage:
        with ResultFile(path) as file:
            file.begin(info)
            file.add(record)
    """

    def __init__(self, path: str | Path) -> None:
        self.runs: list[RunResult] = []
        super().__init__(path)

    def text(self) -> str:
        """Return the runs as JSON; nothing as long as there is no boot."""
        return to_json(self.runs) if any(run.raw for run in self.runs) else ""

    def begin(self, info: RunInfo, known: Sequence[BootRecord] = ()) -> None:
        """Start a run with the boots it has; those added from now on are its own.

        Raises:
            UsageError: it is to be recorded and is of another state of the series.
        """
        recording.check_state(self.path, series_of(info))
        self.runs.append(RunResult.from_boots(info, known))

    def add(self, record: BootRecord) -> RunResult:
        """Add a boot to the current run, write the file, return the run so far.

        Raises:
            LabError: the file cannot be written.
        """
        run = self.runs[-1]
        self.runs[-1] = RunResult.from_boots(run, in_order(run, [*run.raw, record]))
        self.write()
        return self.runs[-1]


def save(runs: RunResult | Sequence[RunResult], path: str | Path) -> None:
    """Write results to a file, or to stdout for `-`.

    Raises:
        UsageError: the path is a directory.
        LabError: the file cannot be written.
    """
    with ResultFile(path) as file:
        file.runs = [runs] if isinstance(runs, RunResult) else list(runs)
        file.write()


def load(path: str | Path) -> list[RunResult]:
    """Read the runs of a result file; `-` is stdin.

    Raises:
        UsageError: it cannot be read, is cut off, is not a result, or has another format.
    """
    documents = KIND.read(path)
    runs = documents if isinstance(documents, list) else [documents]
    if not runs:
        raise KIND.refuse(shown(path), "it is empty")
    return [from_document(document, shown(path)) for document in runs]


def from_document(document: object, name: str) -> RunResult:
    """Make a run of what `to_document` gave; figures are computed anew.

    Args:
        document: from JSON.
        name: of the file, for messages.

    Raises:
        UsageError: it is not a result, or has another format.
    """
    fields = KIND.check_format(document, name)
    if "kind" in fields:
        raise KIND.refuse(name, f"it is a {fields['kind']}")
    derived = {"format", *RunResult.model_computed_fields}
    kept = {key: value for key, value in fields.items() if key not in derived}
    return KIND.validate(RunResult, kept, name)
