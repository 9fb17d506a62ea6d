# SPDX-License-Identifier: GPL-2.0-only
"""KUnit: the kernel's own unit tests, run at the boot of a kernel that is built with them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict, computed_field

from mglru.core import process
from mglru.core.cache import scratch
from mglru.core.errors import GuestDiedError, UsageError
from mglru.core.ui import Ui
from mglru.debian import packages
from mglru.guest import console
from mglru.guest.steps import ReportCounters, ReportLruGen
from mglru.results.output_file import OnceFile
from mglru.run.judged import PlainBoot
from mglru.run.kept_logs import keep_logs
from mglru.run.session import Session
from mglru.source.kernel_id import KernelId

VARIANT = ("kunit", "")
MEMORY_MB = 256
LIMIT_SECONDS = 300
PARSE_LIMIT_SECONDS = 60
PARSER = Path("tools/testing/kunit")
_PLAN = (ReportLruGen(), ReportCounters("begin"), ReportCounters("end"))
_KTAP = re.compile(rb"\bKTAP version \d")


class Status(StrEnum):
    """How a test ended, in the words of the kernel's parser."""

    SUCCESS = "SUCCESS"
    FAILURE = "FAILURE"
    SKIPPED = "SKIPPED"
    TEST_CRASHED = "TEST_CRASHED"
    NO_TESTS = "NO_TESTS"
    FAILURE_TO_PARSE_TESTS = "FAILURE_TO_PARSE_TESTS"

    @property
    def good(self) -> bool:
        """Whether it is no reason to look."""
        return self in (Status.SUCCESS, Status.SKIPPED)

    @property
    def word(self) -> str:
        """What a table says."""
        return {"SUCCESS": "passed", "SKIPPED": "skipped", "TEST_CRASHED": "crashed"}.get(
            self, "FAILED"
        )


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class KunitOutcome(_Model):
    """A suite, a case of one, or one parameter's run of a case.

    Attributes:
        name: in the kernel.
        status: how it ended.
        log: the lines about it, without those of its tests.
        tests: the cases of a suite, the runs of a case with parameters.
    """

    name: str
    status: Status
    log: tuple[str, ...] = ()
    tests: tuple[KunitOutcome, ...] = ()

    def bad_lines(self) -> Iterator[str]:
        """Say why it, or one of its tests, is not good, in the kernel's words."""
        if not self.status.good:
            yield from self.log
        for test in self.tests:
            yield from test.bad_lines()


class KunitReport(_Model):
    """What a boot with suites gave.

    Attributes:
        kernel: which one.
        release: as uname gives it.
        suites: in the order in which they ran.
        problems: whatever else went wrong: a log that is no KTAP, a panic, a warning.
    """

    kernel: str
    release: str
    suites: tuple[KunitOutcome, ...]
    problems: tuple[str, ...] = ()

    @property
    def cases(self) -> list[KunitOutcome]:
        """All cases of all suites."""
        return [case for suite in self.suites for case in suite.tests]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def passed(self) -> bool:
        """Whether suites ran, and nothing is wrong with any."""
        whole = all(test.status.good for test in (*self.suites, *self.cases))
        return bool(self.suites) and whole and not self.problems


def with_suites(kernel: KernelId) -> KernelId:
    """Return the kernel built with its suites: `6.12+next` is `6.12+next%kunit`.

    Raises:
        UsageError: a kernel with a switch of the run, which suites do not see.
    """
    if kernel.classic:
        raise UsageError(
            f"'{kernel}': suites run before the multi-gen LRU could be switched off",
            next_step=f"./mglru kernel kunit {kernel.built}",
        )
    if VARIANT in kernel.options:
        return kernel
    return replace(kernel, options=tuple(sorted((*kernel.options, VARIANT))))


def read_ktap(log: Path, tree: Path) -> tuple[tuple[KunitOutcome, ...], tuple[str, ...]]:
    """Return the suites in a console log, and what the parser did not like.

    Args:
        log: the console log.
        tree: the source of that kernel, whose parser reads it.

    Raises:
        LabError: the source has no parser, or it failed.
    """
    text = process.run(
        [sys.executable, "-I", "-B", Path(__file__).with_name("ktap.py"), tree / PARSER, log],
        purpose=f"read {log.name} with the parser of the kernel source",
        limit_seconds=PARSE_LIMIT_SECONDS,
        next_step=f"{tree / PARSER} must have kunit_parser.py",
    )
    parsed = _Parsed.model_validate_json(text)
    return parsed.suites, parsed.errors


class _Parsed(_Model):
    suites: tuple[KunitOutcome, ...]
    errors: tuple[str, ...]


def check_kernel(
    name: KernelId, own: Sequence[Path], ui: Ui, *, only: str | None, json_file: str | None
) -> KunitReport:
    """Build a kernel with its suites, boot it, and return what they say.

    Args:
        name: of the kernel, with the suites or without.
        own: the user's kernel sources.
        ui: gets the progress.
        only: see `run_kunit`.
        json_file: where the report is written; None: nowhere.

    Raises:
        UsageError: a kernel that cannot have suites.
        LabError: no kernel, or no boot.
    """
    kernel = with_suites(name)
    with OnceFile.wanted(json_file) as file:
        session = Session([kernel], own, ui, needed=packages.KERNEL_BUILD)
        report = run_kunit(session, kernel, only)
        if file:
            file.keep(report.model_dump(mode="json"))
    return report


def run_kunit(session: Session, kernel: KernelId, only: str | None = None) -> KunitReport:
    """Boot a kernel with its suites and return what they say.

    Args:
        session: has the kernel.
        kernel: one `with_suites`.
        only: run the suites, or `suite.case`s, that this pattern of the shell matches.

    Raises:
        LabError: the guest could not start, or was another kernel.
    """
    recipe = session.builds[kernel].recipe
    options = (f"kunit.filter_glob={only}",) if only else ()
    plain = PlainBoot(_PLAN, memory_mb=MEMORY_MB, limit_seconds=LIMIT_SECONDS, options=options)
    with scratch("kunit") as directory:
        trouble = _boot(session, kernel, plain, directory)
        log = directory / "console.log"
        suites, errors = read_ktap(log, recipe.source.path)
        report = KunitReport(
            kernel=str(kernel),
            release=recipe.release,
            suites=suites,
            problems=(*errors, *trouble),
        )
        kept = report.passed or any(problem.startswith("logs: ") for problem in report.problems)
        return report if kept else _with_log(report, log)


def _boot(session: Session, kernel: KernelId, plain: PlainBoot, directory: Path) -> list[str]:
    """Boot, and return what went wrong; a kernel that dies in a suite has still said so."""
    try:
        return session.boot_plain("kunit", kernel, plain, directory).problems
    except GuestDiedError as error:
        log = (directory / "console.log").read_bytes()
        if not _KTAP.search(log):
            raise
        return [error.what, *(f"console: {finding}" for finding in console.scan(log))]


def _with_log(report: KunitReport, log: Path) -> KunitReport:
    """Keep the console log of a run that did not pass."""
    kept = keep_logs(f"kunit-{report.kernel}", (log,))
    return report.model_copy(update={"problems": (*report.problems, f"log: {kept / log.name}")})
