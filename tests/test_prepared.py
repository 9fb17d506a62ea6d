# SPDX-License-Identifier: GPL-2.0-only
"""Data made inside a guest: the same steps are the same image, and a failure leaves none."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from mglru.build.build import Build
from mglru.core.errors import LabError, UsageError
from mglru.core.paths import cache_root
from mglru.core.ui import Ui
from mglru.debian.userland import Userland, get_userland
from mglru.experiment.load import load_experiment
from mglru.experiment.spec import Experiment
from mglru.run import prepared
from mglru.run.prepared import prepared_image
from support.guests import kernel_build

# Nobody asks a tree for its files before a guest is booted.
NOWHERE = Userland(Path("/nowhere"), {"coreutils": "1"})
EXPERIMENT = """\
summary = "x"
[userland]
packages = []
[parameters]
lines = 1000
unused = 1
[dataset]
kind = "prepared"
size_mb = 64
memory_mb = 256
[[steps]]
label = "run"
argv = ["/bin/true"]
"""
STEP = """\
[[dataset.steps]]
label = "step_{number}"
argv = ["/bin/sh", "-c", '''{script}''']
"""


def experiment(tmp_path: Path, *scripts: str) -> Experiment:
    """An experiment whose data these shell scripts make."""
    steps = [STEP.format(number=n, script=script) for n, script in enumerate(scripts)]
    (tmp_path / "small.toml").write_text(EXPERIMENT + "".join(steps))
    return load_experiment("small", directory=tmp_path)


def no_kernel() -> Build:
    raise AssertionError("the image should have been in the cache")


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


def dump(image: Path, command: str) -> str:
    return subprocess.run(
        ["debugfs", "-R", command, image], check=True, capture_output=True, text=True
    ).stdout


@pytest.mark.guest
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


@pytest.mark.guest
@pytest.mark.parametrize(
    ("script", "message", "output"),
    [
        ("echo about to fail; exit 3", "step step_0 returned 3", "about to fail"),
        ("kill -9 $$", "step step_0 was killed by signal 9", "step step_0 failed"),
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
