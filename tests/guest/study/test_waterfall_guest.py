# SPDX-License-Identifier: GPL-2.0-only
"""A waterfall with real boots."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.core.errors import ExitCode
from mglru.results.result_file import load
from mglru.study import waterfall_table
from mglru.study.waterfall import make_waterfall
from support.command_line import run

pytestmark = pytest.mark.guest


def test_parts_are_booted_and_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "waterfall.json"
    arguments = ["series", "waterfall", "read-twice", "--parts", "--json", str(file)]
    code, out, err = run(capsys, *arguments)
    assert (code, "Traceback" in err) == (ExitCode.OK, False)
    waterfall = make_waterfall(load(file)[0])
    tables = len(waterfall_table.chosen(waterfall))
    assert out.count("part ") == tables * (len(load(file)[0].kernels) - 1)
    assert waterfall.notes == ()
    for step in waterfall.steps:
        for before, effect in zip(waterfall.baseline, step.effects, strict=True):
            # A figure that came with a part, as what is retained, has no stock's before it.
            assert effect is not None or before is None
