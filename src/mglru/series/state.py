# SPDX-License-Identifier: GPL-2.0-only
"""Whether a result is of the series as it is in this checkout, or of another state of it."""

from __future__ import annotations

import functools

from mglru.core.errors import LabError
from mglru.series.listing import load_series
from mglru.source.kernel_id import KernelId

MARK = "†"
FOOTNOTE = f"{MARK} of another state of the series than this checkout has"


@functools.cache
def _here(base: str, upto: int | None) -> str | None:
    try:
        return load_series(base).first(upto).sha256
    except LabError:
        return None


def is_of_another_state(kernel: str, series_sha256: str | None) -> bool:
    """Whether a kernel's patches are not those of this checkout.

    Args:
        kernel: its id.
        series_sha256: digest of the patches that it had; None for stock, which has no state.
    """
    if series_sha256 is None:
        return False
    try:
        name = KernelId.parse(kernel)
    except LabError:
        return True
    return series_sha256 != _here(name.base, name.upto)
