# SPDX-License-Identifier: GPL-2.0-only
"""A boot as values: what a cluster's worker is asked, and what it answers."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from mglru.core.errors import ExitCode, LabError
from mglru.results.model import BootRecord
from mglru.run.jobs import Job
from mglru.run.provenance import image_digest
from mglru.run.version import lab_version


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Task(_Model):
    """One boot, described so that any machine with the same lab can make it.

    Attributes:
        lab: the lab's version.
        sweep: identifies the sweep, so that all of its boots can be stopped.
        experiment: all of its fields.
        kernel: its id.
        build: the key that its build must have.
        release: what it must call itself.
        compiler: which gcc builds it here, for the message if the keys differ.
        dataset_sha256: of the disk image; None without a disk.
        userland: the versions of the packages whose programs run; none: the host's.
        number: which boot of this kernel.
        seed: of this boot.
    """

    lab: str
    sweep: str
    experiment: dict[str, Any]
    kernel: str
    build: str
    release: str
    compiler: str
    dataset_sha256: str | None
    userland: dict[str, str]
    number: int
    seed: int


class Refusal(_Model):
    """A LabError as values."""

    what: str
    next_step: str
    command: str
    log_tail: list[str]
    exit_code: int

    @classmethod
    def of(cls, error: LabError) -> Refusal:
        """Take an error apart."""
        return cls(
            what=error.what,
            next_step=error.next_step,
            command=error.command,
            log_tail=error.log_tail,
            exit_code=error.exit_code,
        )

    def as_error(self, where: str) -> LabError:
        """Return the error again, and say where it happened."""
        return LabError(
            f"{where}: {self.what}",
            next_step=self.next_step,
            command=self.command,
            log_tail=self.log_tail,
            exit_code=ExitCode(self.exit_code),
        )


class Answer(_Model):
    """What a worker made of a task: a boot, or an error.

    Attributes:
        worker: its address.
        record: the boot.
        refusal: the error.
    """

    worker: str
    record: BootRecord | None = None
    refusal: Refusal | None = None


def make_task(job: Job, sweep: str) -> Task:
    """Describe a boot by values."""
    recipe = job.build.recipe
    return Task(
        lab=lab_version(),
        sweep=sweep,
        experiment=job.experiment.model_dump(mode="json"),
        kernel=str(job.kernel),
        build=recipe.key,
        release=recipe.release,
        compiler=recipe.compiler,
        dataset_sha256=image_digest(job.image),
        userland=dict(job.userland.versions) if job.userland else {},
        number=job.number,
        seed=job.seed,
    )
