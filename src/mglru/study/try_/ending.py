# SPDX-License-Identifier: GPL-2.0-only
"""How a user's command ended in a boot, in words, and what to do about it."""

from __future__ import annotations

import os
import re
import signal
from dataclasses import dataclass

from mglru.core.sizes import shown
from mglru.results.model import BootRecord
from mglru.study.try_.experiment import OUTPUT_LIMIT, VIRTUAL_PATIENCE, TryOptions

_DISK_FULL = re.compile(rb"No space left on device|disk is full|ENOSPC|disk full", re.IGNORECASE)
_OVER_LIMIT = "killed after its limit"
# Less free than this at the end, and the disk was probably full before.
FULL_MB = 1.0
# Below this share of the limit, reclaim had nothing to do.
NEAR_LIMIT = 0.95
NEARLY_NOTHING_SECONDS = 0.01
# A guest whose clock is so much slower than the host's hardly waits at all.
MUCH_SLOWER = 100
SHELL_CANNOT_START = 126
SHELL_FINDS_NOTHING = 127
# A shell's status for a program that a signal has killed is so much more than the signal.
SHELL_SIGNAL = 128


@dataclass(frozen=True)
class Verdict:
    """What became of the command in one boot.

    Attributes:
        failed: it did not end by itself with status 0.
        text: one sentence.
        next_step: what to do about it.
    """

    failed: bool
    text: str
    next_step: str = ""

    def __str__(self) -> str:
        return f"{self.text}; {self.next_step}" if self.next_step else self.text


def judge(record: BootRecord, output: bytes, options: TryOptions) -> list[Verdict]:
    """Say how the command ended in a boot, and what is worth knowing about it.

    Args:
        record: of the boot.
        output: what the command printed there.
        options: what it ran with.
    """
    metrics = record.metrics
    if "exit_status" not in metrics:
        return [_unfinished(record, options)]
    verdicts = [verdict] if (verdict := _failure(record, output, options)) else []
    return [*verdicts, *_remarks(record, failed=bool(verdicts))]


def _unfinished(record: BootRecord, options: TryOptions) -> Verdict:
    if not any(_OVER_LIMIT in problem for problem in record.problems):
        why = "; ".join(record.problems) or "the guest did not finish"
        return Verdict(failed=True, text=f"did not come to its end: {why}")
    longer = "give it longer: --timeout SECONDS"
    text = f"had not ended after {options.timeout:g} s of real time, and was killed"
    if options.time == "real":
        return Verdict(failed=True, text=text, next_step=longer)
    reached = record.metrics.get("reached_seconds", 0.0)
    text += f" (the guest's clock: {max(reached, 0.0):.2g} s)"
    if reached > options.timeout / MUCH_SLOWER:
        return Verdict(failed=True, text=text, next_step=longer)
    return Verdict(
        failed=True,
        text=text,
        next_step="if it only computes, give it longer (--timeout SECONDS). If it waits in a loop "
        "(spins), the virtual clock stands still for ever: try --time real, or --no-spin, which "
        "lets yielding and locking take time. If it does not fit the limit, it may read its own "
        f"program again and again: give more than --limit {shown(options.limit)}",
    )


def _failure(record: BootRecord, output: bytes, options: TryOptions) -> Verdict | None:
    metrics = record.metrics
    status = int(metrics["exit_status"])
    if error := int(metrics.get("exec_errno", 0)):
        return Verdict(failed=True, text=f"could not be started: {os.strerror(error)}")
    if metrics.get("timed_out"):
        return _timed_out(options)
    return _bad_end(status, record, output, options) if status else None


def _bad_end(status: int, record: BootRecord, output: bytes, options: TryOptions) -> Verdict:
    metrics = record.metrics
    if metrics.get("oom_kill"):
        return _out_of_memory(record, output, options)
    if number := int(metrics.get("exit_signal", 0)):
        text = f"was killed by {_signal_name(number)}"
        return Verdict(failed=True, text=text, next_step=_hint(number))
    if _DISK_FULL.search(output) or metrics.get("disk_free_mb", FULL_MB) < FULL_MB:
        text = f"returned {status}: the guest's disk was full"
        return Verdict(failed=True, text=text, next_step="give a larger --disk-size")
    return _returned(status)


