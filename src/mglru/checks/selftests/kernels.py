# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru kernel selftests`: kernels and programs by name in, what the programs said out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mglru.checks.selftests.document import to_document
from mglru.checks.selftests.run import KernelRun, choose, run_all, with_selftests
from mglru.core.errors import UsageError
from mglru.core.ui import Ui
from mglru.debian import packages
from mglru.results.output_file import OnceFile
from mglru.run.session import Session
from mglru.source.kernel_id import KernelId


@dataclass(frozen=True, kw_only=True)
class WantedPrograms:
    """Which of the kernel's selftests are to be run, and where.

    Attributes:
        kernels: the first is what the others are compared with.
        machine: a name in `registry.MACHINES`.
        only: patterns of names; none: all programs.
        output: the directory that keeps what they print, a file a kernel; None: nothing does.
        json_file: where what they gave is written; None: nowhere.
        own_sources: the user's kernel sources.
    """

    kernels: Sequence[KernelId]
    machine: str
    only: Sequence[str] = ()
    output: Path | None = None
    json_file: str | None = None
    own_sources: Sequence[Path] = ()


def run_programs(wanted: WantedPrograms, ui: Ui) -> list[KernelRun]:
    """Build kernels and their selftests, boot, and return what the programs said on each.

    Raises:
        UsageError: a program that there is not, or no such directory; before anything is built.
        LabError: no kernel, a program that does not compile, or no boot.
    """
    output = wanted.output
    if output and not output.is_dir():
        raise UsageError(f"--output {output}: not a directory", next_step="make it first")
    names = choose(wanted.only)
    with OnceFile.wanted(wanted.json_file) as file:
        kernels = [with_selftests(each) for each in wanted.kernels]
        session = Session(
            kernels, wanted.own_sources, ui, needed=packages.TRY, machine=wanted.machine
        )
        runs = run_all(session, names)
        if file:
            file.keep(to_document(runs))
    if output:
        for run in runs:
            (output / f"{run.kernel}.txt").write_text(run.output)
    return runs
