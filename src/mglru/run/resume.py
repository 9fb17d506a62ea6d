# SPDX-License-Identifier: GPL-2.0-only
"""Going on with a file of results: its boots count only if they were made of the same things."""

from __future__ import annotations

from collections.abc import Iterable

from mglru.core.errors import UsageError
from mglru.experiment.settings import from_record, recorded
from mglru.results.model import BootRecord, Provenance, RunInfo, RunResult

Pair = tuple[str, object, object]
SHOWN_DIGITS = 12


def known_boots(old: RunResult, info: RunInfo, where: str) -> list[BootRecord]:
    """Return the boots of an earlier run that are boots of this one, too.

    Args:
        old: the earlier run.
        info: what would be booted now; with more boots or fewer than then.
        where: names the earlier run, for messages.

    Raises:
        UsageError: they were made of something else, with the first difference.
    """
    then, now = old.provenance, info.provenance
    pairs: list[Pair] = [
        ("the machine", old.machine, info.machine),
        ("--seed", old.seed, info.seed),
        ("the settings", _settings(then), _settings(now)),
        ("the experiment's file", _short(then.experiment.sha256), _short(now.experiment.sha256)),
        *(pair for kernel in info.kernels for pair in _kernel_pairs(kernel, old, info)),
        ("the data set", _short(then.dataset_sha256), _short(now.dataset_sha256)),
        ("the guest's packages", then.userland, now.userland),
    ]
    refuse_differences(where, pairs)
    return [boot for boot in old.raw if boot.kernel in info.kernels and boot.boot < info.boots]


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
