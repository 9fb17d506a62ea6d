# SPDX-License-Identifier: GPL-2.0-only
"""Step 5, run: an experiment on kernels, in: what is needed made once; out: the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from mglru.core.ui import Ui
from mglru.debian import packages
from mglru.experiment.spec import Experiment
from mglru.machine.qemu import check_kvm
from mglru.machine.registry import KVM, MACHINES, UML
from mglru.results.model import BootRecord, ResultFile, RunResult
from mglru.run.boots import Job, make_jobs, parallel_boots, run_jobs
from mglru.run.kernels import build_all
from mglru.run.needs import get_ingredients, stock_build
from mglru.run.provenance import run_info
from mglru.source.kernel_id import KernelId


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
    ) -> None:
        self.ui = ui
        self._baseline = baseline
        self._file = file
        self._own = own
        self._machine = machine
        if machine == KVM:
            check_kvm()
        packages.ensure(needed, ui)
        self.builds = build_all(kernels, own, ui, machine)

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
    ) -> RunResult:
        """Run one experiment on all kernels and return its result.

        `parameters`: what the result keeps of the command's options; `outputs`, `watch`: see `Job`.
        """
        jobs = self.jobs(experiment, boots=boots, seed=seed, vary_seed=vary_seed)
        first = jobs[0]
        info = run_info(
            *(experiment, self.builds, first.image),
            boots=boots,
            seed=seed,
            parameters=parameters,
            userland=first.userland,
            machine=MACHINES[self._machine],
            baseline=self._baseline,
        )
        if self._file:
            self._file.begin(info)
        jobs = [replace(job, outputs=outputs, watch=watch) for job in jobs]
        records: list[BootRecord] = []

        def keep(record: BootRecord) -> None:
            records.append(record)
            if self._file:
                self._file.add(record)

        run_jobs(jobs, self.ui, keep, parallel_boots(first.experiment))
        return RunResult.from_boots(info, records)

    def jobs(
        self, experiment: Experiment, *, boots: int, seed: int, vary_seed: bool = True
    ) -> list[Job]:
        """Return the boots of an experiment on all kernels, when all that they need is there."""
        found = get_ingredients(experiment, stock_build(self._own, self.ui), self.ui)
        return make_jobs(
            *(experiment, self.builds, found.image),
            boots=boots,
            seed=seed,
            vary_seed=vary_seed,
            userland=found.userland,
            machine=self._machine,
        )
