# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru series check`: is every patch fit to be sent, and does it stand on those before it?"""

from __future__ import annotations

import posixpath
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from mglru.checks.checkpatch import checkpatch
from mglru.core.errors import LabError
from mglru.series.apply import apply_patch
from mglru.series.listing import Patch, Series, load_series
from mglru.series.overlay import copy_touched, describe_tree, touched_files
from mglru.series.patch import read_message

SUBJECT_LENGTH = 75
# A path, or several: `mm/mglru: `, `selftests/mm: `, `mm, swap: `, `fs/writeback: `.
_PREFIX = re.compile(r"(?P<path>[\w.-]+(?:/[\w.-]+)*)(?:, ?[\w./-]+)*: \S")
# As gcc and sparse write it.
_WARNING = re.compile(r"(?P<file>[^\s:]+):\d+:(\d+:)? (warning|error): ")
_SIGNATURE = re.compile(r"^(Signed-off-by|Co-developed-by|Co-authored-by):", re.IGNORECASE)


class Check(StrEnum):
    """What is checked of each patch, in this order."""

    APPLY = "apply"
    MESSAGE = "message"
    CHECKPATCH = "checkpatch"
    BUILD = "build"


class Outcome(StrEnum):
    """How a check ended, as lines have it."""

    PASSED = "passed"
    FAILED = "FAILED"
    NOT_TRIED = "not tried"  # what it needs is not there: the patch before, or checkpatch.pl


@dataclass(frozen=True)
class CheckLine:
    """The outcome of one check of one patch.

    Attributes:
        number: the patch's place in the series.
        patch: its file name.
        check: which.
        outcome: how it ended.
        details: what is wrong; on a passed check, what is worth knowing.
    """

    number: int
    patch: str
    check: Check
    outcome: Outcome
    details: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether it was tried and passed."""
        return self.outcome is Outcome.PASSED

    def __str__(self) -> str:
        first = f"{self.outcome:9}  {self.check:10}  {self.patch}"
        return "\n".join((first, *(f"    {detail}" for detail in self.details)))


@dataclass(frozen=True)
class CheckReport:
    """All outcomes, in the order in which they came."""

    lines: tuple[CheckLine, ...]

    @property
    def failed(self) -> tuple[CheckLine, ...]:
        """What did not pass, or could not be tried."""
        return tuple(line for line in self.lines if not line.passed)

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return not self.failed


def check_series(
    base: str,
    source: Path,
    *,
    build: Callable[[int], Sequence[str]] | None,
    report: Callable[[CheckLine], None],
    directory: Path | None = None,
    parts: bool = False,
) -> CheckReport:
    """Check every patch of a series; the quick checks of all patches come before any build.

    Args:
        base: `6.12`.
        source: the pristine tree to apply to, whose checkpatch.pl is used.
        build: builds the kernel with the first so many patches and returns what the compiler
            warned of (`compiler_warnings`); raises LabError if it cannot. None: do not build.
        report: gets each outcome as soon as it is known.
        directory: where the series lies; `patches/<base>` if None.
        parts: build only where a part of the series ends.

    Raises:
        LabError: the series cannot be read.
    """
    series = load_series(base, directory)
    lines: list[CheckLine] = []
    applied = 0
    for line in _quick_checks(series, source):
        lines.append(line)
        report(line)
        applied += line.check is Check.APPLY and line.passed
    for patch in _to_build(series, parts=parts) if build else ():
        line = _build_line(patch, series, build, reachable=patch.number <= applied)
        lines.append(line)
        report(line)
    return CheckReport(tuple(lines))


def _to_build(series: Series, *, parts: bool) -> tuple[Patch, ...]:
    if not parts:
        return series.patches
    return tuple(series.patches[number - 1] for number in series.part_ends)


def _quick_checks(series: Series, source: Path) -> Iterator[CheckLine]:
    with tempfile.TemporaryDirectory(prefix="mglru-check-") as scratch:
        root = Path(scratch)
        copy_touched(source, touched_files(series.patches), root)
        broken = ""
        for patch in series.patches:
            line = _apply_line(patch, root, describe_tree(source), broken)
            broken = broken or ("" if line.passed else patch.name)
            yield line
            yield _judged(patch, Check.MESSAGE, message_faults(patch))
            yield _checkpatch_line(patch, source)


def _line(patch: Patch, check: Check, outcome: Outcome, details: tuple[str, ...] = ()) -> CheckLine:
    return CheckLine(
        number=patch.number, patch=patch.name, check=check, outcome=outcome, details=details
    )


def _judged(
    patch: Patch, check: Check, faults: Iterable[str], notes: Iterable[str] = ()
) -> CheckLine:
    """Return the line of a check that passes if it found no fault; then it has the notes."""
    found = tuple(faults)
    outcome = Outcome.FAILED if found else Outcome.PASSED
    return _line(patch, check, outcome, found or tuple(notes))


def _apply_line(patch: Patch, root: Path, where: str, broken: str) -> CheckLine:
    if broken:
        details = (f"not tried: {broken} does not apply",)
        return _line(patch, Check.APPLY, Outcome.NOT_TRIED, details)
    try:
        offsets = apply_patch(patch, root, where=where)
    except LabError as error:
        return _line(patch, Check.APPLY, Outcome.FAILED, _of(error))
    return _line(patch, Check.APPLY, Outcome.PASSED, offsets)


def _of(error: LabError) -> tuple[str, ...]:
    return (error.what, *error.log_tail)


def message_faults(patch: Patch) -> list[str]:
    """Return what is wrong with a patch's subject and text."""
    message = read_message(patch.content)
    faults = []
    if len(message.subject) > SUBJECT_LENGTH:
        faults.append(f"the subject has {len(message.subject)} characters, over {SUBJECT_LENGTH}")
    if not _names_a_place(message.subject, patch):
        faults.append(f"the subject '{message.subject}' does not start like 'mm/mglru: '")
    if message.subject.endswith("."):
        faults.append("the subject ends with a full stop")
    if not message.body:
        faults.append("the text is empty: say what the problem is and what the patch does")
    faults += [
        f"'{line.strip()}': whoever submits the patch signs it"
        for line in message.body.splitlines()
        if _SIGNATURE.match(line.strip())
    ]
    return faults


