# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru series check`: is every patch fit to be sent, and does it stand on those before it?"""

from __future__ import annotations

import posixpath
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class CheckLine:
    """The outcome of one check of one patch.

    Attributes:
        number: the patch's place in the series.
        patch: its file name.
        check: `apply`, `message`, `checkpatch` or `build`.
        passed: whether it passed; None if it could not be tried.
        details: what is wrong; on a passed check, what is worth knowing.
    """

    number: int
    patch: str
    check: str
    passed: bool | None
    details: tuple[str, ...] = ()

    def __str__(self) -> str:
        outcome = {True: "passed", False: "FAILED", None: "not tried"}[self.passed]
        first = f"{outcome:9}  {self.check:10}  {self.patch}"
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
        applied += line.check == "apply" and bool(line.passed)
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
            yield _line(patch, "message", message_faults(patch))
            yield _checkpatch_line(patch, source)


def _line(patch: Patch, check: str, faults: Iterable[str]) -> CheckLine:
    details = tuple(faults)
    return CheckLine(patch.number, patch.name, check, not details, details)


def _apply_line(patch: Patch, root: Path, where: str, broken: str) -> CheckLine:
    if broken:
        details = (f"not tried: {broken} does not apply",)
        return CheckLine(patch.number, patch.name, "apply", None, details)
    try:
        offsets = apply_patch(patch, root, where=where)
    except LabError as error:
        return CheckLine(patch.number, patch.name, "apply", passed=False, details=_of(error))
    return CheckLine(patch.number, patch.name, "apply", passed=True, details=offsets)


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
        return CheckLine(patch.number, patch.name, "checkpatch", None, _of(error))
    allowed = dict(patch.allowed)
    faults = tuple(str(finding) for finding in findings if finding.type not in allowed)
    kinds = {finding.type for finding in findings}
    notes = [
        f"{kind}: allowed: {reason}" if kind in kinds else f"{kind}: allowed, but not needed"
        for kind, reason in patch.allowed
    ]
    return CheckLine(patch.number, patch.name, "checkpatch", not faults, faults or tuple(notes))


def _build_line(
    patch: Patch,
    series: Series,
    build: Callable[[int], Sequence[str]] | None,
    *,
    reachable: bool,
) -> CheckLine:
    if build is None or not reachable:
        details = ("not tried: the patches up to here do not apply",)
        return CheckLine(patch.number, patch.name, "build", None, details)
    try:
        warnings = build(patch.number)
    except LabError as error:
        return CheckLine(patch.number, patch.name, "build", passed=False, details=_of(error))
    ours = set(touched_files(series.patches[: patch.number]))
    return _line(patch, "build", (line for line in warnings if _file(line) in ours))


def compiler_warnings(log: str) -> list[str]:
    """Return the lines of a build log in which the compiler warns of something."""
    return [line for line in log.splitlines() if _WARNING.match(line)]


def _file(warning: str) -> str:
    match = _WARNING.match(warning)
    return posixpath.normpath(match["file"]) if match else ""
