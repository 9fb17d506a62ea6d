# SPDX-License-Identifier: GPL-2.0-only
from __future__ import annotations

from pathlib import Path

import pytest

from mglru.build import config as kconfig
from mglru.core.errors import LabError
from mglru.core.paths import KCONFIG
from mglru.source.kernel_id import KernelId


def test_a_later_line_wins_and_unset_is_n() -> None:
    text = 'CONFIG_A=y\n# CONFIG_B is not set\n# a comment\nCONFIG_A=m\nCONFIG_S="x y"\n'
    assert kconfig.parse(text) == {"A": "m", "B": "n", "S": '"x y"'}


def test_rendering_and_parsing_are_inverse() -> None:
    options = {"A": "y", "B": "n", "LOG_BUF_SHIFT": "20", "S": '"x"'}
    assert kconfig.parse(kconfig.render(options)) == options


def test_options_in_a_kernels_name_win_over_the_fragments() -> None:
    asked = kconfig.requested(KernelId.parse("6.12%LRU_GEN=n"), ["base"])
    assert asked["LRU_GEN"] == "n"
    assert asked["MEMCG"] == "y"


def test_an_option_switched_off_takes_those_that_depend_on_it_along() -> None:
    asked = kconfig.requested(KernelId.parse("6.12%LRU_GEN=n"), ["base"])
    assert "LRU_GEN_STATS" not in asked


def test_an_unknown_variant_names_those_there_are() -> None:
    with pytest.raises(LabError) as caught:
        kconfig.requested(KernelId.parse("6.12%nosuch"), ["base"])
    assert "base" in caught.value.next_step


def test_unmet_options_are_listed_with_what_was_got() -> None:
    problems = kconfig.unmet({"A": "y", "B": "n", "C": "y"}, {"A": "y", "C": "m"})
    assert problems == ["CONFIG_C: asked for y, got m"]


WISH = "# CONFIG_W=y if the kernel has it\n"


def test_an_option_that_a_kernel_may_lack_is_asked_for_and_may_be_missing() -> None:
    asked = kconfig.parse(f"CONFIG_A=y\n{WISH}")
    assert kconfig.render(asked) == "CONFIG_A=y\nCONFIG_W=y\n"
    assert kconfig.unmet(asked, {"A": "y"}) == []
    assert kconfig.unmet(asked, {"A": "y", "W": "y"}) == []
    # A kernel that knows it must have it.
    assert kconfig.unmet(asked, {"A": "y", "W": "n"}) == ["CONFIG_W: asked for y, got n"]


def test_a_kernel_with_suites_is_another_kernel() -> None:
    plain, suites = (
        kconfig.requested(KernelId.parse(name), ["base", "uml"]) for name in ("6.12", "6.12%kunit")
    )
    assert "KUNIT" not in plain
    assert (suites["KUNIT"], suites["LRU_GEN"], suites["NET"]) == ("y", "y", "n")


def test_no_fragment_contradicts_itself() -> None:
    for path in KCONFIG.glob("*.config"):
        lines = [line for line in path.read_text().splitlines() if "CONFIG_" in line]
        names = [name for line in lines for name in kconfig.parse(line)]
        assert len(names) == len(set(names)), path


MAKE = """#!/bin/sh
# A stand-in for make, so that the check of its result can be seen to fail.
for word; do case $word in KCONFIG_CONFIG=*) file=${word#*=};; esac; done
case $* in *olddefconfig*) grep -v CONFIG_UNKNOWN "$file" >"$file.x"; mv "$file.x" "$file";;
*) echo "# new" >"$file";; esac
"""


@pytest.fixture
def make(tmp_path: Path) -> list[str]:
    path = tmp_path / "make"
    path.write_text(MAKE)
    path.chmod(0o755)
    return [str(path)]


def test_an_option_that_cannot_be_set_is_an_error(tmp_path: Path, make: list[str]) -> None:
    with pytest.raises(LabError) as caught:
        kconfig.configure(tmp_path, "um", {"A": "y", "UNKNOWN": "y"}, make)
    assert caught.value.log_tail == ["CONFIG_UNKNOWN: asked for y, got n"]
    assert not (tmp_path / ".config").exists()


def test_an_unchanged_configuration_keeps_its_time_stamp(tmp_path: Path, make: list[str]) -> None:
    kconfig.configure(tmp_path, "um", {"A": "y"}, make)
    before = (tmp_path / ".config").stat().st_mtime_ns
    kconfig.configure(tmp_path, "um", {"A": "y"}, make)
    assert (tmp_path / ".config").stat().st_mtime_ns == before
    kconfig.configure(tmp_path, "um", {"A": "m"}, make)
    assert kconfig.parse((tmp_path / ".config").read_text())["A"] == "m"
