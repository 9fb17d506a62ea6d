# SPDX-License-Identifier: GPL-2.0-only
"""The one exception that ends a command: what was tried, what happened, what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of `./mglru`, as promised in its help."""

    OK = 0
    EXPECTATION_FAILED = 1
    USAGE = 2
    INFRASTRUCTURE = 69  # EX_UNAVAILABLE of sysexits.h
    INTERRUPTED = 130  # 128 + SIGINT


class LabError(Exception):
    """An error that the user can act on.

    Args:
        what: one sentence: what was being done and how it failed.
        next_step: what the user can do about it; a command where there is one.
        command: the shell command that failed, if any.
        log_tail: the end of that command's output.
        exit_code: how `./mglru` exits when this reaches the top.
    """

    def __init__(
        self,
        what: str,
        *,
        next_step: str = "",
        command: str = "",
        log_tail: Sequence[str] = (),
        exit_code: ExitCode = ExitCode.INFRASTRUCTURE,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.next_step = next_step
        self.command = command
        self.log_tail = list(log_tail)
        self.exit_code = exit_code

    def render(self) -> str:
        """Return the whole message as printed to the user."""
        lines = [f"mglru: {self.what}"]
        if self.command:
            lines.append(f"  command: {self.command}")
        lines += [f"  | {line}" for line in self.log_tail]
        if self.next_step:
            lines.append(f"  next: {self.next_step}")
        return "\n".join(lines)


class UsageError(LabError):
    """Bad input: an unknown name, a value out of range, a file that cannot be read."""

    def __init__(self, what: str, *, next_step: str = "") -> None:
        super().__init__(what, next_step=next_step, exit_code=ExitCode.USAGE)


class GuestDiedError(LabError):
    """A guest ended before its first process could report: the kernel does not boot."""
