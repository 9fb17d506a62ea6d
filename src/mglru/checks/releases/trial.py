# SPDX-License-Identifier: GPL-2.0-only
"""One series on kernel versions that Debian offers: a candidate in, a record of how it went out."""

from __future__ import annotations

from collections.abc import Sequence

from mglru.build.build import Build, build_kernel
from mglru.build.recipe import make_recipe
from mglru.checks.releases.attempt import (
    Candidate,
    source_of,
    try_series,
)
from mglru.checks.releases.tested import Tested, series_mark, tested_versions
from mglru.core.ui import Ui
from mglru.debian import packages
from mglru.experiment.load import load_experiment
from mglru.run.boots import failures
from mglru.run.session import Session
from mglru.series.listing import Series
from mglru.source.kernel_id import KernelId
from mglru.source.trees import Source, get_source

# Makes, limits, reclaims and removes cgroups from several processes: more than a boot, in seconds.
EXPERIMENT = "memcg-stress"


class ReleaseTrial:
    """Trying one series on candidates.

    Args:
        base: `6.12`.
        series: the patches.
        ui: gets the progress.
        build: also build the kernels.
        boot: also boot what was built.
    """

    def __init__(self, base: str, series: Series, ui: Ui, *, build: bool, boot: bool) -> None:
        self._series = series
        self._ui = ui
        self._base = base
        self._build = build
        self._boot = boot

    def known(self, candidate: Candidate) -> Tested | None:
        """Return the record of a candidate if it is of this series and says all that is asked."""
        for entry in tested_versions(self._base):
            same = entry.version == candidate.version and entry.series == series_mark(self._series)
            whole = entry.applies == "no" or (
                not (self._build and entry.builds is None)
                and not (self._boot and entry.builds and entry.boots is None)
            )
            if same and whole and entry.origin.endswith(f" {candidate.package_version}"):
                return entry
        return None

    def run(self, candidate: Candidate, suites: Sequence[str], *, keep: bool) -> Tested:
        """Try a candidate."""
        made_on = get_source(self._base, note=self._ui.note)
        with source_of(self._base, candidate, suites, self._ui, keep=keep) as source:
            entry = try_series(
                candidate,
                source,
                self._series,
                ancestor=made_on.path,
                build=self._make if self._build else None,
                boot=self._check if self._boot else None,
            )
        self._ui.note(f"Linux {entry.version}: {entry.words}{entry.reason and ': '}{entry.reason}")
        return entry

    @property
    def _kernel(self) -> KernelId:
        return KernelId(self._base, series=True)

    def _make(self, source: Source) -> Build:
        return build_kernel(make_recipe(self._kernel, source), self._ui)

    def _check(self, build: Build) -> list[str]:
        session = Session(
            [self._kernel], (), self._ui, needed=packages.TRY, builds={self._kernel: build}
        )
        result = session.run(load_experiment(EXPERIMENT), boots=1, seed=1)
        return list(failures(result.raw))
