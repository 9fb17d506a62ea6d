# SPDX-License-Identifier: GPL-2.0-only
"""Values of a memory cgroup's files: text as people write it in, sizes out."""

from __future__ import annotations

from collections.abc import Mapping

from mglru.core.sizes import Size, read_size

# Of cgroup v2; the value of each is a size.
SIZES = frozenset(
    {
        *("memory.min", "memory.low", "memory.high", "memory.max"),
        *("memory.swap.high", "memory.swap.max", "memory.zswap.max"),
    }
)
UNLIMITED = "max"


Value = Size | str
"""What a file is to hold: a size where it takes one and has one, else a text."""


def normal(file: str, text: str) -> str:
    """Return the one text for a value: of `64M`, `65536K` and `67108864` it is `64M`.

    What is no size, or is of a file that takes none, is returned without the space around it.

    Args:
        file: as `memory.max`.
        text: its value.
    """
    return str(_read(file, text))


def checked(values: Mapping[str, Value]) -> dict[str, Value]:
    """Return values by file, those that are sizes read.

    Raises:
        ValueError: what should be a size is none.
    """
    made = {file: _read(file, value) for file, value in values.items()}
    for file, value in made.items():
        if file in SIZES and not isinstance(value, Size) and value != UNLIMITED:
            raise ValueError(f"{file}: '{value}' is no size: write it as 64M, or {UNLIMITED}")
    return made


def _read(file: str, value: Value) -> Value:
    if isinstance(value, Size):
        return value
    size = read_size(value) if file in SIZES else None
    return value.strip() if size is None else Size(size)
