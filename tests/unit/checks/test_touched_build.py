# SPDX-License-Identifier: GPL-2.0-only
"""`series check --parts`: what patches touch is compiled, on a mini tree with real make and gcc."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.build.recipe import Recipe
from mglru.checks.base_check import compile_touched
from mglru.checks.series_check import compiler_warnings
from mglru.core.errors import LabError
from mglru.core.ui import Ui
from mglru.series.listing import Series, load_series
from mglru.source.kernel_id import KernelId
from mglru.source.trees import Source
from support.series_tools import FILES, Forge, write_files

# Kbuild in few lines, in the tree itself; an image is never asked for.
MAKEFILE = r"""
VERSION = 6
PATCHLEVEL = 12
SUBLEVEL = 99
EXTRAVERSION =
.PHONY: allnoconfig olddefconfig prepare FORCE
allnoconfig: ; @: > $(KCONFIG_CONFIG)
olddefconfig: ; @sort -u -o $(KCONFIG_CONFIG) $(KCONFIG_CONFIG)
prepare: ; @mkdir -p include/config && grep = .config > include/config/auto.conf
%.o: %.c FORCE ; @echo "  CC      $@" && gcc -Wall -c -o $@ $<
"""
SOURCES = {
    **FILES,
    "Makefile": MAKEFILE,
    "mm/Makefile": "obj-y := lru.o other.o\nobj-$(CONFIG_SWAP) += swap.o\n",
    "mm/lru.c": "int lru;\n",
    "mm/other.c": "int other;\n",
    "mm/swap.c": "int swap;\n",
}


def recipe(tmp_path: Path, *changes: tuple[str, str, str]) -> Recipe:
    """A kernel without swap, and a series of one-line changes: old line, new lines, file."""
    source = Source("6.12", "6.12.99", "test", "d" * 64, write_files(tmp_path / "source", SOURCES))
    forge = Forge(tmp_path / "forge", SOURCES)
    for number, (old, new, file) in enumerate(changes):
        forge.replace(f"mm/mglru: change {number}", old, new, file)
    series = load_series("6.12", forge.export(tmp_path / "patches"))
    return Recipe(
        KernelId("6.12", series=True), "uml", source, series, Series("6.12", ()), (), "gcc"
    )


def test_only_what_is_touched_and_configured_is_compiled(
    cache: Path, quiet: Ui, tmp_path: Path
) -> None:
    touching = recipe(
        tmp_path,
        ("int lru;", "int lru;\nstatic int unused;", "mm/lru.c"),
        ("int swap;", "no C at all", "mm/swap.c"),
    )
    log = compile_touched(touching, quiet)
    assert log.count("  CC ") == 1
    assert [line.split(": ", 1)[0] for line in compiler_warnings(log)] == ["mm/lru.c:2:12"]


def test_what_was_compiled_is_not_compiled_again(cache: Path, quiet: Ui, tmp_path: Path) -> None:
    touching = recipe(tmp_path, ("int lru;", "int more;", "mm/lru.c"))
    log = compile_touched(touching, quiet)
    (next((cache / "trees").glob("*/*_uml")) / "mm/lru.c").write_text("no C at all\n")
    assert compile_touched(touching, quiet) == log


def test_what_does_not_compile_is_told_and_not_kept(cache: Path, quiet: Ui, tmp_path: Path) -> None:
    broken = recipe(tmp_path, ("int lru;", "no C at all", "mm/lru.c"))
    for _time in range(2):
        with pytest.raises(LabError) as caught:
            compile_touched(broken, quiet)
        assert any("mm/lru.c:1" in line for line in caught.value.log_tail)
