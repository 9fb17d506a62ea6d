# SPDX-License-Identifier: GPL-2.0-only
from __future__ import annotations

import os
import shutil
import subprocess
from collections import namedtuple
from pathlib import Path

import pytest

from mglru.core.errors import ExitCode, LabError, UsageError
from mglru.debian import archive
from mglru.source import trees as source

URIS = """\
'http://mirror.example/debian/dists/bookworm/InRelease' mirror_InRelease 0
'http://tools.example/apt/dists/nodistro/InRelease' tools_InRelease 0
'http://sec.example/debian-security/dists/bookworm-security/InRelease' sec_InRelease 0
'http://mirror.example/debian/dists/bookworm/main/binary-amd64/Packages.xz' mirror_Packages 0
"""


def ignore(_text: str) -> None:
    pass


def test_mirrors_are_those_of_the_machine() -> None:
    assert archive.parse_mirrors(URIS) == archive.Mirrors(
        "http://mirror.example/debian", "http://sec.example/debian-security"
    )


def test_a_machine_without_a_security_archive_still_has_a_mirror() -> None:
    mirrors = archive.parse_mirrors(URIS.splitlines()[0])
    assert mirrors == archive.Mirrors("http://mirror.example/debian", None)


def test_apt_without_a_debian_archive_is_told_of_the_other_way() -> None:
    with pytest.raises(LabError) as caught:
        archive.parse_mirrors("'http://x.example/dists/nodistro/InRelease' x 0")
    assert "--source" in caught.value.next_step


def test_a_machine_without_apt_is_told_of_the_other_way(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(LabError, match="no apt") as caught:
        source.get_source("6.12", note=ignore)
    assert "--source" in caught.value.next_step


def test_a_full_disk_is_noticed_before_the_download(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage(10, 9, 1))
    with pytest.raises(LabError, match=r"needs 2\.3 GiB") as caught:
        source.get_source("6.12", note=ignore)
    assert "MGLRU_CACHE" in caught.value.next_step
    assert caught.value.exit_code == ExitCode.INFRASTRUCTURE


def test_a_directory_is_copied_and_never_touched(cache: Path, mini_kernel: Path) -> None:
    first = source.import_source(mini_kernel, note=ignore)
    assert (first.base, first.version) == ("6.12", "6.12.99")
    assert first.path.is_relative_to(cache)
    again = source.import_source(mini_kernel, note=ignore)
    assert again == first
    os.utime(mini_kernel / "mm" / "vmscan.c", (1, 1))
    (mini_kernel / "mm" / "vmscan.c").write_text("int changed;\n")
    changed = source.import_source(mini_kernel, note=ignore)
    assert changed.digest != first.digest
    assert (first.path / "mm" / "vmscan.c").read_text() == "int reclaim;\n"


def test_a_tarball_is_unpacked(cache: Path, mini_kernel: Path, tmp_path: Path) -> None:
    tarball = tmp_path / "linux.tar.xz"
    subprocess.run(["tar", "-C", mini_kernel.parent, "-cJf", tarball, mini_kernel.name], check=True)
    assert source.import_source(tarball, note=ignore).version == "6.12.99"


def test_what_is_no_kernel_is_refused_and_leaves_nothing(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    (tmp_path / "file").write_text("not a tarball")
    with pytest.raises(UsageError, match="not a Linux source tree"):
        source.import_source(tmp_path / "dir", note=ignore)
    with pytest.raises(LabError, match="cannot unpack"):
        source.import_source(tmp_path / "file", note=ignore)
    with pytest.raises(UsageError, match="no such file"):
        source.import_source(tmp_path / "nothing", note=ignore)
    left = [path for path in (cache / "sources" / "own").iterdir() if path.suffix != ".lock"]
    assert left == []


def test_a_version_that_the_lab_does_not_know_is_refused(cache: Path, mini_kernel: Path) -> None:
    makefile = mini_kernel / "Makefile"
    makefile.write_text(makefile.read_text().replace("PATCHLEVEL = 12", "PATCHLEVEL = 1"))
    with pytest.raises(UsageError, match=r"Linux 6\.1\.99; the lab knows 6\.12, 7\.3"):
        source.import_source(mini_kernel, note=ignore)
