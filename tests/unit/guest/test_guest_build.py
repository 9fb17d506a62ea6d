# SPDX-License-Identifier: GPL-2.0-only
"""Guest programs: built static and once; every way to fail ends in one clear message."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from mglru.core import process
from mglru.core.errors import LabError, UsageError
from mglru.core.paths import GUEST
from mglru.guest import programs as guest_build
from mglru.guest import wiredtiger
from mglru.guest.programs import Library, Program, guest_program


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> Path:
    """A copy of guest/ that a test may change."""
    copy = tmp_path / "guest"
    shutil.copytree(GUEST, copy)
    monkeypatch.setattr(guest_build, "GUEST", copy)
    return copy


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/nonexistent/gcc")
    guest_build.compiler_version.cache_clear()


def left_behind(cache: Path) -> list[str]:
    """Directories in the cache of programs."""
    return [path.name for path in (cache / "guest").glob("*") if path.is_dir()]


def test_a_program_is_static_and_built_once(sources: Path) -> None:
    first = guest_program("init")
    made = first.stat().st_mtime_ns
    assert "statically linked" in subprocess.check_output(["file", first], text=True)
    assert guest_program("init").stat().st_mtime_ns == made


def test_a_changed_source_or_header_is_another_build(sources: Path) -> None:
    first = guest_program("init")
    (sources / "init/init.c").write_text(
        (sources / "init/init.c").read_text() + "\n/* changed */\n"
    )
    second = guest_program("init")
    (sources / "lib/lab.h").write_text((sources / "lib/lab.h").read_text() + "\n/* changed */\n")
    assert len({first, second, guest_program("init")}) == 3


def test_the_same_content_keeps_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one for the same content would build all that the cache has once more."""
    for name in ("lib/lab.c", "lib/lab.h", "lib/child.c", "tools/a.c", "library.a"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"content of {name}\n")
    monkeypatch.setattr(guest_build, "GUEST", tmp_path)
    monkeypatch.setattr(guest_build, "compiler_version", lambda: "gcc 1")
    library = Library(("-I/a/directory", "-lone", "-ltwo"), (tmp_path / "library.a",))
    a, preloaded = Program(("tools/a.c",), defines=("A",)), Program(("tools/a.c",), preload=True)
    assert guest_build._key(a, [library]) == "6d2df44a8c21"
    assert guest_build._key(a, []) == "435fa01d1adb"
    assert guest_build._key(preloaded, []) == "a709159eb1fc"


def test_the_same_library_keeps_its_key(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "VERSION": "1.0",
        "SHA256": "5" * 64,
        "OPTIONS": ("A=1", "B=2"),
        "TRIMMED": (("file", r"^lines\n"),),
        "made": lambda target, _make: target,
    }.items():
        monkeypatch.setattr(wiredtiger, name, value)
    assert wiredtiger.library("gcc 1", print) == cache / "guest" / "wiredtiger-1.0-9c3bab46c41d"


def test_a_library_to_preload_is_shared_and_does_not_depend_on_the_lab(sources: Path) -> None:
    first = guest_program("no_spin")
    assert "shared object" in subprocess.check_output(["file", first], text=True)
    (sources / "lib/lab.h").write_text((sources / "lib/lab.h").read_text() + "\n/* changed */\n")
    assert guest_program("no_spin") == first
    (sources / "tools/no_spin.c").write_text(
        (sources / "tools/no_spin.c").read_text() + "\n/* changed */\n"
    )
    assert guest_program("no_spin") != first


@pytest.mark.parametrize("name", ["init", "memcg_create", "get_scan_leveldb", "no_spin"])
def test_programs_compile_without_a_warning(
    sources: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(guest_build, "CFLAGS", (*guest_build.CFLAGS, "-Werror"))
    assert guest_program(name).is_file()


def test_an_unknown_program_lists_the_known() -> None:
    with pytest.raises(UsageError, match="no guest program 'iint'") as caught:
        guest_program("iint")
    assert "init" in caught.value.next_step


def test_a_broken_source_shows_the_compilers_message(sources: Path, cache: Path) -> None:
    (sources / "init/init.c").write_text("int main(void) { return nothing; }\n")
    with pytest.raises(LabError, match="cannot build the guest program init") as caught:
        guest_program("init")
    assert any("nothing" in line and "undeclared" in line for line in caught.value.log_tail)
    assert caught.value.next_step
    assert left_behind(cache) == []


def test_a_missing_source_is_named(sources: Path) -> None:
    (sources / "init/init.c").unlink()
    with pytest.raises(LabError, match=r"init/init\.c"):
        guest_program("init")


@pytest.mark.usefixtures("no_compiler")
def test_a_missing_compiler_names_the_package(cache: Path) -> None:
    with pytest.raises(LabError, match="/nonexistent/gcc") as caught:
        guest_program("init")
    assert "gcc" in caught.value.next_step
    assert left_behind(cache) == []
    guest_build.compiler_version.cache_clear()


def test_a_missing_library_names_the_packages(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As gcc does, say just the name of a library that it does not find.
    gcc = tmp_path / "gcc"
    gcc.write_text('#!/bin/sh\necho "${1#-print-file-name=}"\n')
    gcc.chmod(0o755)
    monkeypatch.setenv("CC", str(gcc))
    with pytest.raises(LabError, match=r"libleveldb\.a is missing") as caught:
        guest_program("get_scan_leveldb")
    assert "libleveldb-dev" in caught.value.next_step


def test_an_interrupted_build_leaves_nothing(
    sources: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest_build.compiler_version()

    def interrupted(*_args: object, **_options: object) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(process, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            guest_program("init")
    assert left_behind(cache) == []
    assert guest_program("init").is_file()


def test_a_cache_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("MGLRU_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(LabError, match="cannot be written"):
        guest_program("init")


def test_a_failed_download_says_what_to_check(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_NO_INPUT", "1")
    with pytest.raises(LabError, match="cannot download WiredTiger") as caught:
        guest_program("ycsb_wiredtiger")
    assert "network" in caught.value.next_step
    assert left_behind(cache) == []


def test_a_damaged_download_is_not_used(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    downloads = cache / "downloads"
    downloads.mkdir(parents=True)
    (downloads / wiredtiger.ARCHIVE).write_bytes(b"half of it")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(LabError, match="cannot download WiredTiger"):
        guest_program("ycsb_wiredtiger")


def test_another_archive_under_the_same_name_is_refused(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An index of packages whose archive is a valid one, of something else.
    archive = tmp_path / wiredtiger.ARCHIVE
    name = f"wiredtiger-{wiredtiger.VERSION}"
    (tmp_path / name).mkdir()
    (tmp_path / name / "setup.py").write_text(
        f"from setuptools import setup\nsetup(name='wiredtiger', version='{wiredtiger.VERSION}')\n"
    )
    (tmp_path / name / "PKG-INFO").write_text(
        f"Metadata-Version: 1.0\nName: wiredtiger\nVersion: {wiredtiger.VERSION}\n"
    )
    subprocess.run(["tar", "-czf", archive, "-C", tmp_path, name], check=True)
    monkeypatch.setattr(
        wiredtiger,
        "PIP_DOWNLOAD",
        (*wiredtiger.PIP_DOWNLOAD, "--no-index", "--no-build-isolation", "--find-links", tmp_path),
    )
    with pytest.raises(LabError, match=r"not the archive|cannot download"):
        guest_program("ycsb_wiredtiger")
    assert not (cache / "downloads" / wiredtiger.ARCHIVE).exists()
