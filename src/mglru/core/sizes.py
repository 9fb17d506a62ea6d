# SPDX-License-Identifier: GPL-2.0-only
"""Sizes as people write them: `256M`, `1G`, `512K`."""

from __future__ import annotations

import re
from typing import Self

from mglru.core.errors import UsageError

# Not `010M`: the kernel would take that as octal.
_SIZE = re.compile(r"(0|[1-9]\d*)([KMGT]?)(i?B)?", re.IGNORECASE)
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
PAGE_BYTES = 4096
MB = 1 << 20


def read_size(text: str) -> int | None:
    """Return a size in bytes; units are powers of 1024, none is bytes. None if it is no size."""
    match = _SIZE.fullmatch(text.strip())
    return int(match[1]) * UNITS.get(match[2].upper(), 1) if match else None


def size_text(bytes_: int) -> str:
    """Return the one way to write a size: in the largest unit that it is a whole number of."""
    fitting = [unit for unit, size in UNITS.items() if bytes_ and bytes_ % size == 0]
    return f"{bytes_ // UNITS[fitting[-1]]}{fitting[-1]}" if fitting else str(int(bytes_))


class Size(int):
    """Bytes, whose text is as it was written, else that of `size_text`.

    `json.dumps` would take them for a plain number: where JSON is to have text, use `str`.
    """

    _text: str

    def __new__(cls, bytes_: int, text: str = "") -> Self:
        """Return so many bytes; `text` has them as they were written."""
        made = super().__new__(cls, bytes_)
        made._text = text
        return made

    def __str__(self) -> str:
        return self._text or size_text(self)


def parse_size(text: str, what: str) -> int:
    """Return a size in bytes; units are powers of 1024, none is bytes.

    Args:
        text: as `256M`.
        what: names it in messages, as `--limit`.

    Raises:
        UsageError: not a size, less than a page, or more than any machine has.
    """
    bytes_ = read_size(text)
    if bytes_ is None:
        raise UsageError(
            f"{what}: '{text}' is not a size",
            next_step=f"write it as 512K, 256M or 2G: {what}=256M",
        )
    if not PAGE_BYTES <= bytes_ < 1 << 44:
        raise UsageError(
            f"{what}: {text} is {'less than a page' if bytes_ < PAGE_BYTES else 'too much'}",
            next_step=f"write it with its unit: {what}=256M",
        )
    return bytes_


def size_with_unit(text: str) -> Size | None:
    """Return a size as the kernel's files take it, as `64M`; None if it is not one."""
    match = _SIZE.fullmatch(text)
    if not match or not match[2] or match[3]:
        return None
    return Size(int(match[1]) * UNITS[match[2].upper()], text)


def megabytes(bytes_: int) -> int:
    """Return a size in MB (2^20), rounded up."""
    return -(-bytes_ // MB)


def shown(bytes_: int) -> str:
    """Return a size for people, as `256M` or `1.5G`."""
    for unit in ("G", "M", "K"):
        if bytes_ >= UNITS[unit]:
            number = bytes_ / UNITS[unit]
            return f"{number:.0f}{unit}" if number >= 100 else f"{number:.3g}{unit}"
    return str(bytes_)
