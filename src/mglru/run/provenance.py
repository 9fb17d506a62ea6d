# SPDX-License-Identifier: GPL-2.0-only
"""What made a result, so that it can be made again."""

from __future__ import annotations

import functools
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from pydantic import JsonValue

from mglru.build.build import Build
from mglru.core import process
from mglru.core.errors import LabError
from mglru.core.files import digest
from mglru.core.paths import REPO
from mglru.debian.userland import Userland
from mglru.experiment.spec import Experiment
from mglru.machine.registry import MACHINES, UML, Machine
from mglru.results.model import (
    ExperimentProvenance,
    Headline,
    KernelProvenance,
    MachineProvenance,
    Provenance,
    Published,
    RunInfo,
)
from mglru.results.recording import changed_files
from mglru.source.kernel_id import KernelId

DIRTY = "-dirty"


def lab_commit() -> str | None:
    """Return the repository's commit; None outside git.

    With `-dirty` if files that decide a result differ from it.
    """
    try:
        commit = process.run(["git", "rev-parse", "HEAD"], purpose="ask git", cwd=REPO).strip()
    except LabError:
        return None
    return commit + (DIRTY if changed_files() else "")


def describe_host() -> dict[str, str]:
    """Return the host's processor, number of cores and system; nothing that names it."""
    return {
        "processor": _processor(),
        "cores": str(len(os.sched_getaffinity(0))),
        "system": _system(),
        "kernel": platform.release(),
    }


def _processor() -> str:
    """Return what the first processor calls itself."""
    for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
        key, _colon, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return platform.machine()


def _system() -> str:
    """Return the distribution's name and version."""
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()


def _kernel(build: Build) -> KernelProvenance:
    recipe = build.recipe
    return KernelProvenance(
        release=recipe.release,
        base_version=recipe.source.version,
        series_sha256=recipe.series.sha256 if recipe.series.patches else None,
        lab_series_sha256=recipe.lab.sha256 if recipe.lab.patches else None,
        config_sha256=recipe.config_sha256,
        compiler=recipe.compiler,
        build=recipe.key,
    )


@functools.cache
def image_digest(image: Path | None) -> str | None:
    """Return the sha256 of a disk image in the cache, where what has a name does not change."""
    if image is None:
        return None
    return digest(image)


def run_info(
    experiment: Experiment,
    builds: Mapping[KernelId, Build],
    image: Path | None,
    *,
    boots: int,
    seed: int,
    parameters: Mapping[str, str] = MappingProxyType({}),
    userland: Userland | None = None,
    machine: Machine = MACHINES[UML],
    baseline: str = "",
) -> RunInfo:
    """Describe a run before its first boot; `parameters`: its settings; `baseline`: see RunInfo."""
    return RunInfo(
        experiment=experiment.name,
        machine=machine.name,
        seed=seed,
        kernels=[str(kernel) for kernel in builds],
        boots=boots,
        provenance=Provenance(
            kernels={str(kernel): _kernel(build) for kernel, build in builds.items()},
            machine=_machine(machine, experiment),
            experiment=ExperimentProvenance(sha256=experiment.sha256, parameters=dict(parameters)),
            seed=seed,
            dataset_sha256=image_digest(image),
            userland=dict(userland.versions) if userland else {},
            lab_commit=lab_commit(),
            host=describe_host(),
        ),
        headline=_headline(experiment),
        published=_published(experiment),
        baseline=baseline,
    )


def _machine(machine: Machine, experiment: Experiment) -> MachineProvenance:
    """Describe the machine as it is for an experiment."""
    fitting = machine.fit(experiment)
    options: dict[str, JsonValue] = {
        "memory_mb": experiment.guest.memory_mb,
        "disk": experiment.disk.model_dump(mode="json"),
    }
    if machine.most != (1, 1):
        options |= {"cpus": fitting.guest.cpus, "nodes": fitting.guest.nodes}
    if fitting.guest.movable_mb:
        options["movable_mb"] = fitting.guest.movable_mb
    if machine.emulator:
        options["emulator"] = machine.emulator()
    return MachineProvenance(virtual_time=fitting.time != "real", options=options)


def _headline(experiment: Experiment) -> list[Headline]:
    return [
        Headline(name=metric.name, better=metric.better, label=metric.label or "")
        for metric in experiment.metrics
    ]


def _published(experiment: Experiment) -> dict[str, Published]:
    return {
        metric.name: Published(before=metric.published.before, after=metric.published.after)
        for metric in experiment.metrics
        if metric.published
    }
