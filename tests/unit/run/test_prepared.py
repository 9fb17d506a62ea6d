# SPDX-License-Identifier: GPL-2.0-only
"""Data made inside a guest: the same steps are the same image, and a failure leaves none."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.core.errors import UsageError
from mglru.core.ui import Ui
from mglru.debian.userland import Userland, get_userland
from mglru.experiment.load import load_experiment
from mglru.experiment.spec import Experiment
from mglru.run import prepared
from mglru.run.prepared import prepared_image
from support.prepared_data import experiment, no_kernel

# Nobody asks a tree for its files before a guest is booted.
NOWHERE = Userland(Path("/nowhere"), {"coreutils": "1"})


def key(made: Experiment, userland: Userland = NOWHERE) -> str:
    assert made.dataset is not None
    assert made.dataset.kind == "prepared"
    return prepared._key(made, made.dataset, userland)


def test_what_decides_the_data_decides_its_key(cache: Path, tmp_path: Path) -> None:
    one = experiment(tmp_path, "seq {lines} >{data}/a")
    seen = {key(one)}
    seen.add(key(one, Userland(Path("/nowhere"), {"coreutils": "2"})))
    seen.add(key(experiment(tmp_path, "seq {lines} >{data}/b")))
    seen.add(key(one.model_copy(update={"parameters": {"lines": 2000, "unused": 1}})))
    assert len(seen) == 4
    same = one.model_copy(update={"parameters": {"lines": 1000, "unused": 2}, "boots": 7})
    assert key(same) in seen


def test_a_placeholder_that_is_not_defined_is_refused(
    cache: Path, tmp_path: Path, quiet: Ui
) -> None:
    with pytest.raises(UsageError, match="step_0") as caught:
        prepared_image(experiment(tmp_path, "{nothing}"), NOWHERE, no_kernel, quiet)
    assert "{lines}" in caught.value.next_step


def test_prepared_data_needs_a_userland(cache: Path, tmp_path: Path, quiet: Ui) -> None:
    with pytest.raises(UsageError, match="userland") as caught:
        prepared_image(experiment(tmp_path, "true"), None, no_kernel, quiet)
    assert "[userland]" in caught.value.next_step


@pytest.mark.parametrize(
    "table",
    [
        "steps = []",
        "memory_mb = 1\nsteps = [{label='x', argv=['x']}]",
        "steps = [{label='x', argv=[]}]",
        "steps = [{label='X y', argv=['x']}]",
        "steps = [{label='x', argv=['x'], join='none'}]",
        "",
    ],
)
def test_a_table_that_prepares_nothing_is_refused(tmp_path: Path, table: str) -> None:
    (tmp_path / "x.toml").write_text(
        "summary = 'x'\n[[steps]]\nlabel = 'x'\nargv = ['x']\n"
        f"[dataset]\nkind = 'prepared'\nsize_mb = 64\n{table}\n"
    )
    with pytest.raises(UsageError, match="dataset"):
        load_experiment("x", directory=tmp_path)


@pytest.fixture
def userland() -> Userland:
    return get_userland([], Ui(quiet=True))
