# SPDX-License-Identifier: GPL-2.0-only
"""Models of policies beside the kernels they are models of, on the kernels' own accesses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.table import Table

from mglru.core.cache import scratch
from mglru.core.errors import UsageError
from mglru.results.tables import text_console
from mglru.run.jobs import Job
from mglru.run.session import Session
from mglru.source.kernel_id import KernelId
from mglru.study.bound import models
from mglru.study.bound.accesses import read_requests
from mglru.study.bound.bound import capacity_pages, record
from mglru.study.bound.simulate import write_requests

MODELS = {"6.12@classic": "classic", "6.12": "multigen", "6.12+next": "series"}
# A model brings in as many pages as its kernel, but for this part.
MARGIN = 0.03
WIDTH = 100


@dataclass(frozen=True)
class Compared:
    """A model and its kernel, on that kernel's accesses.

    Attributes:
        experiment: its name.
        kernel: its name.
        model: its name.
        trace: what the model was run on: FILE:PAGES:MEASURED.
        capacity_pages: of the model's cache: what the kernel's cgroup had of files on average.
        kernel_pages: how many pages came into the kernel's cache in the measured part.
        model_pages: how many came into the model's.
    """

    experiment: str
    kernel: str
    model: str
    trace: str
    capacity_pages: int
    kernel_pages: int
    model_pages: int

    @property
    def off(self) -> float:
        """By what part of the kernel's pages the model has more."""
        return self.model_pages / max(self.kernel_pages, 1) - 1

    @property
    def is_near(self) -> bool:
        """Whether the model may stand for the kernel here."""
        return abs(self.off) <= MARGIN


def model_of(kernel: KernelId) -> str:
    """Return the name of a kernel's model.

    Raises:
        UsageError: it has none.
    """
    if model := MODELS.get(str(kernel)):
        return model
    raise UsageError(
        f"kernel {kernel} has no model in policies/", next_step=f"name some of {', '.join(MODELS)}"
    )


def compare(session: Session, jobs: Sequence[Job], keep: Path | None = None) -> list[Compared]:
    """Record a boot of each kernel, and run its model on what it saw.

    Args:
        session: boots, and gets the progress.
        jobs: one boot of each kernel.
        keep: the directory where the traces stay, as EXPERIMENT-KERNEL.trace.

    Raises:
        UsageError: a kernel has no model; see `record`.
        LabError: see `record`.
    """
    chosen = {str(job.kernel): model_of(job.kernel) for job in jobs}
    experiment = jobs[0].experiment.name
    recorded = record(session, jobs, read_requests)
    found = []
    with _directory(keep) as directory:
        for kernel, (boot, requests) in recorded.items():
            path = directory / f"{experiment}-{kernel}.trace".replace(":", "-")
            write_requests(path, requests.pages, requests.ahead)
            pages = capacity_pages(boot)
            trace = f"{path}:{pages}:{requests.measured}"
            misses = {one.policy: one.misses for one in models.simulate([chosen[kernel]], [trace])}
            one = Compared(
                experiment=experiment,
                kernel=kernel,
                model=chosen[kernel],
                trace=trace,
                capacity_pages=pages,
                kernel_pages=requests.arrived,
                model_pages=misses[chosen[kernel]],
            )
            session.ui.note(f"{experiment}, {kernel}: the model {one.model} is {one.off:+.1%} off")
            found.append(one)
    return found


@contextmanager
def _directory(keep: Path | None) -> Iterator[Path]:
    """Make the directory of the traces; without a name, one that is removed at the end."""
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep
        return
    with scratch("traces") as directory:
        yield directory


def render(found: Sequence[Compared]) -> str:
    """Return the models beside their kernels, as a table for people."""
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for heading in ("experiment", "kernel", "model"):
        grid.add_column(heading)
    for heading in ("pages of cache", "came in: kernel", "model", "off"):
        grid.add_column(heading, justify="right")
    for one in found:
        grid.add_row(
            one.experiment,
            one.kernel,
            one.model,
            f"{one.capacity_pages:,}",
            f"{one.kernel_pages:,}",
            f"{one.model_pages:,}",
            f"{one.off:+.1%}{' ' if one.is_near else '!'}",
        )
    console, buffer = text_console(WIDTH)
    console.print(grid)
    legend = f"Pages that came into the cache. !: more than {MARGIN:.0%} off.\n"
    return f"{buffer.getvalue()}{legend}"


def traces(found: Sequence[Compared]) -> str:
    """Return what to name the traces as after --policy, one on a line."""
    return "".join(f"{one.trace}\n" for one in found)
