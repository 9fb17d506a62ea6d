# SPDX-License-Identifier: GPL-2.0-only
"""Data that is made inside a guest."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from mglru.build.build import Build
from mglru.core.errors import LabError
from mglru.core.paths import cache_root
from mglru.core.ui import Ui
from mglru.debian.userland import Userland, get_userland
from mglru.run.prepared import prepared_image
from support.guests import kernel_build
from support.prepared_data import dump, experiment, no_kernel

pytestmark = pytest.mark.guest


@pytest.fixture
def userland() -> Userland:
    return get_userland([], Ui(quiet=True))


@pytest.fixture
def datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of the test's own for images; the rest of the cache is the user's."""
    own = tmp_path / "cache"
    own.mkdir()
    for name in ("userlands", "guest", "sources", "builds"):
        (own / name).symlink_to(cache_root() / name)
    monkeypatch.setenv("MGLRU_CACHE", str(own))
    return own / "datasets"


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def stock() -> Build:
    return kernel_build("6.12")


def test_programs_of_the_userland_make_data_in_a_guest(
    tmp_path: Path, userland: Userland, datasets: Path, quiet: Ui
) -> None:
    made = experiment(
        tmp_path,
        "seq {lines} >{data}/numbers && chown lab {data}/numbers",
        "head -c 9M /dev/urandom >{data}/random && date >{data}/date && mktemp -p {data}",
    )
    image = prepared_image(made, userland, stock, quiet)
    assert "User:  1000" in dump(image, "stat /numbers")
    assert dump(image, "cat /numbers").split() == [str(n) for n in range(1, 1001)]
    assert image.stat().st_size == 64 << 20
    assert image.stat().st_blocks * 512 < 32 << 20, "zeros are holes"
    check = subprocess.run(["e2fsck", "-fn", image], check=False, capture_output=True, text=True)
    assert check.returncode == 0, check.stdout
    assert [path.name for path in image.parent.iterdir()] == ["image"]
    assert prepared_image(made, userland, no_kernel, quiet) == image
    # Random bytes, dates and names included.
    before = digest(image)
    shutil.rmtree(image.parent)
    assert digest(prepared_image(made, userland, stock, quiet)) == before


@pytest.mark.parametrize(
    ("script", "message", "output"),
    [
        ("echo about to fail; exit 3", "step step_0 returned 3", "about to fail"),
        ("kill -9 $$", "step step_0 was killed by signal 9", "step_0 died of signal 9"),
        ("head -c 65M /dev/zero >{data}/x", "step step_0 returned 1", "No space left"),
        ("(cd {data}; exec sleep 1000) &", "cannot unmount /mnt/data: Device or", "step 2"),
    ],
)
def test_a_step_that_fails_is_named_with_its_output(
    tmp_path: Path,
    userland: Userland,
    datasets: Path,
    quiet: Ui,
    script: str,
    message: str,
    output: str,
) -> None:
    made = experiment(tmp_path, script, "echo step 2; sleep 1")
    with pytest.raises(LabError, match="cannot prepare the data of small") as caught:
        prepared_image(made, userland, stock, quiet)
    assert message in caught.value.what
    log = "\n".join(caught.value.log_tail)
    assert output in log
    assert ("step 2" in log) == ("sleep 1000" in script), "a failure ends the plan"
    assert "[dataset]" in caught.value.next_step
    assert [path.name for path in datasets.glob("prepared*") if path.suffix != ".lock"] == []
    assert list((datasets.parent / "tmp").iterdir()) == []
