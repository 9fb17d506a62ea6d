# SPDX-License-Identifier: GPL-2.0-only
"""One patch file as `git format-patch` writes it: its message, and the files that it touches."""

from __future__ import annotations

import email.errors
import email.parser
import email.policy
import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchedFile, PatchSet

_FIRST_LINE = re.compile(rb"From ([0-9a-f]{40}|[0-9a-f]{64}) Mon Sep 17 00:00:00 2001\r?\n")
_DIFF = re.compile(rb"^diff --git ", re.MULTILINE)
_TAGS = re.compile(r"^\s*(\[[^\]]*\]\s*)+")
# Where `git am` takes the message to end.
_END_OF_MESSAGE = re.compile(r"---\s*$|--- \S|diff -|Index: ")
_DEV_NULL = "/dev/null"


class PatchFormatError(ValueError):
    """Why a file is not a patch that `git format-patch` could have written."""


@dataclass(frozen=True)
class PatchMessage:
    """The mail's headers and text.

    Attributes:
        subject: without `[PATCH]`.
        body: the text up to `---`, without blank lines around it.
        author: the From header.
        date: the Date header as it stands.
    """

    subject: str
    body: str
    author: str
    date: str


@dataclass(frozen=True)
class Hunk:
    """One hunk: its `@@` line and its whole text."""

    header: str
    text: str


@dataclass(frozen=True)
class FileChange:
    """What a patch does to one file.

    Attributes:
        old: the file's name before, None if the patch adds it.
        new: its name after, None if the patch removes it.
        hunks: in order; none for a rename, a change of mode, or a binary file.
    """

    old: str | None
    new: str | None
    hunks: tuple[Hunk, ...]

    @property
    def name(self) -> str:
        """The name to call the file by."""
        return self.new or self.old or ""


def read_message(content: bytes) -> PatchMessage:
    """Read subject, text, author and date of a patch.

    Raises:
        PatchFormatError: not what `git format-patch` writes.
    """
    first = _FIRST_LINE.match(content)
    if not first:
        raise PatchFormatError("it does not start with a 'From <commit> Mon Sep 17' line")
    parser = email.parser.BytesParser(policy=email.policy.default)
    try:
        headers = parser.parsebytes(content[first.end() :], headersonly=True)
        values = {name: str(headers[name] or "") for name in ("Subject", "From", "Date")}
    except (email.errors.MessageError, ValueError) as error:
        raise PatchFormatError(f"its headers cannot be read: {error}") from error
    missing = [name for name, value in values.items() if not value]
    if missing:
        raise PatchFormatError(f"it has no {missing[0]} header")
    subject = _TAGS.sub("", values["Subject"]).strip()
    return PatchMessage(subject, _body(content), values["From"], values["Date"])


def _body(content: bytes) -> str:
    text = content.replace(b"\r\n", b"\n").partition(b"\n\n")[2].decode(errors="surrogateescape")
    lines = []
    for line in text.splitlines():
        if _END_OF_MESSAGE.match(line):
            break
        lines.append(line)
    return "\n".join(lines).strip()


def diff_of(content: bytes) -> bytes:
    """Return a patch without its message: what decides the content of a kernel.

    Raises:
        PatchFormatError: there is no diff.
    """
    start = _DIFF.search(content)
    if not start:
        raise PatchFormatError("it has no 'diff --git' line, so it changes nothing")
    return content[start.start() :]


def read_changes(content: bytes) -> tuple[FileChange, ...]:
    """Read which files a patch touches, in the patch's order.

    Raises:
        PatchFormatError: there is no diff, it is damaged, or it names a file outside the tree.
    """
    text = diff_of(content).decode(errors="surrogateescape")
    try:
        files = PatchSet.from_string(text)
    except UnidiffParseError as error:
        raise PatchFormatError(f"its diff is damaged: {error}") from error
    return tuple(_change(file) for file in files)


def _change(file: PatchedFile) -> FileChange:
    return FileChange(
        old=_name(file.source_file),
        new=_name(file.target_file),
        hunks=tuple(Hunk(str(hunk).partition("\n")[0], str(hunk)) for hunk in file),
    )


def _name(header: str) -> str | None:
    """Return the name inside the tree, or None for /dev/null."""
    if header == _DEV_NULL:
        return None
    name = header[2:]  # a/ or b/
    parts = PurePosixPath(name).parts
    if not header.startswith(("a/", "b/")) or not parts or parts[0] in ("/", ".git"):
        raise PatchFormatError(f"'{header}' is not a file of the tree")
    if ".." in parts:
        raise PatchFormatError(f"'{header}' lies outside of the tree")
    return name
