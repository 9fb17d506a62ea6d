# SPDX-License-Identifier: GPL-2.0-only
"""Debian packages of a kernel, for people to install: the kernel's own `make bindeb-pkg`.

Each kernel has a tree of its own in the cache: `source`, hard links to the pristine source but for
what the series changes, and `build`, in which make works. Packages are kept by the content of all
that they were made of.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mglru.build import config as kconfig
from mglru.build.build import make_command, tree_home
from mglru.build.deb_config import DebConfiguration, configure, requested
from mglru.build.recipe import compiler_version
from mglru.core import process
from mglru.core.cache import use
from mglru.core.errors import LabError
from mglru.core.keys import key_of
from mglru.core.paths import cache_dir, locked, require_space, staged
from mglru.core.ui import Ui
from mglru.series.listing import Series, load_series
from mglru.series.overlay import link_tree
from mglru.series.patched_tree import follow_series
from mglru.source.kernel_id import KernelId
from mglru.source.trees import Source

LIMIT_SECONDS = 24 * 3600
# Measured with 643 options: 1,744 objects in 743 processor-seconds, 341 MB. Drivers are larger
# than that, so more is asked of the disk.
BYTES_AN_OPTION = 1_500_000
OBJECTS_AN_OPTION = 2.7
SECONDS_AN_OBJECT = 0.43
MAINTAINER = {"DEBFULLNAME": "mglru-next", "DEBEMAIL": "mglru-next@localhost"}
_VARIABLES = ("KDEB_SOURCENAME=linux-mglru", "KDEB_CHANGELOG_DIST=unstable", "KBUILD_VERBOSE=0")
# It would replace the C library's headers of the machine that installs it.
_NOT_FOR_USERS = "linux-libc-dev_"
_OBJECT = re.compile(rb"^  (?:CC|AS|HOSTCC|LD|AR)\b", re.MULTILINE)


@dataclass(frozen=True)
class DebPlan:
    """What packages are to be made of.

    Attributes:
        kernel: which.
        source: the pristine tree.
        series: the patches that it gets; none of the lab's own.
        configuration: what its configuration starts from.
    """

    kernel: KernelId
    source: Source
    series: Series
    configuration: DebConfiguration

    @property
    def localversion(self) -> str:
        """The suffix of the release, which keeps it beside every other kernel."""
        name = "-mglru-" + ("next" if self.series.patches else "stock")
        if self.kernel.upto is not None:
            name += f"-{self.kernel.upto}"
        for option, value in self.kernel.options:
            name += f"-{option.lower().replace('_', '.')}.{value}"
        return name

    @property
    def release(self) -> str:
        """What `uname -r` will say."""
        return self.source.version + self.localversion


@dataclass(frozen=True)
class DebPackages:
    """Packages in the cache.

    Attributes:
        files: the packages.
        seconds: how long the build took.
    """

    files: tuple[Path, ...]
    seconds: float

    @property
    def image(self) -> Path:
        """The package with the kernel itself."""
        return next(
            path
            for path in self.files
            if path.name.startswith("linux-image-") and "-dbg_" not in path.name
        )


def make_plan(kernel: KernelId, source: Source, configuration: DebConfiguration) -> DebPlan:
    """Collect what the packages are made of.

    Raises:
        UsageError: not a kernel for users.
        LabError: the series cannot be read.
    """
    requested(kernel, configuration, "")
    series = Series(kernel.base, ())
    if kernel.series:
        series = load_series(kernel.base).first(kernel.upto)
    return DebPlan(kernel, source, series, configuration)


def build_packages(plan: DebPlan, ui: Ui) -> DebPackages:
    """Return the packages of a plan, building them if the cache has none.

    Raises:
        LabError: a patch does not apply, an option cannot be set, no space, or a build error.
    """
    home = tree_home(plan.source) / re.sub(r"[^A-Za-z0-9.+]", "_", f"{plan.kernel}-deb")
    home.mkdir(parents=True, exist_ok=True)
    with locked(home):
        _prepare(plan, home / "source", ui)
        build = home / "build"
        build.mkdir(exist_ok=True)
        make = [*make_command(os.cpu_count() or 1), f"--directory={home / 'source'}", f"O={build}"]
        asked = requested(plan.kernel, plan.configuration, plan.localversion)
        config = configure(build, home / "source", plan.configuration, asked, make)
        target = cache_dir("debs") / _key(plan, config)
        if not target.is_dir():
            _make(plan, build, make, config, target, ui)
        use(target)
    seconds = float(json.loads((target / "build.json").read_text())["seconds"])
    return DebPackages(tuple(sorted(target.glob("*.deb"))), seconds)


def _prepare(plan: DebPlan, tree: Path, ui: Ui) -> None:
    """Make the tree's sources equal to the pristine ones plus the series."""

    def create() -> None:
        ui.note(f"preparing a source tree for {plan.kernel}")
        link_tree(plan.source.path, tree)

    follow_series(tree, plan.source, plan.series.patches, note=ui.note, create=create)


