# SPDX-License-Identifier: GPL-2.0-only
"""`kernel tree`, `kernel export` and `series check` as commands, on a small kernel and series."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.core import paths
from mglru.core.errors import ExitCode
from mglru.core.git import git, identity
from support.command_line import run
from support.series_tools import CHECKPATCH, FILES, Forge, snapshot, write_files

SECOND = "0002-mm-mglru-two.patch"
LISTING = f"""\
# part 1: lines
0001-mm-mglru-one.patch
{SECOND}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_files(tmp_path / "source", {**FILES, "scripts/checkpatch.pl": CHECKPATCH})


@pytest.fixture
def patches(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The series of 6.12, where the commands look for it."""
    settings = tmp_path / "gitconfig"
    settings.write_text("[user]\n\tname = Grace Hopper\n\temail = grace@example.org\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    (tmp_path / "repo").mkdir()
    monkeypatch.setattr(paths, "REPO", tmp_path / "repo")
    monkeypatch.setattr(paths, "PATCHES", tmp_path / "patches")
    forge = Forge(tmp_path / "forge")
    forge.replace("mm/mglru: one", "line 10", "ten")
    forge.replace("mm/mglru: two", "line 40", "forty")
    return forge.export(tmp_path / "patches" / "6.12", LISTING)


def amend(tree: Path, name: str, text: str) -> None:
    write_files(tree, {name: (tree / name).read_text() + text})
    who = identity("Alan Turing", "alan@example.org", "@1800000000 +0000")
    for arguments in (("add", "--all"), ("commit", "--quiet", "--amend", "--no-edit")):
        git(*arguments, cwd=tree, purpose="prepare a test", env=who)


def test_a_change_goes_from_the_tree_to_the_series(
    source: Path, patches: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _err = run(capsys, "kernel", "tree", "6.12+next", "--source", str(source))
    assert code == ExitCode.OK
    tree = Path(out.strip())
    assert tree == paths.cache_dir("git") / "6.12+next"
    assert "ten\n" in (tree / "mm/vmscan.c").read_text()

    code, again, err = run(capsys, "kernel", "tree", "6.12+next")
    assert (code, again) == (ExitCode.OK, out)
    assert f"{tree} exists already" in err

    before = snapshot(patches)
    code, out, _err = run(capsys, "kernel", "export", "6.12+next")
    assert (code, out) == (ExitCode.OK, f"{patches}: nothing to change\n")
    assert snapshot(patches) == before

    amend(tree, "mm/vmscan.c", "more\n")
    code, out, _err = run(capsys, "kernel", "export", "6.12+next")
    assert code == ExitCode.OK
    assert "2 patches, 0 new files, 1 changed, 0 removed" in out
    after = snapshot(patches)
    assert {name for name in after if after[name] != before[name]} == {SECOND}
    assert b"+more\n" in after[SECOND]


def test_a_tree_is_not_overwritten_and_one_that_is_not_there_not_exported(
    source: Path, patches: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _out, err = run(capsys, "kernel", "export", "6.12+next")
    assert code == ExitCode.USAGE
    assert "./mglru kernel tree 6.12+next" in err
    into = ("--into", str(tmp_path / "tree"))
    stock = ("kernel", "tree", "6.12", "--source", str(source), *into)
    assert run(capsys, *stock)[0] == ExitCode.OK
    code, _out, err = run(capsys, *stock)
    assert code == ExitCode.USAGE
    assert f"{tmp_path / 'tree'} exists" in err
    code, _out, err = run(capsys, "kernel", "export", "7.3", "--from", str(tmp_path / "tree"))
    assert code == ExitCode.USAGE
    assert "there is no series for 7.3" in err


def test_export_as_one_file(
    source: Path, patches: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = tmp_path / "tree"
    words = ("kernel", "tree", "6.12+next", "--source", str(source), "--into", str(tree))
    assert run(capsys, *words)[0] == ExitCode.OK
    before, mbox = snapshot(patches), tmp_path / "all.mbox"
    words = ("kernel", "export", "6.12+next", "--from", str(tree), "--mbox", str(mbox))
    assert run(capsys, *words)[0] == ExitCode.OK
    assert mbox.read_text().count("\nSubject: [PATCH") == 2
    assert snapshot(patches) == before


def check(capsys: pytest.CaptureFixture[str], source: Path) -> tuple[int, str]:
    words = ("series", "check", "6.12", "--no-build", "--source", str(source))
    code, _out, err = run(capsys, *words)
    return code, err


def test_a_series_that_is_fit(
    source: Path, patches: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = check(capsys, source)
    assert code == ExitCode.OK
    assert f"passed     apply       {SECOND}" in said
    assert "the series for 6.12 on Linux 6.12.99: 6 checks, 0 not passed" in said


def test_a_patch_that_does_not_apply_fails_the_check(
    source: Path, patches: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (patches / SECOND).read_text().replace("-line 40", "-line 41")
    (patches / SECOND).write_text(text)
    code, said = check(capsys, source)
    assert code == ExitCode.EXPECTATION_FAILED
    assert f"FAILED     apply       {SECOND}" in said
    assert f"passed     apply       {LISTING.splitlines()[1]}" in said
