# SPDX-License-Identifier: GPL-2.0-only
"""Trouble in a guest's console log: kernel reports, out-of-memory kills, crashed programs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

EXCERPT_LINES = 16


class Trouble(StrEnum):
    """The kinds of trouble; an experiment names those it expects by these words."""

    KASAN = "kasan"
    UBSAN = "ubsan"
    KFENCE = "kfence"
    LOCKDEP = "lockdep"
    SOFT_LOCKUP = "soft_lockup"
    HUNG_TASK = "hung_task"
    RCU_STALL = "rcu_stall"
    PANIC = "panic"
    OOPS = "oops"
    BUG = "bug"
    WARNING = "warning"
    MEMCG_OOM = "memcg_oom"
    OOM = "oom"
    PAGE_ALLOCATION = "page_allocation"
    EXT4_ERROR = "ext4_error"
    XFS_ERROR = "xfs_error"
    BTRFS_ERROR = "btrfs_error"
    IO_ERROR = "io_error"
    SEGFAULT = "segfault"


@dataclass(frozen=True)
class ConsoleFinding:
    """One report in a log.

    Attributes:
        kind: what it is.
        line_number: where it begins, from 1.
        line: that line, without timestamp, colours and control characters.
        excerpt: it and the lines after it, to the end of the report or EXCERPT_LINES.
    """

    kind: Trouble
    line_number: int
    line: str
    excerpt: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.kind} at line {self.line_number}: {self.line}"


# The first pattern that matches a line gives its kind, so the special come before the
# general. A guest's programs share the console and a kernel line may follow their
# unfinished one, so patterns are not tied to the line's start, except where the words
# alone are too common.
#
# The forms are those of Linux 6.12 and 7.3; 7.3 writes "WARNING: mm/x.c:12 at f+0x1, CPU#0"
# where 6.12 writes "WARNING: CPU: 0 PID: 1 at mm/x.c:12 f+0x1".
_LOCKDEP_WORDS = (
    r"possible (recursive locking|circular locking|irq lock inversion)"
    r"|inconsistent lock state|bad unlock balance|bad contention|held lock freed"
    r"|lock held (when|at)|locks? still held|suspicious RCU usage"
    r"|Nested lock was not taken|-safe -> .*-unsafe lock order"
)
_PATTERNS: tuple[tuple[Trouble, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        (Trouble.KASAN, r"BUG: KASAN: "),
        (Trouble.KFENCE, r"BUG: KFENCE: "),
        (Trouble.UBSAN, r"UBSAN: "),
        (Trouble.LOCKDEP, rf"WARNING: .*({_LOCKDEP_WORDS})"),
        (Trouble.LOCKDEP, r"\[ BUG: |INFO: trying to register non-static key|BUG: MAX_LOCK"),
        (Trouble.SOFT_LOCKUP, r"BUG: (soft|workqueue) lockup|hard LOCKUP"),
        (Trouble.HUNG_TASK, r"INFO: task .+ blocked .*more than \d+ seconds"),
        (Trouble.RCU_STALL, r"rcu.*detected (expedited )?stall|rcu_\w+ kthread (starved|timer)"),
        (Trouble.PANIC, r"Kernel panic - not syncing"),
        (Trouble.SEGFAULT, r"\[\d+\]: segfault at |traps: .+\[\d+\] (general protection|trap )"),
        (Trouble.OOPS, r"\bOops: |general protection fault|Unable to handle kernel "),
        (Trouble.BUG, r"\bBUG: |kernel BUG at "),
        (Trouble.WARNING, r"WARNING: (CPU: \d+|\S+:\d+ at )|^WARNING: "),
        (Trouble.MEMCG_OOM, r"Memory cgroup out of memory: "),
        (Trouble.OOM, r"Out of memory(:| and no killable)|Out of memory \("),
        (
            Trouble.PAGE_ALLOCATION,
            r"(page allocation failure|vmalloc error|vmap allocation .*failed)",
        ),
        (Trouble.EXT4_ERROR, r"EXT4-fs error|EXT4-fs .*(allocation failed|Remounting .*read-only)"),
        (Trouble.EXT4_ERROR, r"JBD2: .*[Ee]rror|Aborting journal"),
        (Trouble.XFS_ERROR, r"XFS \(\S+\): .*([Ee]rror|[Cc]orruption|[Ss]hutting down|failed)"),
        (Trouble.BTRFS_ERROR, r"BTRFS (error|critical)"),
        (Trouble.IO_ERROR, r"I/O error, dev |Buffer I/O error on "),
    )
)
# One search tells almost every line apart from trouble.
_ANY = re.compile("|".join(f"(?:{pattern.pattern})" for _, pattern in _PATTERNS))

# It may follow the unfinished line of a program.
_END = re.compile(r"reboot: (Power down|System halted|Restarting system)")

_ANSI = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_PREFIX = re.compile(r"^(<\d+>)?(\[ *\d+\.\d+\](\[ *[TC]\d+\])? )?")
_REPORT_ENDS = ("---[ end trace", "=====", "-----")


def clean(line: str) -> str:
    """Return a console line without colours, control characters, level and timestamp."""
    return _PREFIX.sub("", _CONTROL.sub("", _ANSI.sub("", line))).rstrip()


def scan(log: str | bytes) -> list[ConsoleFinding]:
    """Return all trouble in a console log, in order; a log may end anywhere."""
    text = log if isinstance(log, str) else log.decode("utf-8", errors="replace")
    lines = [clean(line) for line in text.split("\n")]
    findings = []
    for index, line in enumerate(lines):
        if not _ANY.search(line):
            continue
        kind = next(kind for kind, pattern in _PATTERNS if pattern.search(line))
        findings.append(ConsoleFinding(kind, index + 1, line, _excerpt(lines, index)))
    return findings


def unexpected(
    findings: Iterable[ConsoleFinding], expected: Collection[str]
) -> list[ConsoleFinding]:
    """Return the findings of kinds that an experiment does not expect."""
    return [finding for finding in findings if finding.kind not in expected]


def ended(log: str | bytes) -> bool:
    """Whether the kernel came to its own end: powered off, halted or restarted."""
    text = log if isinstance(log, str) else log.decode("utf-8", errors="replace")
    return bool(_END.search(text))


def _excerpt(lines: list[str], start: int) -> tuple[str, ...]:
    excerpt = [lines[start]]
    for line in lines[start + 1 : start + EXCERPT_LINES]:
        excerpt.append(line)
        if line.startswith(_REPORT_ENDS):
            break
    return tuple(excerpt)