def _key(plan: DebPlan, config: str) -> str:
    """Digest of everything that decides the packages' content."""
    parts = [plan.source.digest, plan.series.sha256, config, compiler_version(), platform.machine()]
    return key_of("\n".join(parts))


def options_on(config: str) -> int:
    """Return how many options of a configuration are on, as modules or built in."""
    return sum(value in ("y", "m") for value in kconfig.parse(config).values())


def expected_seconds(config: str, cpus: int) -> float:
    """Guess how long a build takes, from the number of options that are on."""
    return options_on(config) * OBJECTS_AN_OPTION * SECONDS_AN_OBJECT / cpus


def _make(
    plan: DebPlan, build: Path, make: Sequence[str], config: str, target: Path, ui: Ui
) -> None:
    options = options_on(config)
    require_space(build, options * BYTES_AN_OPTION, f"the build of {plan.release}")
    minutes = max(1, round(expected_seconds(config, cpus := os.cpu_count() or 1) / 60))
    ui.note(
        f"{plan.release}: {options} options are on; the first build takes about {minutes} minutes "
        f"on {cpus} idle processors like those that this was measured on"
    )
    log = build.with_name("build.log")
    started = time.monotonic()
    _remove_packages(build)
    with ui.bar(f"building packages of {plan.release}", options * OBJECTS_AN_OPTION) as update:
        process.run(
            [
                *make,
                *_VARIABLES,
                f"KDEB_PKGVERSION={plan.source.version}-{target.name}",
                "bindeb-pkg",
            ],
            purpose=f"build packages of {plan.release}",
            env={**MAINTAINER, "DEB_BUILD_OPTIONS": "terse"},
            log=log,
            limit_seconds=LIMIT_SECONDS,
            next_step=f"the whole log is {log}",
            on_tick=lambda: update(len(_OBJECT.findall(log.read_bytes())), "objects"),
        )
    _keep(plan, build, target, time.monotonic() - started)


def _remove_packages(build: Path) -> None:
    """Remove what an earlier or interrupted build has left beside its directory."""
    for pattern in ("*.deb", "*.buildinfo", "*.changes"):
        for path in build.parent.glob(pattern):
            path.unlink()


def _keep(plan: DebPlan, build: Path, target: Path, seconds: float) -> None:
    """Put the packages into the cache, all or nothing."""
    made = sorted(build.parent.glob("*.deb"))
    wanted = [path for path in made if not path.name.startswith(_NOT_FOR_USERS)]
    if not any(path.name.startswith(f"linux-image-{plan.release}_") for path in wanted):
        raise LabError(
            f"the build of {plan.release} made no package of this name: "
            + (", ".join(path.name for path in made) or "none at all"),
            next_step=f"remove {build} and build again",
        )
    with staged(target) as staging:
        for path in wanted:
            shutil.copy2(path, staging / path.name)
        shutil.copy2(build / ".config", staging / "config")
        record = {"kernel": str(plan.kernel), "release": plan.release, "seconds": round(seconds)}
        (staging / "build.json").write_text(json.dumps(record, indent=1))
    _remove_packages(build)
