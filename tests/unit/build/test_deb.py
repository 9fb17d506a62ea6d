# SPDX-License-Identifier: GPL-2.0-only
"""`kernel deb`: which configuration it takes, what it asks of it, what it says."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from mglru.build import config as kconfig
from mglru.build.deb import (
    BYTES_AN_OPTION,
    DebPackages,
    expected_seconds,
    make_plan,
    options_on,
)
from mglru.build.deb_config import (
    NEEDED,
    DebConfiguration,
    configure,
    from_file,
    of_this_machine,
    requested,
)
from mglru.build.deb_output import copy_packages, make_debs
from mglru.cli.kernel.deb import advice
from mglru.core.errors import LabError, UsageError
from mglru.core.ui import Ui
from mglru.series.listing import Series
from mglru.source.kernel_id import KernelId
from mglru.source.trees import Source

CONFIG = """\
CONFIG_MEMCG=y
CONFIG_EXT4_FS=m
CONFIG_DEBUG_INFO_DWARF5=y
# CONFIG_DEBUG_INFO_NONE is not set
CONFIG_SYSTEM_TRUSTED_KEYS="debian/certs/debian-uefi-certs.pem"
"""
PLAIN = KernelId.parse("6.12")
# Answers as kconfig would that knows every option but FORBIDDEN.
MAKEFILE = """\
olddefconfig:
\tgrep -v FORBIDDEN $(O)/$(KCONFIG_CONFIG) > $(O)/new
\tmv $(O)/new $(O)/$(KCONFIG_CONFIG)
"""


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path]:
    build, source = tmp_path / "build", tmp_path / "source"
    build.mkdir()
    source.mkdir()
    (source / "Makefile").write_text(MAKEFILE)
    return build, source


def make(trees: tuple[Path, Path]) -> list[str]:
    build, source = trees
    return ["make", f"--directory={source}", f"O={build}"]


def test_a_file(tmp_path: Path) -> None:
    (tmp_path / "config").write_text(CONFIG)
    (tmp_path / "config.gz").write_bytes(gzip.compress(CONFIG.encode()))
    for name in ("config", "config.gz"):
        found = from_file(tmp_path / name)
        assert (found.text, found.own, found.modules) == (CONFIG, True, "")


@pytest.mark.parametrize("content", [None, b"", b"# nothing\n", b"\xff\xfe\0"])
def test_a_file_that_is_no_configuration(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "config").write_bytes(content)
    with pytest.raises(UsageError, match="--config") as error:
        from_file(tmp_path / "config")
    assert error.value.next_step


def test_the_running_kernel(tmp_path: Path) -> None:
    proc, boot = tmp_path / "proc", tmp_path / "boot"
    proc.mkdir()
    boot.mkdir()
    assert of_this_machine(proc, boot) is None
    (proc / "config.gz").write_bytes(gzip.compress(CONFIG.encode()))
    whole = of_this_machine(proc, boot)
    assert whole
    assert (whole.text, whole.modules, whole.own) == (CONFIG, "", False)
    (proc / "modules").write_text("ext4 1 0 - Live 0x0\nmbcache 1 1 ext4, Live 0x0\n")
    reduced = of_this_machine(proc, boot)
    assert reduced
    assert reduced.modules.startswith("ext4 ")
    assert "the 2 modules that are loaded" in reduced.about


def test_what_is_asked_for() -> None:
    debian, own = DebConfiguration("Debian's", CONFIG), DebConfiguration("mine", CONFIG, own=True)
    asked = requested(PLAIN, debian, "-mglru-next")
    assert asked.items() >= NEEDED.items()
    assert asked["LOCALVERSION"] == '"-mglru-next"'
    assert asked["DEBUG_INFO_NONE"] == "y"
    assert "DEBUG_INFO_NONE" not in requested(PLAIN, own, "-x")
    assert requested(KernelId.parse("6.12%DAMON=y"), debian, "-x")["DAMON"] == "y"


@pytest.mark.parametrize("name", ["6.12+next%debug", "6.12@classic"])
def test_kernels_that_are_not_for_users(name: str) -> None:
    with pytest.raises(UsageError, match="for the lab's own runs"):
        requested(KernelId.parse(name), DebConfiguration("", CONFIG), "-x")


def test_debug_info_goes_and_certificates_that_are_not_there(trees: tuple[Path, Path]) -> None:
    configuration = DebConfiguration("Debian's", CONFIG)
    asked = requested(PLAIN, configuration, "-x")
    text = configure(*trees, configuration, asked, make(trees))
    options = kconfig.parse(text)
    assert options["DEBUG_INFO_NONE"] == "y"
    assert "DEBUG_INFO_DWARF5" not in options
    assert options["SYSTEM_TRUSTED_KEYS"] == '""'
    assert options["EXT4_FS"] == "m"
    assert (trees[0] / ".config").read_text() == text
    assert sorted(path.name for path in trees[0].iterdir()) == [".config"]


def test_an_own_file_keeps_its_debug_info_and_certificates(trees: tuple[Path, Path]) -> None:
    certificate = trees[1] / "debian/certs/debian-uefi-certs.pem"
    certificate.parent.mkdir(parents=True)
    certificate.touch()
    own = DebConfiguration("mine", CONFIG, own=True)
    options = kconfig.parse(configure(*trees, own, requested(PLAIN, own, "-x"), make(trees)))
    assert options["DEBUG_INFO_DWARF5"] == "y"
    assert options["SYSTEM_TRUSTED_KEYS"].startswith('"debian/certs/')


def test_an_option_that_cannot_be_is_named(trees: tuple[Path, Path]) -> None:
    own = DebConfiguration("as in mine", CONFIG, own=True)
    asked = {**requested(PLAIN, own, "-x"), "FORBIDDEN": "y"}
    with pytest.raises(LabError, match=r"as in mine cannot have .*: CONFIG_FORBIDDEN$") as error:
        configure(*trees, own, asked, make(trees))
    assert error.value.log_tail == ["CONFIG_FORBIDDEN: asked for y, got n"]
    assert not (trees[0] / ".config").exists()


def test_an_equal_configuration_is_left_alone(trees: tuple[Path, Path]) -> None:
    """Or make would build all of the kernel anew."""
    own = DebConfiguration("mine", CONFIG, own=True)
    asked = requested(PLAIN, own, "-x")
    configure(*trees, own, asked, make(trees))
    before = (trees[0] / ".config").stat().st_mtime_ns
    configure(*trees, own, asked, make(trees))
    assert (trees[0] / ".config").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("name", "release"),
    [
        ("6.12", "6.12.99-mglru-stock"),
        ("6.12%LRU_GEN_STATS=y", "6.12.99-mglru-stock-lru.gen.stats.y"),
    ],
)
def test_the_release_stands_beside_others(tmp_path: Path, name: str, release: str) -> None:
    source = Source("6.12", "6.12.99", "own", "digest", tmp_path)
    plan = make_plan(KernelId.parse(name), source, DebConfiguration("", CONFIG))
    assert plan.release == release
    assert plan.series == Series("6.12", ())


def test_guesses_grow_with_the_configuration() -> None:
    assert options_on(CONFIG) == 3
    assert expected_seconds(CONFIG, 1) == 2 * expected_seconds(CONFIG, 2)
    assert BYTES_AN_OPTION > 0


def test_what_to_do_with_it(tmp_path: Path) -> None:
    source = Source("6.12", "6.12.99", "own", "digest", tmp_path)
    plan = make_plan(PLAIN, source, DebConfiguration("", CONFIG))
    said = "\n".join(advice(plan, tmp_path / "linux-image-x.deb"))
    for part in ("apt install /", "grub-set-default", "grub-reboot", "apt remove", plan.release):
        assert part in said


def test_an_output_that_is_a_file_is_refused_before_the_build(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="--output"):
        make_debs(PLAIN, None, tmp_path / "file", (), Ui(quiet=True))


def test_packages_are_copied_or_stay_where_they_are(tmp_path: Path) -> None:
    kept, output = tmp_path / "kept", tmp_path / "output"
    kept.mkdir()
    (kept / "linux-image-x.deb").write_bytes(b"an image")
    made = DebPackages((kept / "linux-image-x.deb",), 1)
    with pytest.raises(LabError, match="cannot be written") as error:
        copy_packages(made, output)
    assert str(kept) in error.value.next_step
    output.mkdir()
    assert copy_packages(made, output) == (output / "linux-image-x.deb",)
    assert (output / "linux-image-x.deb").read_bytes() == b"an image"
