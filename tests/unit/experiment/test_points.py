# SPDX-License-Identifier: GPL-2.0-only
"""Experiments in folders, which are suites, and families of points."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.core.errors import UsageError
from mglru.core.sizes import Size
from mglru.experiment.load import load_experiment, names

STEP = """
[[steps]]
label = "read"
argv = ["/bin/true", "{lag_mb}"]
"""
FAMILY = f"""
summary = "a family"
suites = ["databases"]
[parameters]
lag_mb = 4
[[points]]
name = "lag-8"
set = ["lag_mb=8", "limit=80M"]
quick = true
[[points]]
name = "lag-60"
set = ["lag_mb=60"]
{STEP}
"""


def put(directory: Path, name: str, text: str) -> Path:
    path = directory / f"{name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_folder_is_a_suite_and_its_files_are_found_by_name(tmp_path: Path) -> None:
    put(tmp_path, "harm/family", FAMILY)
    put(tmp_path, "alone", f'summary = "in no folder"\n{STEP}')
    assert names(tmp_path) == ["alone", "family"]
    family = load_experiment("family", directory=tmp_path)
    assert (family.folder, family.suites) == ("harm", ("databases",))
    assert load_experiment("alone", directory=tmp_path).folder is None


def test_folders_within_a_suite_are_for_the_eye_only(tmp_path: Path) -> None:
    put(tmp_path, "harm/swap/family", FAMILY)
    put(tmp_path, "harm/other", f'summary = "beside it"\n{STEP}')
    assert names(tmp_path) == ["family", "other"]
    assert load_experiment("family", directory=tmp_path).folder == "harm"
    put(tmp_path, "harm/scans/other", f'summary = "again"\n{STEP}')
    with pytest.raises(UsageError, match="one name"):
        names(tmp_path)


def test_a_point_sets_what_it_names_and_the_command_line_has_the_last_word(tmp_path: Path) -> None:
    put(tmp_path, "harm/family", FAMILY)
    point = load_experiment("family:lag-8", directory=tmp_path)
    assert point.name == "family:lag-8"
    assert (point.parameters["lag_mb"], point.memcg["memory.max"]) == (8, Size(80 << 20))
    again = load_experiment("family:lag-8", ["lag_mb=9"], tmp_path)
    assert again.parameters["lag_mb"] == 9
    assert [p.name for p in point.points if p.quick] == ["lag-8"]


def test_suites_and_points_do_not_change_what_a_run_is(tmp_path: Path) -> None:
    put(tmp_path / "a", "x", f'summary = "s"\n{STEP}'.replace("{lag_mb}", ""))
    put(
        tmp_path / "b",
        "harm/x",
        FAMILY.replace("{lag_mb}", "").replace("[parameters]\nlag_mb = 4", ""),
    )
    one, other = (load_experiment("x", directory=tmp_path / folder) for folder in "ab")
    assert one.sha256 == other.sha256


def test_an_experiment_extends_one_of_another_folder(tmp_path: Path) -> None:
    put(tmp_path, "harm/family", FAMILY)
    put(tmp_path, "cost/child", 'extends = "family"\nsummary = "another"\n')
    child = load_experiment("child:lag-60", directory=tmp_path)
    assert (child.folder, child.parameters["lag_mb"]) == ("cost", 60)


@pytest.mark.parametrize(
    ("name", "files", "message"),
    [
        ("x", {"harm/x": FAMILY, "cost/x": FAMILY}, "two experiments have one name"),
        ("x:lag-9", {"harm/x": FAMILY}, "no point 'lag-9'"),
        ("y", {"harm/x": FAMILY}, "no experiment 'y'"),
        ("x", {"harm/x": FAMILY.replace("lag-60", "lag-8")}, "a name of its own"),
        ("x:lag-60", {"harm/x": FAMILY.replace('"lag-8"', '"lag 8"')}, r"points.0.name"),
        ("x", {"x": 'extends = "x"'}, "extends itself"),
    ],
)
def test_bad_files_are_refused(
    tmp_path: Path, name: str, files: dict[str, str], message: str
) -> None:
    for each, text in files.items():
        put(tmp_path, each, text)
    with pytest.raises(UsageError, match=message) as caught:
        load_experiment(name, directory=tmp_path)
    assert caught.value.next_step


def test_the_points_of_all_experiments_can_be_loaded() -> None:
    for name in names():
        for point in load_experiment(name).points:
            assert load_experiment(f"{name}:{point.name}").name == f"{name}:{point.name}"
