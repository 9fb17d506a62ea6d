# SPDX-License-Identifier: GPL-2.0-only
"""Going on with a file of results: its boots count only if they were made of the same things."""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Iterable

from mglru.core import process
from mglru.core.errors import LabError, UsageError
from mglru.core.paths import REPO
from mglru.experiment.settings import from_record, recorded
from mglru.results.model import BootRecord, Provenance, RunInfo, RunResult
from mglru.run.jobs import Job
from mglru.run.provenance import DIRTY

Pair = tuple[str, object, object]
SHOWN_DIGITS = 12


# What decides what a guest does, beside its kernel and its plan.
GUEST = ("guest", "src/mglru/guest", "src/mglru/machine", "src/mglru/disk", "kconfig")
# Commits that changed names there, or how the cache is kept, and nothing that a guest does: boots
# from before them count.
ONLY_NAMES = (
    "39a6dc50292b2585ba7151265358056bfb201a1f",
    "fe1f9403e21eaf5bcfd5b53ddc80dde94b0e762b",
    "866dcf7680079c5e4c26c40cff5e2ee51e0a73f2",
    "a18dd8a1c10c9bcdd158758d5f70997da8e75a95",
    "c09e2d2564627ff9cdff0861030ecf343712e716",
    "551f189ae7b3668a81fa0dfe578ab453f3974d26",
    "3b70df7cd92aded4049036e65891483dfdaf3be3",
    "16cbc517a29aab1213e5ea5f7def9e1103ce51ba",
    "cfce329afcb3ea96d4f1695cfd11cb7568db2e4e",
    "09a7e70b8b6aec4c6606ed790b8d15b49f284851",
    "7c65d974d7d3516a4a24c98bb8f30d7671e2fbcb",
)


def known_boots(old: RunResult, info: RunInfo, where: str) -> list[BootRecord]:
    """Return the boots of an earlier run that are boots of this one, too.

    Args:
        old: the earlier run.
        info: what would be booted now; with more boots or fewer than then.
        where: names the earlier run, for messages.

    Raises:
        UsageError: they were made of something else, with the first difference.
    """
    refuse_differences(where, _other_pairs(old, info))
    for kernel in info.kernels:
        refuse_differences(where, _kernel_pairs(kernel, old, info))
    return _boots_of(info.kernels, old, info)


def unchanged_boots(old: RunResult, info: RunInfo) -> list[BootRecord]:
    """Return an earlier run's boots of kernels that are as they were; none if anything else is not.

    In real time, all or none: the host is faster at one hour than at another, so boots of then
    do not compare with boots of now.

    Args:
        old: the earlier run.
        info: what would be booted now; with more boots or fewer than then.
    """
    if _differs(_other_pairs(old, info)) or not _same_guest(old.provenance.lab_commit):
        return []
    same = [each for each in info.kernels if not _differs(_kernel_pairs(each, old, info))]
    boots = _boots_of(same, old, info)
    complete = len(boots) == info.boots * len(info.kernels)
    return boots if complete or info.provenance.machine.virtual_time else []


def missing(known: Iterable[BootRecord]) -> Callable[[Job], bool]:
    """Return what tells whether a job's boot is not among those that are known."""
    there = {(record.kernel, record.boot) for record in known}
    return lambda job: (str(job.kernel), job.number) not in there


def _boots_of(kernels: Container[str], old: RunResult, info: RunInfo) -> list[BootRecord]:
    return [boot for boot in old.raw if boot.kernel in kernels and boot.boot < info.boots]


def _other_pairs(old: RunResult, info: RunInfo) -> list[Pair]:
    """Return what boots are made of beside kernels, then and now."""
    then, now = old.provenance, info.provenance
    return [
        ("the machine", old.machine, info.machine),
        ("--seed", old.seed, info.seed),
        ("the settings", _settings(then), _settings(now)),
        ("the experiment's file", _short(then.experiment.sha256), _short(now.experiment.sha256)),
        ("the data set", _short(then.dataset_sha256), _short(now.dataset_sha256)),
        ("the guest's packages", then.userland, now.userland),
    ]


def _differs(pairs: Iterable[Pair]) -> bool:
    return any(then != now for _what, then, now in pairs)


@functools.cache
def _same_guest(commit: str | None) -> bool:
    """Whether guests do now what they did at a commit; if it is not known, they may not."""
    if not commit or commit.endswith(DIRTY):
        return False
    try:
        _git("merge-base", "--is-ancestor", commit, "HEAD")
        _git("diff", "--quiet", "HEAD", "--", *GUEST)
        changes = _git("log", "--format=%H", f"{commit}..HEAD", "--", *GUEST)
    except LabError:
        return False
    return set(changes.split()) <= set(ONLY_NAMES)


def _git(*arguments: str) -> str:
    return process.run(["git", *arguments], purpose="ask git", cwd=REPO)


def _settings(made_of: Provenance) -> dict[str, str]:
    """Return a run's settings by their one name, also of a result that names them in full."""
    return recorded(from_record(made_of.experiment.parameters))


def _kernel_pairs(kernel: str, old: RunInfo, new: RunInfo) -> Iterable[Pair]:
    then, now = (info.provenance.kernels.get(kernel) for info in (old, new))
    if then is None or now is None:
        return [("--kernels", ",".join(old.kernels), ",".join(new.kernels))]
    return [
        (
            f"the state of the series in {kernel}",
            _short(then.series_sha256),
            _short(now.series_sha256),
        ),
        (f"the build of {kernel}", then.build, now.build),
    ]


def _short(digest: str | None) -> str | None:
    return digest and digest[:SHOWN_DIGITS]


def refuse_differences(where: str, pairs: Iterable[Pair]) -> None:
    """Refuse to go on in a file that was made by other arguments or of other things.

    Args:
        where: names the file, and what of it.
        pairs: what it is, how it was, how it is now.

    Raises:
        UsageError: two differ, with the first that do.
    """
    for what, then, now in pairs:
        if then != now:
            raise UsageError(
                f"{where}: made with something else: {what} was {then}, is now {now}",
                next_step="name another file with --json, or replace this one with --anew",
            )
