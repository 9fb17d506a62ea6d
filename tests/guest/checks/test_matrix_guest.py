# SPDX-License-Identifier: GPL-2.0-only
"""The matrix on real kernel sources."""

from __future__ import annotations

import pytest

from mglru.checks.matrix import objects as matrix_objects
from mglru.checks.matrix.build import MatrixTask, compile_side
from mglru.checks.matrix.config import load_configurations
from mglru.core.ui import Ui
from mglru.series.listing import Series
from mglru.source.kernel_id import SERIES_BASES
from mglru.source.trees import cached

pytestmark = pytest.mark.guest


def test_real_kernel(quiet: Ui, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two files under the configuration that is prepared soonest; one of them is left out."""
    source = cached(SERIES_BASES[0])
    assert source
    monkeypatch.setattr(matrix_objects, "HEADER_USERS", ())
    (how,) = load_configurations(["smp-off"])
    touched = ("mm/workingset.c", "mm/mempolicy.c")
    side = compile_side(MatrixTask(how, source, Series(source.base, ()), touched), quiet)
    assert (side.objects, side.failed) == (("mm/workingset.o",), ())
