# SPDX-License-Identifier: GPL-2.0-only
"""The one rule of what ratios refer to, in tables, pages, JSON and documents alike."""

from __future__ import annotations

from collections.abc import Sequence

# The kernel that the series is for.
STOCK = "6.12"


def baseline_of(kernels: Sequence[str], chosen: str = "") -> str:
    """Return the kernel that ratios refer to.

    Args:
        kernels: all kernels, in order; at least one.
        chosen: the first of `--kernels`, if somebody gave it, or what `--baseline` names; empty
            if nobody chose. A result keeps it.

    Returns:
        what was chosen; else stock 6.12 where it is, if need be with another configuration
        (`6.12%debug`); else the first.
    """
    if chosen:
        return chosen
    if STOCK in kernels:
        return STOCK
    return next((name for name in kernels if _is_configured_stock(name)), kernels[0])


def _is_configured_stock(name: str) -> bool:
    return name.startswith(f"{STOCK}%") and not name.endswith("@classic")


def common_choice(choices: Sequence[str]) -> str:
    """Return what all of several results chose; empty if they differ or did not choose."""
    return choices[0] if choices and len(set(choices)) == 1 else ""
