# SPDX-License-Identifier: GPL-2.0-only
"""Running other programs: own process group, a time limit, a log, nothing left behind."""

from __future__ import annotations

import contextlib
import contextvars
import os
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from mglru.core.errors import ExitCode, LabError

TAIL_LINES = 20
TAIL_WIDTH = 400
POLL_SECONDS = 0.1
GONE_SECONDS = 10
GONE_POLL_SECONDS = 0.01
# Where Debian has mke2fs, and which it leaves out of an ordinary user's PATH.
ADMINISTRATORS_PATH = ":/usr/sbin:/sbin"
_cancelled = threading.Event()
_part: contextvars.ContextVar[threading.Event | None] = contextvars.ContextVar("part", default=None)


def cancel_all() -> None:
    """Make every wait in every thread kill its process and raise: the lab is ending."""
    _cancelled.set()


@contextlib.contextmanager
def cancellable(event: threading.Event) -> Iterator[None]:
    """Make the waits of this thread end, as `cancel_all` does, when an event is set."""
    token = _part.set(event)
    try:
        yield
    finally:
        _part.reset(token)


def _is_cancelled() -> bool:
    part = _part.get()
    return _cancelled.is_set() or (part is not None and part.is_set())


def tail(path: Path, lines: int = TAIL_LINES) -> list[str]:
    """Return the last lines of a log file, decoded leniently, each as long as can be read."""
    if not path.exists():
        return []
    text = path.read_text(errors="replace").splitlines()[-lines:]
    return [line if len(line) <= TAIL_WIDTH else line[:TAIL_WIDTH] + " ..." for line in text]


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and everything it started, and wait until all of it is gone."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    # The others are not our children: a busy machine takes its time to end them. What waits for
    # a device that does not answer is not waited for.
    deadline = time.monotonic() + GONE_SECONDS
    while _has_members(process.pid) and time.monotonic() < deadline:
        time.sleep(GONE_POLL_SECONDS)


def _has_members(group: int) -> bool:
    """Whether anything of a process group still runs; zombies only wait for init."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _parent, its_group = stat.read_text().rpartition(")")[2].split()[:3]
            if its_group == str(group) and state not in "ZX":
                return True
    return False


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Raise what an interrupt raises at the end of the block, not in it.

    A program takes a while to start where many want to run. An interrupt in the middle of that
    would leave it running, known to nobody. Only the main thread is ever interrupted.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    handlers = {n: handler for n in numbers if callable(handler := signal.getsignal(n))}
    try:
        for number in handlers:
            signal.signal(number, lambda number, _frame: held.append(number))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if held:
        signal.raise_signal(held[0])


def wait(
    process: subprocess.Popen[bytes],
    *,
    limit_seconds: float,
    on_tick: Callable[[], None] | None = None,
) -> bool:
    """Wait for a process that leads its own group; return False if the limit ran out.

    The whole group is gone when this returns or raises, also after Ctrl-C.
    """
    deadline = time.monotonic() + limit_seconds
    try:
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(POLL_SECONDS)
                return True
            if _is_cancelled():
                raise LabError("interrupted", exit_code=ExitCode.INTERRUPTED)
            if on_tick:
                on_tick()
            if time.monotonic() > deadline:
                return False
    finally:
        kill_group(process)


def _environment(added: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a program: messages in English, all programs found."""
    path = os.environ.get("PATH", os.defpath) + ADMINISTRATORS_PATH
    return {**os.environ, "LC_ALL": "C.UTF-8", "PATH": path, **added}


@contextlib.contextmanager
def started(
    argv: Sequence[str | Path],
    output: BinaryIO,
    *,
    purpose: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    pass_fds: Sequence[int] = (),
    next_step: str = "",
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a program as the leader of a group of its own, to `wait` for in the block.

    The whole group is gone after the block.

    Args:
        argv: the program and its arguments.
        output: gets what it prints, stdout and stderr together.
        purpose: what this is for, as in "cannot <purpose>".
        cwd: working directory.
        env: its environment; this process's if None.
        pass_fds: further files that it inherits.
        next_step: advice for the error message.

    Raises:
        LabError: the program is missing, or cannot be started.
    """
    process = None
    try:
        with _interrupts_held():
            process = subprocess.Popen(
                [str(arg) for arg in argv],
                cwd=cwd,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=pass_fds,
                start_new_session=True,
            )
        yield process
    except OSError as error:
        if process is not None:
            raise
        raise LabError(
            f"cannot {purpose}: {argv[0]}: {error.strerror}",
            command=shlex.join(str(arg) for arg in argv),
            next_step=next_step or f"install the package that provides {argv[0]}",
        ) from error
    finally:
        # Else `wait` has seen to it.
        if process is not None and process.returncode is None:
            kill_group(process)


def run(
    argv: Sequence[str | Path],
    *,
    purpose: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    log: Path | None = None,
    limit_seconds: float = 600,
    next_step: str = "",
    ok: Sequence[int] = (0,),
    on_tick: Callable[[], None] | None = None,
) -> str:
    """Run a program to its end and return what it printed (stdout and stderr together).

    Args:
        argv: the program and its arguments.
        purpose: what this is for, as in "cannot <purpose>".
        cwd: working directory.
        env: variables added to the environment.
        log: file that keeps the output; a temporary one if None.
        limit_seconds: real time after which the program is killed.
        next_step: advice for the error message.
        ok: exit statuses that are not an error.
        on_tick: called about ten times a second while the program runs.

    Raises:
        LabError: the program is missing, failed, or ran out of time.
    """
    command = shlex.join(str(arg) for arg in argv)
    with contextlib.ExitStack() as stack:
        if log is None:
            scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="mglru-"))
            log = Path(scratch) / "log"
        with (
            log.open("wb") as output,
            started(
                argv,
                output,
                purpose=purpose,
                cwd=cwd,
                env=_environment(env or {}),
                next_step=next_step,
            ) as process,
        ):
            finished = wait(process, limit_seconds=limit_seconds, on_tick=on_tick)
        if not finished or process.returncode not in ok:
            how = f"exit status {process.returncode}" if finished else f"over {limit_seconds:g} s"
            raise LabError(
                f"cannot {purpose}: {how}",
                command=command,
                log_tail=tail(log),
                next_step=next_step,
            )
        return log.read_text(errors="replace")
