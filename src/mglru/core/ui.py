# SPDX-License-Identifier: GPL-2.0-only
"""What the user sees while the lab works: notes and progress bars, all on stderr."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

Update = Callable[[float, str], None]


class Ui:
    """Notes and bars; bars only on a terminal, a line at start and end elsewhere.

    One instance is shared by everything that a command does, so that bars of parallel
    steps stand under one another.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self.console = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)
        self.quiet = quiet
        self._progress: Progress | None = None
        self._bars = 0

    def note(self, text: str) -> None:
        """Print one line about what is being done."""
        if not self.quiet:
            self.console.print(text, markup=False)

    def warn(self, text: str) -> None:
        """Print a warning, also when quiet."""
        self.console.print(f"warning: {text}", style="yellow", markup=False)

    @contextlib.contextmanager
    def bar(self, label: str, total: float | None) -> Iterator[Update]:
        """Show a bar while the block runs.

        Yields:
            a function to call with the amount done (in the unit of `total`) and a detail.
        """
        started = time.monotonic()
        if self.quiet or not self.console.is_terminal:
            self.note(f"{label} ...")
            yield lambda _done, _detail: None
            self.note(f"{label}: done in {time.monotonic() - started:.0f} s")
            return
        progress = self._shared_progress()
        task = progress.add_task(label, total=total, detail="")
        try:
            yield lambda done, detail: progress.update(task, completed=done, detail=detail)
        finally:
            progress.remove_task(task)
            self._release_progress()
        self.note(f"{label}: {time.monotonic() - started:.0f} s")

    def _shared_progress(self) -> Progress:
        if self._progress is None:
            self._progress = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=24),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.fields[detail]}"),
                console=self.console,
                transient=True,
            )
            self._progress.start()
        self._bars += 1
        return self._progress

    def _release_progress(self) -> None:
        self._bars -= 1
        if self._bars == 0 and self._progress is not None:
            self._progress.stop()
            self._progress = None
