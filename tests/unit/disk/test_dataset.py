# SPDX-License-Identifier: GPL-2.0-only
"""Datasets: the same spec is the same image, and a failure leaves none."""

from __future__ import annotations

import hashlib
import shutil
from collections import namedtuple
from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from mglru.core import process
from mglru.core.errors import LabError
from mglru.disk import images, root
from mglru.disk.images import dataset_image
from mglru.experiment import dataset as dataset_spec
from mglru.experiment.dataset import DatasetSpec, EmptyDataset, FileDataset, LevelDbDataset
from mglru.guest.programs import guest_program
from support.prepared_data import dump, left_behind

FILE = FileDataset(kind="file", size_mb=16, file_mb=2)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_same_spec_is_the_same_image(cache: Path) -> None:
    first = dataset_image(FILE)
    before = digest(first)
    shutil.rmtree(first.parent)
    assert digest(dataset_image(FILE)) == before


def test_an_image_is_made_once(cache: Path) -> None:
    said: list[str] = []
    first = dataset_image(FILE, said.append)
    made = first.stat().st_mtime_ns
    assert dataset_image(FILE, said.append).stat().st_mtime_ns == made
    assert said == ["Preparing the file data, once: 2 MB"]


def test_the_same_spec_keeps_its_key(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one for the same image would make all that the cache has once more."""
    monkeypatch.setattr(images, "FORMAT", 1)
    monkeypatch.setattr(images, "SEED", 1)
    loader = Path("/guest/get_scan_leveldb-0123456789ab/get_scan_leveldb")
    monkeypatch.setattr(images, "guest_program", lambda _name, _note: loader)
    leveldb = LevelDbDataset(kind="leveldb", size_mb=16, records=1000)
    assert images._key(FILE, print) == "28fbf864ffce"
    assert images._key(leveldb, print) == "a69506871c83"
    monkeypatch.setattr(root, "FORMAT", 1)
    monkeypatch.setattr(root, "made", lambda target, _make: target)
    image = root.userland_image(Path("/userlands/0123456789ab/tree"))
    assert image.parent == cache / "datasets" / "userland-2559526645b2"


def test_the_file_is_on_the_image_and_nothing_else_in_the_cache(cache: Path) -> None:
    image = dataset_image(FILE)
    assert image.stat().st_size == 16 << 20
    assert "Size: 2097152" in dump(image, "stat /file")
    assert [path.name for path in image.parent.iterdir()] == [dataset_spec.IMAGE]


def test_an_empty_dataset_is_an_empty_file_system(cache: Path) -> None:
    image = dataset_image(EmptyDataset(kind="empty", size_mb=8))
    assert [name for name in dump(image, "ls -p /").split("/") if name.isalpha()] == []


def test_data_that_does_not_fit_names_the_setting(cache: Path) -> None:
    with pytest.raises(LabError, match="make the guest's disk image") as caught:
        dataset_image(FileDataset(kind="file", size_mb=8, file_mb=9))
    assert "size_mb" in caught.value.next_step
    assert left_behind(cache) == []


def test_an_interrupted_load_leaves_no_half_image(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_spec: FileDataset, directory: Path) -> None:
        (directory / "file").write_bytes(b"half")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(images, "_write_file", interrupted)
        with pytest.raises(KeyboardInterrupt):
            dataset_image(FILE)
    assert left_behind(cache) == []
    assert "Size: 2097152" in dump(dataset_image(FILE), "stat /file")


def test_missing_e2fsprogs_names_the_program(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(process, "ADMINISTRATORS_PATH", "")
    with pytest.raises(LabError, match="mke2fs"):
        dataset_image(FILE)
    assert left_behind(cache) == []


def test_a_full_disk_is_noticed_first(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage(10, 9, 1))
    with pytest.raises(LabError, match="preparing the file data needs"):
        dataset_image(FILE)


def test_a_cache_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("MGLRU_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(LabError, match="cannot be written") as caught:
        dataset_image(FILE)
    assert "MGLRU_CACHE" in caught.value.next_step


@pytest.mark.parametrize(
    "table",
    [
        {"kind": "tape", "size_mb": 8},
        {"kind": "file", "size_mb": 8},
        {"kind": "file", "size_mb": 8, "file_mb": 0},
        {"kind": "empty", "size_mb": 8, "records": 5},
        {"size_mb": 8},
    ],
)
def test_a_table_that_makes_no_dataset_is_refused(table: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(DatasetSpec).validate_python(table)


def test_leveldb_is_loaded_the_same_twice(cache: Path) -> None:
    spec = LevelDbDataset(kind="leveldb", size_mb=64, records=60_000)
    program = guest_program("get_scan_leveldb")
    first = dataset_image(spec)
    before = digest(first)
    shutil.rmtree(first.parent)
    assert digest(dataset_image(spec)) == before
    assert guest_program("get_scan_leveldb") == program
    names = dump(first, "ls -p /")
    assert "CURRENT" in names
    assert names.count(".ldb") > 4
    # Its log, with times in it, is not kept.
    assert "/LOG/" not in names
