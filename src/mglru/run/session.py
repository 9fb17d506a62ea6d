# SPDX-License-Identifier: GPL-2.0-only
"""Step 5, run: an experiment on kernels, in: what is needed made once; out: the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from mglru.build.build import Build
from mglru.core.ui import Ui
from mglru.debian import packages
from mglru.experiment.spec import Experiment
from mglru.machine.qemu import check_kvm
from mglru.machine.registry import KVM, MACHINES, UML
from mglru.results.model import BootRecord, RunInfo, RunResult, in_order
from mglru.results.result_file import ResultFile
from mglru.run import resume
from mglru.run.boots import run_jobs
from mglru.run.jobs import Job, make_jobs, parallel_boots
from mglru.run.judged import Judged, PlainBoot, boot_plain
from mglru.run.kernels import build_all, planned_builds
from mglru.run.needs import get_ingredients, stock_build
from mglru.run.provenance import run_info
from mglru.source.kernel_id import KernelId


@dataclass(frozen=True)
class Prepared:
    """A run before its first boot.

    Attributes:
        info: what it will be of.
        jobs: its boots, kernels interleaved.
    """

    info: RunInfo
    jobs: Sequence[Job]


class Session:
    """The runs of one command: kernels built once; each run's result is a value.

    Args:
        kernels: in the order of the table's columns.
        own: the user's kernel sources.
        ui: gets the progress.
        file: keeps the results, boot by boot; None: nothing does.
        needed: Debian packages that the runs need.
        machine: on which machine.
        baseline: what `--kernels` chose for ratios to refer to; empty: nothing.
        build: build the kernels at once; else `build` does, if it is called.
        builds: the kernels, where somebody has built them; None: they are built from their names.
    """

    def __init__(
        self,
        kernels: Sequence[KernelId],
        own: Sequence[Path],
        ui: Ui,
        file: ResultFile | None = None,
        needed: Mapping[str, str] = packages.ALL,
        machine: str = UML,
        baseline: str = "",
        *,
        build: bool = True,
        builds: Mapping[KernelId, Build] | None = None,
    ) -> None:
        self.ui = ui
        self.machine = machine
        self._baseline = baseline
        self._file = file
        self._kernels = kernels
        self._own = own
        if machine == KVM:
            check_kvm()
        packages.ensure(needed, ui)
        if builds is None:
            make = build_all if build else planned_builds
            builds = make(kernels, own, ui, machine)
        self.builds = builds

    def build(self) -> None:
        """Build the kernels that are not there yet; not for a session that was given builds."""
        self.builds = build_all(self._kernels, self._own, self.ui, self.machine)

    def run(
        self,
        experiment: Experiment,
        *,
        boots: int,
        seed: int,
        parameters: Mapping[str, str] = MappingProxyType({}),
        vary_seed: bool = True,
        outputs: Path | None = None,
        watch: Callable[[Path], None] | None = None,
        old: RunResult | None = None,
    ) -> RunResult:
        """Run one experiment on all kernels and return its result.

        `parameters`: what the result keeps of the command's options; `outputs`, `watch`: see
        `Job`; `old`: an earlier result, whose boots count if they would be the same now.
        """
        prepared = self.prepare(
            experiment, boots=boots, seed=seed, parameters=parameters, vary_seed=vary_seed
        )
        records = resume.unchanged_boots(old, prepared.info) if old else []
        if self._file:
            self._file.begin(prepared.info, records)
        jobs = [
            replace(job, outputs=outputs, watch=watch)
            for job in filter(resume.missing(records), prepared.jobs)
        ]
        if old:
            self.ui.note(f"{experiment.name}: {len(records)} boots are there already")

        def keep(record: BootRecord) -> None:
            records.append(record)
            if self._file:
                self._file.add(record)

        self.boot(jobs, keep)
        return RunResult.from_boots(prepared.info, in_order(prepared.info, records))

    def boot(self, jobs: Sequence[Job], keep: Callable[[BootRecord], None]) -> None:
        """Boot the jobs of one prepared run, as many at once as fit; each record goes to `keep`."""
        if jobs:
            run_jobs(jobs, self.ui, keep, parallel_boots(jobs[0].experiment))

    def boot_plain(self, name: str, kernel: KernelId, plain: PlainBoot, directory: Path) -> Judged:
        """Boot one of the session's kernels on its machine, without an experiment, and judge it.

        Args:
            name: of what runs, for the logs that are kept of a boot that went wrong.
            kernel: which.
            plain: what to boot.
            directory: an empty one for the boot's files.

        Raises:
            LabError: the guest could not start, or it ran another kernel.
        """
        return boot_plain(name, self.builds[kernel], plain, directory, self.machine)

    def prepare(
        self,
        experiment: Experiment,
        *,
        boots: int,
        seed: int,
        parameters: Mapping[str, str] = MappingProxyType({}),
        vary_seed: bool = True,
        kernels: Sequence[KernelId] | None = None,
        baseline: str | None = None,
    ) -> Prepared:
        """Return a run of an experiment when all that it needs is there, but for kernels.

        Args:
            experiment: what is to run.
            boots: of each kernel.
            seed: of the first.
            parameters: what the result keeps of the command's options.
            vary_seed: see `make_jobs`.
            kernels: on these of the session's kernels; None: on all.
            baseline: as the session's; None: the session's.
        """
        builds = {kernel: self.builds[kernel] for kernel in kernels or self._kernels}
        found = get_ingredients(experiment, stock_build(self._own, self.ui), self.ui)
        info = run_info(
            experiment,
            builds,
            found.image,
            boots=boots,
            seed=seed,
            parameters=parameters,
            userland=found.userland,
            machine=MACHINES[self.machine],
            baseline=self._baseline if baseline is None else baseline,
        )
        jobs = make_jobs(
            experiment,
            builds,
            found.image,
            boots=boots,
            seed=seed,
            vary_seed=vary_seed,
            userland=found.userland,
            machine=self.machine,
        )
        return Prepared(info, jobs)
