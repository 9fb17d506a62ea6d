# SPDX-License-Identifier: GPL-2.0-only
"""Directories of the kernel's source as a dataset."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from mglru.core.errors import LabError
from mglru.core.sizes import MB, Size
from mglru.disk import images
from mglru.disk.images import dataset_image
from mglru.experiment.dataset import DatasetSpec, SourceDataset
from mglru.experiment.load import load_experiment
from mglru.source.trees import Source, _remember
from support.prepared_data import dump, left_behind

MM = SourceDataset(kind="source", size_mb=16, paths=("mm",))


@pytest.fixture
def tree(cache: Path, mini_kernel: Path) -> Path:
    """The source of 6.12 in the cache, as if it had been fetched."""
    home = cache / "sources" / "6.12" / "6.12.99-1"
    shutil.copytree(mini_kernel, home)
    (home / "mm" / "damon").mkdir()
    (home / "mm" / "damon" / "core.c").write_text("int damon;\n")
    _remember(Source("6.12", "6.12.99", "a test", "d" * 64, home))
    return home


def test_the_directories_are_on_the_image_and_no_others(tree: Path) -> None:
    (tree / "fs").mkdir()
    image = dataset_image(MM)
    assert "int reclaim;" in dump(image, "cat /tree/mm/vmscan.c")
    assert "int damon;" in dump(image, "cat /tree/mm/damon/core.c")
    assert "fs" not in dump(image, "ls -p /tree")


def test_another_source_is_another_image_and_the_same_is_the_same(tree: Path) -> None:
    first = dataset_image(MM)
    content = hashlib.sha256(first.read_bytes()).hexdigest()
    shutil.rmtree(first.parent)
    assert hashlib.sha256(dataset_image(MM).read_bytes()).hexdigest() == content
    _remember(Source("6.12", "6.12.99", "a test", "e" * 64, tree))
    assert dataset_image(MM) != first


def test_the_same_source_keeps_its_key(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "FORMAT", 1)
    monkeypatch.setattr(images, "SEED", 1)
    assert images._key(MM, print) == "d0c93376739c"


def test_a_directory_that_is_not_there_is_named(tree: Path, cache: Path) -> None:
    with pytest.raises(LabError, match="cannot copy mm, nosuch") as caught:
        dataset_image(SourceDataset(kind="source", size_mb=16, paths=("mm", "nosuch")))
    assert any("nosuch" in line for line in caught.value.log_tail)
    assert "paths" in caught.value.next_step
    assert left_behind(cache) == []


@pytest.mark.parametrize("paths", [(), ("..",), ("/etc",), ("mm/../..",), ("-r",)])
def test_paths_stay_in_the_source(paths: tuple[str, ...]) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(DatasetSpec).validate_python({"kind": "source", "size_mb": 9, "paths": paths})


def test_the_limit_of_file_search_is_about_70_percent_of_its_tree() -> None:
    experiment = load_experiment("file-search")
    assert isinstance(experiment.dataset, SourceDataset)
    # 173 MB in pages; the step fails if two passes find different things.
    limit = experiment.memcg["memory.max"]
    assert isinstance(limit, Size)
    assert limit / (173 * MB) == pytest.approx(0.7, abs=0.01)
    assert experiment.userland
    assert experiment.userland.packages == ("ripgrep",)
