# SPDX-License-Identifier: GPL-2.0-only
"""A file that grows with a run: replaced as a whole after each step, complete at any moment."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from mglru.core.errors import LabError, UsageError
from mglru.core.files import write_whole
from mglru.results import recording

STDOUT = "-"
# An array of numbers as json.dumps() indents it; in a string a line never ends.
_NUMBERS = re.compile(r"\[\n\s*([-+.\deE]+(?:,\n\s*[-+.\deE]+)*)\n\s*\]")


def json_text(document: object) -> str:
    """Return a document as JSON, indented but for arrays of numbers, which are one line each."""
    text = json.dumps(document, indent=1)
    return _NUMBERS.sub(lambda found: f"[{' '.join(found[1].split())}]", text) + "\n"


class OutputFile(ABC):
    """A file that is tried before the first boot and rewritten after every one.

    A path that cannot be written fails at once, not after the run. Until there is content, an
    older file of that name stays. Stdout and anything that is not a regular file (a pipe, a
    device) is written once, when the block ends, also by an interrupt.

    Args:
        path: of the file, or `-` for stdout.

    Raises:
        UsageError: the path is a directory or in one that does not exist, or in results/ while the
            tree differs from its commit.
        LabError: the file cannot be written.
    """

    def __init__(self, path: str | Path) -> None:
        self._to_stdout = str(path) == STDOUT
        self._path = Path(path)
        special = self._path.exists() and not self._path.is_file()
        self._in_place = self._to_stdout or special
        if not self._in_place:
            # Replace what a symbolic link points to, not the link.
            self._path = self._path.resolve()
        if not self._to_stdout:
            recording.check_clean(self._path)
            self._check()

    @classmethod
    @contextlib.contextmanager
    def wanted(cls, path: str | Path | None) -> Iterator[Self | None]:
        """Give the file if somebody asked for one, else None."""
        if not path:
            yield None
            return
        with cls(path) as file:
            yield file

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    @abstractmethod
    def text(self) -> str:
        """Return the whole content as it stands; nothing if there is none to write yet."""

    @property
    def in_place(self) -> bool:
        """Whether it is written once, at the end (stdout, a pipe, a device)."""
        return self._in_place

    def _check(self) -> None:
        if self._path.is_dir():
            raise UsageError(f"{self._path} is a directory", next_step="name a file in it")
        folder = self._path.parent
        if not folder.exists():
            raise UsageError(
                f"the results cannot be written to {self._path}: there is no directory {folder}",
                next_step=f"mkdir -p {shlex.quote(str(folder))}, or name another file with --json",
            )
        with self._writing():
            if not self._in_place:
                with tempfile.TemporaryFile(dir=self._path.parent):
                    pass

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise LabError(
                f"the results cannot be written to {self._path}: {error.strerror}",
                next_step="name another file with --json, or free some space",
            ) from error

    def write(self) -> None:
        """Replace the file with the content as it stands; stdout and pipes wait for `close`.

        Raises:
            LabError: the file cannot be written.
        """
        if self._in_place or not (text := self.text()):
            return
        with self._writing():
            write_whole(self._path, text)

    def close(self) -> None:
        """Write what could not be written before its end; nothing if there is no content."""
        if not self._in_place or not (text := self.text()):
            return
        with self._writing():
            if self._to_stdout:
                sys.stdout.write(text)
                sys.stdout.flush()
            else:
                self._path.write_text(text)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class OnceFile(OutputFile):
    """A file that gets its whole content at once, when all is known: one JSON document.

    Usage:
        with OnceFile.wanted(path) as file:
            document = ...               # what takes long
            if file:
                file.keep(document)
    """

    def __init__(self, path: str | Path) -> None:
        self._text = ""
        super().__init__(path)

    def text(self) -> str:
        """Return the document as JSON; nothing as long as there is none."""
        return self._text

    def keep(self, document: object) -> None:
        """Take the document, of values that JSON has, and write the file.

        Raises:
            LabError: the file cannot be written.
        """
        self._text = json_text(document)
        self.write()
