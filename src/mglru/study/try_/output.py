# SPDX-License-Identifier: GPL-2.0-only
"""Showing what a command printed on several kernels: once where it is the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

# More than this is shown from both ends only.
SHOWN_LINES = 80


def group(printed: Mapping[str, bytes]) -> Iterator[tuple[list[str], bytes]]:
    """Return kernels with the same output together, in the order in which they come."""
    groups: dict[bytes, list[str]] = {}
    for kernel, text in printed.items():
        groups.setdefault(text, []).append(kernel)
    for text, kernels in groups.items():
        yield kernels, text


def shorten(text: bytes, lines: int = SHOWN_LINES) -> str:
    """Return output as text, of a long one both ends."""
    found = text.decode(errors="replace").splitlines()
    if len(found) <= lines:
        return "".join(f"{line}\n" for line in found)
    head, tail = found[: lines // 2], found[-lines // 2 :]
    between = f"[{len(found) - lines} lines left out; --output DIR keeps all]"
    return "".join(f"{line}\n" for line in [*head, between, *tail])


def render(printed: Mapping[str, bytes]) -> str:
    """Return all that is shown of outputs by kernel."""
    parts = []
    for kernels, text in group(printed):
        where = " and ".join(kernels)
        parts.append(f"--- printed on {where}:\n{shorten(text)}" if text else "")
    return "".join(parts)
