# SPDX-License-Identifier: GPL-2.0-only
"""Userlands: real apt and dpkg-deb, on an archive of three packages in a directory."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections import namedtuple
from collections.abc import Sequence
from pathlib import Path

import pytest

from mglru.core.errors import ExitCode, LabError, UsageError
from mglru.core.ui import Ui
from mglru.debian import archive as apt
from mglru.debian import userland
from mglru.debian.userland import get_userland
from mglru.experiment.load import load_experiment


def make_deb(archive: Path, name: str, depends: str, files: Sequence[str]) -> str:
    """Make a package whose script must never run, and return its entry in the list."""
    tree = archive / name
    for file in files:
        (tree / file).parent.mkdir(parents=True, exist_ok=True)
        (tree / file).write_text(name)
        (tree / file).chmod(0o4755)
    control = (
        f"Package: {name}\nVersion: 1:2.0~x\nArchitecture: all\n"
        f"Maintainer: nobody <nobody@example.org>\n{depends}Description: {name}\n"
    )
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN" / "control").write_text(control)
    script = tree / "DEBIAN" / "postinst"
    script.write_text(f"#!/bin/sh\ntouch {archive}/ran\n")
    script.chmod(0o755)
    deb = archive / f"{name}.deb"
    subprocess.run(["dpkg-deb", "--build", tree, deb], check=True, stdout=subprocess.DEVNULL)
    digest = hashlib.sha256(deb.read_bytes()).hexdigest()
    size = deb.stat().st_size
    return f"{control}Filename: ./{deb.name}\nSize: {size}\nSHA256: {digest}\n\n"


def make_source(archive: Path, name: str) -> str:
    """Make a source package of one file, and return its entry in the list."""
    tree = archive / f"{name}-1.2"
    tree.mkdir()
    (tree / "main.c").write_text("int main(void) { return 0; }\n")
    tar = archive / f"{name}_1.2.orig.tar.gz"
    subprocess.run(["tar", "-C", archive, "-czf", tar, tree.name], check=True)
    digest = hashlib.sha256(tar.read_bytes()).hexdigest()
    entry = f" {digest} {tar.stat().st_size} {tar.name}\n"
    return (
        f"Package: {name}\nBinary: {name}\nVersion: 1.2-3\nFormat: 3.0 (quilt)\n"
        f"Directory: .\nChecksums-Sha256:\n{entry}\n"
    )


@pytest.fixture
def archive(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive in a directory, in place of Debian's; apt asks for no signature here."""
    home = tmp_path / "archive"
    home.mkdir()
    entries = [
        make_deb(home, "server", "Depends: library\n", ["usr/bin/server", "etc/server.conf"]),
        make_deb(home, "library", "", ["usr/lib/library.so", "bin/helper"]),
        make_deb(home, "broken", "Depends: nowhere\n", ["usr/bin/broken"]),
    ]
    (home / "Packages").write_text("".join(entries))
    (home / "Sources").write_text(make_source(home, "small"))
    options = apt._private_options

    def here(suites: Sequence[str], kind: str = "deb") -> list[str]:
        words = options(suites, kind)
        lists = cache / "apt" / apt._lists_name(suites, kind) / "sources.list"
        lists.write_text(f"{kind} [trusted=yes] copy:{home} ./\n")
        return words

    monkeypatch.setattr(apt, "_private_options", here)
    monkeypatch.setattr(userland, "BASE", ("library",))
    return home


def left_behind(cache: Path) -> list[str]:
    return [path.name for path in (cache / "userlands").glob("*") if path.suffix != ".lock"]


