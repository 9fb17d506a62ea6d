# SPDX-License-Identifier: GPL-2.0-only
"""Values of a memory cgroup's files: text as people write it in, the one way to write it out."""

from __future__ import annotations

from mglru.core.sizes import read_size, size_text

# Of cgroup v2; the value of each is a size.
SIZES = frozenset(
    {
        *("memory.min", "memory.low", "memory.high", "memory.max"),
        *("memory.swap.high", "memory.swap.max", "memory.zswap.max"),
    }
)
UNLIMITED = "max"


def normal(file: str, text: str) -> str:
    """Return the one text for a value: of `64M`, `65536K` and `67108864` it is `64M`.

    What is no size, or is of a file that takes none, is returned as it is.

    Args:
        file: as `memory.max`.
        text: its value.
    """
    size = read_size(text) if file in SIZES else None
    return text if size is None else size_text(size)


def checked(values: dict[str, str]) -> dict[str, str]:
    """Return values by file, each as `normal` has it.

    Raises:
        ValueError: what should be a size is none.
    """
    made = {file: normal(file, text) for file, text in values.items()}
    for file, text in made.items():
        if file in SIZES and text != UNLIMITED and read_size(text) is None:
            raise ValueError(f"{file}: '{text}' is no size: write it as 64M, or {UNLIMITED}")
    return made
