# SPDX-License-Identifier: GPL-2.0-only
"""A waterfall with real boots."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.core.errors import ExitCode
from mglru.results.result_file import load
from mglru.series.listing import Series
from mglru.source.kernel_id import KernelId
from mglru.study.waterfall import run as waterfall_run
from mglru.study.waterfall import table as waterfall_table
from mglru.study.waterfall.waterfall import make_waterfall, prefixes
from support.command_line import run

pytestmark = pytest.mark.guest


@pytest.fixture
def last_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stock and the last two ends of parts: these differ in selftests, so little is to be built."""

    def some(series: Series, *, parts: bool) -> list[KernelId]:
        stock, *ends = prefixes(series, parts=parts)
        return [stock, *ends[-2:]]

    monkeypatch.setattr(waterfall_run, "prefixes", some)


def test_parts_are_booted_and_shown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, last_parts: None
) -> None:
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