def test_packages_come_with_what_they_need_and_run_no_script(archive: Path, quiet: Ui) -> None:
    tree = get_userland(["server"], quiet)
    assert tree.versions == {"server": "1:2.0~x", "library": "1:2.0~x"}
    assert (tree.root / "usr/bin/server").read_text() == "server"
    assert not (archive / "ran").exists()
    # /bin was a link before a package brought a file there.
    assert (tree.root / "bin").readlink() == Path("usr/bin")
    assert (tree.root / "usr/bin/helper").is_file()
    assert all((tree.root / name).is_dir() for name in userland.MOUNT_POINTS)
    assert "lab:x:1000" in (tree.root / "etc/passwd").read_text()


def test_nothing_in_a_tree_runs_as_its_owner(archive: Path, quiet: Ui) -> None:
    tree = get_userland(["server"], quiet)
    assert (tree.root / "usr/bin/server").stat().st_mode & 0o7777 == 0o755


def test_a_tree_is_made_once_and_said_to_be(
    archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = get_userland(["server"], Ui())
    said = capsys.readouterr().err
    assert "programs of Debian trixie: server" in said
    assert "downloading 2 packages" in said
    shutil.rmtree(archive)
    assert get_userland(["server"], Ui()) == first
    assert capsys.readouterr().err == ""


def test_sources_come_unpacked_and_with_their_version(archive: Path, quiet: Ui) -> None:
    plain = get_userland(["server"], quiet)
    tree = get_userland(["server"], quiet, ["small"])
    assert (tree.root / "usr/src/small/main.c").is_file()
    assert tree.versions == {**plain.versions, "small (source)": "1.2"}
    assert tree.digest != plain.digest
    assert not (plain.root / "usr/src").exists()


def test_an_unknown_source_is_named(archive: Path, cache: Path, quiet: Ui) -> None:
    with pytest.raises(UsageError, match="has no source package none") as caught:
        get_userland(["server"], quiet, ["none"])
    assert "[userland] sources" in caught.value.next_step
    assert left_behind(cache) == []


def test_an_unknown_package_is_named(archive: Path, cache: Path, quiet: Ui) -> None:
    with pytest.raises(UsageError, match="has no package postgresql-99") as caught:
        get_userland(["postgresql-99"], quiet)
    assert "[userland]" in caught.value.next_step
    assert left_behind(cache) == []


def test_a_package_that_cannot_be_had_is_apts_error(archive: Path, cache: Path, quiet: Ui) -> None:
    with pytest.raises(LabError, match="cannot find the packages") as caught:
        get_userland(["broken"], quiet)
    assert any("nowhere" in line for line in caught.value.log_tail)
    assert left_behind(cache) == []


def test_a_changed_package_is_refused(archive: Path, cache: Path, quiet: Ui) -> None:
    (archive / "server.deb").write_bytes(b"x" * (archive / "server.deb").stat().st_size)
    with pytest.raises(LabError, match="cannot fetch packages"):
        get_userland(["server"], quiet)
    assert left_behind(cache) == []


def test_a_full_disk_is_noticed_first(
    archive: Path, quiet: Ui, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage(10, 9, 1))
    with pytest.raises(LabError, match="unpacking these packages needs"):
        get_userland(["server"], quiet)


def test_no_apt_is_said(cache: Path, quiet: Ui, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(LabError, match="no apt") as caught:
        get_userland(["server"], quiet)
    assert caught.value.next_step


def test_no_network_is_apts_error(archive: Path, cache: Path, quiet: Ui) -> None:
    shutil.rmtree(archive)
    with pytest.raises(LabError, match="cannot read the package lists") as caught:
        get_userland(["server"], quiet)
    assert caught.value.exit_code == ExitCode.INFRASTRUCTURE
    assert "network" in caught.value.next_step


@pytest.mark.parametrize("name", ["-o=x", "Upper", "a b", "", "../x"])
def test_a_name_that_is_no_package_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "x.toml").write_text(
        f'summary = "x"\n[[steps]]\nlabel = "x"\nargv = ["x"]\n[userland]\npackages = ["{name}"]\n'
    )
    with pytest.raises(UsageError, match="packages"):
        load_experiment("x", directory=tmp_path)