def _names_a_place(subject: str, patch: Patch) -> bool:
    """Whether the subject names mm, or a top directory in which the patch changes files."""
    if not (prefix := _PREFIX.match(subject)):
        return False
    path = prefix["path"].split("/")
    return "mm" in path or path[0] in {name.split("/")[0] for name in touched_files([patch])}


def _checkpatch_line(patch: Patch, source: Path) -> CheckLine:
    try:
        findings = checkpatch(patch, source)
    except LabError as error:
        return _line(patch, Check.CHECKPATCH, Outcome.NOT_TRIED, _of(error))
    allowed = dict(patch.allowed)
    faults = [str(finding) for finding in findings if finding.type not in allowed]
    kinds = {finding.type for finding in findings}
    notes = [
        f"{kind}: allowed: {reason}" if kind in kinds else f"{kind}: allowed, but not needed"
        for kind, reason in patch.allowed
    ]
    return _judged(patch, Check.CHECKPATCH, faults, notes)


def _build_line(
    patch: Patch,
    series: Series,
    build: Callable[[int], Sequence[str]] | None,
    *,
    reachable: bool,
) -> CheckLine:
    if build is None or not reachable:
        details = ("not tried: the patches up to here do not apply",)
        return _line(patch, Check.BUILD, Outcome.NOT_TRIED, details)
    try:
        warnings = build(patch.number)
    except LabError as error:
        return _line(patch, Check.BUILD, Outcome.FAILED, _of(error))
    ours = set(touched_files(series.patches[: patch.number]))
    return _judged(patch, Check.BUILD, (line for line in warnings if _file(line) in ours))


def compiler_warnings(log: str) -> list[str]:
    """Return the lines of a build log in which the compiler warns of something."""
    return [line for line in log.splitlines() if _WARNING.match(line)]


def _file(warning: str) -> str:
    match = _WARNING.match(warning)
    return posixpath.normpath(match["file"]) if match else ""
