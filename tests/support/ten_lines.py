# SPDX-License-Identifier: GPL-2.0-only
"""The experiment of ten lines that docs/dev/how-to.md shows."""

from __future__ import annotations

import re
from pathlib import Path

from mglru.core.paths import REPO
from mglru.experiment.load import load_experiment
from mglru.experiment.spec import Experiment

HEADING = "## Add an experiment"


def example() -> str:
    text = (REPO / "docs" / "dev" / "how-to.md").read_text()
    section = text.split(HEADING)[1].split("\n## ")[0]
    blocks = re.findall(r"```toml\n(.*?)```", section, re.DOTALL)
    assert len(blocks) == 1
    return str(blocks[0])


def experiment(tmp_path: Path) -> Experiment:
    (tmp_path / "read-again.toml").write_text(example())
    return load_experiment("read-again", directory=tmp_path)
