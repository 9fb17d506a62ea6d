# SPDX-License-Identifier: GPL-2.0-only
"""The generated part of a document: tables between two marker lines, never typed."""

from __future__ import annotations

from pathlib import Path

from mglru.core.errors import UsageError
from mglru.core.files import write_whole

BEGIN = "<!-- results: begin (generated, do not edit) -->"
END = "<!-- results: end -->"


def replace_between(text: str, tables: str) -> str:
    """Return the document with its generated part replaced.

    Raises:
        UsageError: the markers are missing, repeated or in the wrong order.
    """
    before, begin, rest = text.partition(BEGIN)
    _old, end, after = rest.partition(END)
    if not begin or not end or BEGIN in rest or END in after:
        raise UsageError(
            "the document has not one pair of marker lines for the results",
            next_step=f"add these two lines: {BEGIN} and {END}",
        )
    return f"{before}{BEGIN}\n\n{tables.strip()}\n\n{END}{after}"


def update(path: Path, tables: str) -> bool:
    """Replace the generated part of a file; return whether that changed it.

    Raises:
        UsageError: it cannot be read or has no markers.
    """
    try:
        old = path.read_text()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    new = replace_between(old, tables)
    if new != old:
        write_whole(path, new)
    return new != old
