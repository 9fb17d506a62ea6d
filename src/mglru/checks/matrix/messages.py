# SPDX-License-Identifier: GPL-2.0-only
"""What compiler, sparse and kernel-doc say of sources, and what of it is new."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

_MESSAGE = re.compile(
    r"(?P<file>[^\s:]+):(?P<line>\d+):(?:\d+:)? (?P<text>(?:fatal )?(?:warning|error): .*)"
)
# Numbers of lines and addresses inside a text; two sides have different ones.
_NUMBERS = re.compile(r"(?<=:)\d+(?::\d+)?\b")


@dataclass(frozen=True)
class CompilerMessage:
    """One message.

    Attributes:
        file: relative to the tree, if it lies in it.
        line: its number.
        text: starts with `warning: ` or `error: `.
        source: what the line says; empty if it cannot be read.
    """

    file: str
    line: int
    text: str
    source: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: {self.text}"
        return f"{place}: {self.source}" if self.source else place

    @property
    def same_as(self) -> tuple[str, str]:
        """What makes it the same message in a tree where lines have moved."""
        return self.file, _NUMBERS.sub("", self.text)


def read_messages(log: str, tree: Path, output: Path) -> tuple[CompilerMessage, ...]:
    """Return the messages of a build log, each once, in the order of files and lines.

    Args:
        log: what make printed.
        tree: the sources; a header's message comes once for each file that includes it.
        output: the build directory, where generated files are.
    """
    found = {
        (_relative(match["file"], tree, output), int(match["line"]), match["text"])
        for line in log.splitlines()
        if (match := _MESSAGE.match(line))
    }
    return tuple(
        CompilerMessage(file, line, text, _line_of(tree / file, line))
        for file, line, text in sorted(found)
    )


def _relative(name: str, tree: Path, output: Path) -> str:
    for root in (f"{tree}/", f"{output}/"):
        name = name.removeprefix(root)
    return posixpath.normpath(name)


def _line_of(path: Path, number: int) -> str:
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def new_messages(
    stock: Iterable[CompilerMessage], patched: Sequence[CompilerMessage]
) -> tuple[CompilerMessage, ...]:
    """Return the messages that the patched tree has more of, wherever their lines are now.

    If a file has one message more of a text that stock has, too, all of that text are named: which
    one is new cannot be known.
    """
    before = Counter(message.same_as for message in stock)
    after = Counter(message.same_as for message in patched)
    return tuple(one for one in patched if after[one.same_as] > before[one.same_as])
