# SPDX-License-Identifier: GPL-2.0-only
"""The file that keeps what `mglru bound` found."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from mglru.results.json_file import FileKind, shown

FORMAT = 1
# Two policies that every file has: what the others are measured by.
OPTIMUM = "Belady"
LRU = "LRU"
KIND = FileKind("bound", "./mglru bound EXPERIMENT --json FILE", FORMAT)


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class PolicyOutcome(_Model):
    """What a policy does in the simulation.

    Attributes:
        misses: accesses to pages that are not in the cache.
        refaults: misses of pages that had been there before.
    """

    misses: int = Field(ge=0)
    refaults: int = Field(ge=0)


class KernelOutcome(_Model):
    """What a kernel did, in pages.

    Attributes:
        misses: accesses to pages that had come in since their last access.
        refaults: those of them that were not the first access to their page.
        unused: pages that came in, by reading ahead, and were not accessed.
        workingset_refault_file: the kernel's own count, of pages used and unused.
        build: the key of the build.
    """

    misses: int = Field(ge=0)
    refaults: int = Field(ge=0)
    unused: int = Field(ge=0)
    workingset_refault_file: int = Field(ge=0)
    build: str = ""


class Bound(_Model):
    """Kernels beside the optimum and other policies, on the accesses of one boot.

    Attributes:
        experiment: its name.
        seed: of the boots.
        settings: what `--set` changed.
        recorded_on: the kernel whose accesses were simulated.
        accesses: how many there were in the measured part.
        faults: how many of them were page faults.
        pages: how many different pages there were.
        first_time: accesses of the measured part that were the first to their page.
        capacity_pages: of the simulated caches.
        policies: what each policy does.
        kernels: what each kernel did with its own accesses.
        lab_commit: the git commit of the lab.
    """

    experiment: str
    seed: int
    settings: list[str] = []
    recorded_on: str
    accesses: int = Field(ge=0)
    faults: int = Field(ge=0)
    pages: int = Field(ge=0)
    first_time: int = Field(ge=0)
    capacity_pages: int = Field(ge=1)
    policies: dict[str, PolicyOutcome] = Field(min_length=1)
    kernels: dict[str, KernelOutcome] = {}
    lab_commit: str | None = None


def distance(misses: int, bound: Bound) -> float | None:
    """Return how far misses are from the optimum: 0 as the optimum, 1 as LRU.

    None where LRU is the optimum.
    """
    best, lru = bound.policies[OPTIMUM].misses, bound.policies[LRU].misses
    return (misses - best) / (lru - best) if lru != best else None


def to_document(bound: Bound) -> dict[str, object]:
    """Return what the file of a bound says."""
    return KIND.document(bound.model_dump(mode="json"))


def load(path: str | Path) -> Bound:
    """Read a bound; `-` is stdin.

    Raises:
        UsageError: it cannot be read, is cut off, is no bound, or has another format.
    """
    return KIND.validate(Bound, KIND.fields(path), shown(path))
