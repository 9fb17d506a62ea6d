# SPDX-License-Identifier: GPL-2.0-only
"""The example of docs/dev/how-to.md is an experiment, short, and does what it says."""

from __future__ import annotations

from pathlib import Path

from support.ten_lines import example, experiment


def test_the_example_has_ten_lines(tmp_path: Path) -> None:
    assert len(example().splitlines()) == 10
    assert experiment(tmp_path).summary
