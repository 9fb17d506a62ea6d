# SPDX-License-Identifier: GPL-2.0-only
"""Which tree a kernel is built in, and which one a new tree starts from."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.build.build import _built_siblings, _slot
from mglru.build.recipe import Recipe
from mglru.series.listing import Series
from mglru.source.kernel_id import KernelId
from mglru.source.trees import Source


def slot(name: str) -> Path:
    source = Source("6.12", "6.12.99", "linux-source-6.12 6.12.99-1", "d" * 64, Path("/absent"))
    none = Series("6.12", ())
    return _slot(Recipe(KernelId.parse(name), "uml", source, none, none, (), "gcc"))


@pytest.mark.parametrize(
    ("name", "tree"),
    [
        ("6.12", "6.12_uml"),
        ("6.12+next", "6.12+next_uml"),
        ("6.12+next:1", "6.12+next_N_uml"),
        ("6.12+next:12%LRU_GEN=n", "6.12+next_N_LRU_GEN_n_uml"),
        ("6.12%debug", "6.12_debug_uml"),
    ],
)
def test_slots(cache: Path, name: str, tree: str) -> None:
    assert slot(name).name == tree


def test_a_tree_starts_from_one_with_the_same_options(cache: Path) -> None:
    for name in ("6.12", "6.12%LRU_GEN=n", "6.12%debug"):
        slot(name).mkdir(parents=True)
        (slot(name) / "vmlinux").touch()
    siblings = _built_siblings(slot("6.12+next%LRU_GEN=n"), "uml")
    assert next(siblings) == slot("6.12%LRU_GEN=n")
    assert next(_built_siblings(slot("6.12+next:2"), "uml")) == slot("6.12")