def _returned(status: int) -> Verdict:
    text, hint = f"returned {status}", "see what it printed"
    if status == SHELL_FINDS_NOTHING:
        hint = "a shell says so of a program that it does not find: see what it printed"
    elif status == SHELL_CANNOT_START:
        hint = "a shell says so of a program that it cannot start: see what it printed"
    elif status > SHELL_SIGNAL and (name := _signal_name(status - SHELL_SIGNAL)):
        text += f": a program of it was killed by {name}"
        hint = _hint(status - SHELL_SIGNAL)
    return Verdict(failed=True, text=text, next_step=hint)


def _timed_out(options: TryOptions) -> Verdict:
    if options.time == "real":
        text = f"had not ended after {options.timeout:g} s, and was killed"
        return Verdict(failed=True, text=text, next_step="give it longer: --timeout SECONDS")
    seconds = options.timeout * VIRTUAL_PATIENCE
    return Verdict(
        failed=True,
        text=f"had not ended after {seconds:g} s of virtual time, and was killed",
        next_step="a server does not end by itself: start and stop it in a script, with its "
        f"client. Else give it longer: --timeout SECONDS, here times {VIRTUAL_PATIENCE}",
    )


def _out_of_memory(record: BootRecord, output: bytes, options: TryOptions) -> Verdict:
    killed = int(record.metrics["oom_kill"])
    text = (
        f"was killed for want of memory (limit {shown(options.limit)})"
        if record.metrics.get("exit_signal")
        else f"returned {int(record.metrics['exit_status'])}: for want of memory (limit "
        f"{shown(options.limit)}) the kernel killed {killed} of its processes"
    )
    if not output:
        text += ", before it printed anything: the limit may be too small even to start it"
    swap = "" if options.swap else ", or add --swap zram:SIZE"
    return Verdict(failed=True, text=text, next_step=f"give a larger --limit{swap}")


def _remarks(record: BootRecord, *, failed: bool) -> list[Verdict]:
    metrics, texts = record.metrics, []
    killed, left = int(metrics.get("oom_kill", 0)), int(metrics.get("left_processes", 0))
    if killed and not failed:
        texts.append(
            f"returned 0, though for want of memory the kernel killed {killed} of its processes"
        )
    if left:
        texts.append(f"left {left} {'process' if left == 1 else 'processes'} running, now killed")
    if not (metrics.get("output_bytes") or failed):
        texts.append("printed nothing")
    if metrics.get("output_bytes", 0) > OUTPUT_LIMIT:
        texts.append(f"printed more than {shown(OUTPUT_LIMIT)}, of which the rest is lost")
    return [Verdict(failed=False, text=text) for text in texts]


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _hint(number: int) -> str:
    if number == signal.SIGSEGV:
        return "if it runs here but not there, it may need what the guest lacks (docs/use/try.md)"
    return "see what it printed"


def general(records: list[BootRecord], options: TryOptions) -> list[str]:
    """Say what is worth knowing about the run as a whole: why kernels may not differ."""
    good = [record.metrics for record in records if record.metrics.get("exit_status") == 0]
    if not good:
        return []
    notes = []
    elapsed = [metrics.get("elapsed_seconds", 0.0) for metrics in good]
    if options.time == "virtual" and max(elapsed) < NEARLY_NOTHING_SECONDS:
        notes.append(
            "elapsed time is nearly nothing: in virtual time computing takes none, only waiting "
            "(disk, sleep) does; --time real uses the host's clock"
        )
    peak = int(1e6 * max(metrics.get("memory_peak_mb", 0.0) for metrics in good))
    if 0 < peak < options.limit * NEAR_LIMIT:
        notes.append(
            f"the limit was never reached (at most {shown(peak)} of {shown(options.limit)}): "
            "nothing was reclaimed, so kernels cannot differ; try a smaller --limit"
        )
    return notes
