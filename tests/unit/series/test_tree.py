# SPDX-License-Identifier: GPL-2.0-only
"""Git trees: the same commits every time, and the same bytes on the way back."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.core import paths
from mglru.core.errors import ExitCode, LabError, UsageError
from mglru.core.git import git, identity
from mglru.series.apply import PatchError
from mglru.series.listing import Series, load_series
from mglru.series.worktree import export_tree, make_tree, reuse_tree
from mglru.source.trees import Source
from support.series_tools import FILES, VMSCAN, Forge, snapshot, write_files

NO_LAB = Series("6.12", ())
LISTING = """\
# SPDX-License-Identifier: GPL-2.0-only

# part 1: lines
# proof: first_symbol
0001-mm-mglru-one.patch
# checkpatch: LONG_LINE a table
0002-mm-mglru-two.patch

# part 2: files
# proof: third_symbol
0003-mm-mglru-three.patch
"""


@pytest.fixture(autouse=True)
def committer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Grace is whom git knows; this repository has no identity of its own."""
    settings = tmp_path / "gitconfig"
    settings.write_text(
        "[user]\n\tname = Grace Hopper\n\temail = grace@example.org\n"
        "[diff]\n\tnoprefix = true\n\talgorithm = patience\n\tcontext = 9\n"
        "[format]\n\tsubjectPrefix = RFC\n\tsignature = me\n\tnumbered = true\n\tthread = true\n"
        "[commit]\n\tgpgSign = true\n[core]\n\tautocrlf = true\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    (tmp_path / "repo").mkdir()
    monkeypatch.setattr(paths, "REPO", tmp_path / "repo")
    return settings


@pytest.fixture
def source(tmp_path: Path) -> Source:
    path = write_files(tmp_path / "source", FILES)
    return Source("6.12", "6.12.99", "linux-source-6.12 6.12.99-1", "digest", path)


@pytest.fixture
def patches(tmp_path: Path) -> Path:
    forge = Forge(tmp_path / "forge")
    forge.replace("mm/mglru: one", "line 10", "größer —")
    forge.replace("mm/mglru: two", "line 40", "forty")
    forge.run("mv", "mm/old.c", "mm/moved.c")
    forge.commit(
        "mm/mglru: three", {"mm/new.c": "new\n"}, "Why.\n\n# not a comment\n\n  $ ./mglru demo"
    )
    directory = forge.export(tmp_path / "patches", LISTING)
    (directory / "cover.md").write_text("# A cover\n\nFrom us.\ndiff of nothing\n--- x\n")
    (directory / "tested.toml").write_text("# nothing\n")
    return directory


def in_tree(tree: Path, *arguments: str | Path) -> str:
    who = identity("Alan Turing", "alan@example.org", "@1800000000 +0000")
    return git(*arguments, cwd=tree, purpose="prepare a test", env=who).strip()


def amend(tree: Path, *options: str) -> None:
    in_tree(tree, "add", "--all")
    in_tree(tree, "commit", "--quiet", "--amend", "--no-edit", *options)


@pytest.fixture
def tree(source: Source, patches: Path, tmp_path: Path) -> Path:
    return make_tree(source, load_series("6.12", patches), NO_LAB, tmp_path / "tree")


def test_commits_of_a_tree(source: Source, patches: Path, tree: Path) -> None:
    log = in_tree(tree, "log", "--format=%s|%an|%cn|%at %ct", "base..HEAD").splitlines()
    assert log == [
        "mm/mglru: three|Ada Lovelace|Grace Hopper|1700000240 1700000240",
        "mm/mglru: two|Ada Lovelace|Grace Hopper|1700000180 1700000180",
        "mm/mglru: one|Ada Lovelace|Grace Hopper|1700000120 1700000120",
    ]
    base = in_tree(tree, "log", "--format=%an|%B", "base").splitlines()
    assert base == [
        "mglru-next|Linux 6.12.99 as Debian ships it",
        "",
        "linux-source-6.12 6.12.99-1",
    ]
    assert in_tree(tree, "branch", "--show-current") == "6.12+next"
    assert in_tree(tree, "status", "--porcelain") == ""
    assert (tree / "mm/moved.c").read_text() == FILES["mm/old.c"]
    assert "größer —" in (tree / "mm/vmscan.c").read_text()
    assert snapshot(source.path) == {name: text.encode() for name, text in FILES.items()}


def test_whole_source_is_in_the_base_commit(tree: Path) -> None:
    in_tree(tree, "checkout", "--quiet", "base")
    expected = {name: text.encode() for name, text in FILES.items()}
    # Debian's .gitignore hides everything: git would not notice a file that a patch adds.
    expected[".gitignore"] = expected[".gitignore"].replace(b"/*\n", b"")
    assert snapshot(tree) == expected
    assert sorted(in_tree(tree, "ls-files").splitlines()) == sorted(FILES)


def test_same_input_same_commits(source: Source, patches: Path, tree: Path) -> None:
    second = make_tree(source, load_series("6.12", patches), NO_LAB, tree.parent / "second")
    assert in_tree(second, "rev-parse", "HEAD") == in_tree(tree, "rev-parse", "HEAD")
    ours = in_tree(tree, "rev-parse", "base")
    (tree.parent / "gitconfig").write_text("[user]\n\tname = Another\n\temail = a@example.org\n")
    third = make_tree(source, None, NO_LAB, tree.parent / "third")
    assert in_tree(third, "rev-parse", "base") == ours


def test_without_an_identity(source: Source, patches: Path, tmp_path: Path) -> None:
    (tmp_path / "gitconfig").write_text("")
    tree = make_tree(source, load_series("6.12", patches), NO_LAB, tmp_path / "tree")
    assert in_tree(tree, "log", "-1", "--format=%an %cn") == "Ada Lovelace mglru-next"


def test_stock_lab_and_start_of_a_series(source: Source, patches: Path, tmp_path: Path) -> None:
    forge = Forge(tmp_path / "forge2")
    forge.replace("lab: a fixed seed", "line 55", "seed")
    lab = load_series("6.12", forge.export(tmp_path / "lab"))
    stock = make_tree(source, None, lab, tmp_path / "stock")
    assert in_tree(stock, "branch", "--show-current") == "6.12"
    assert in_tree(stock, "rev-parse", "HEAD") == in_tree(stock, "rev-parse", "base")
    assert in_tree(stock, "log", "--format=%s", "base..lab") == "lab: a fixed seed"
    two = make_tree(source, load_series("6.12", patches).first(2), lab, tmp_path / "two")
    assert in_tree(two, "branch", "--show-current") == "6.12+next-2"
    assert in_tree(two, "rev-list", "--count", "base..HEAD") == "2"
    assert "line 55" in (two / "mm/vmscan.c").read_text()


def test_own_source_is_not_called_debians(source: Source, tmp_path: Path) -> None:
    (source.path / ".git").mkdir()
    (source.path / ".git" / "config").write_text("damaged")
    own = Source("6.12", "6.12.99", "/home/someone/linux", "digest", source.path)
    tree = make_tree(own, None, NO_LAB, tmp_path / "tree")
    message = in_tree(tree, "log", "-1", "--format=%B")
    assert message == "Linux 6.12.99\n\nFrom a source tree of the user's own."


def test_existing_target(source: Source, tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "work").write_text("precious")
    with pytest.raises(UsageError, match="exists"):
        make_tree(source, None, NO_LAB, tmp_path / "tree")
    assert (tmp_path / "tree" / "work").read_text() == "precious"


def refuse_to_reuse(tree: Path, series: Series, why: str) -> None:
    before = snapshot(tree)
    with pytest.raises(UsageError, match=why) as error:
        reuse_tree(tree, series)
    assert f"{tree} exists" in error.value.what
    assert f"cd {tree}" in error.value.next_step
    assert snapshot(tree) == before


def test_a_tree_that_is_there_is_used_again(patches: Path, tree: Path) -> None:
    series = load_series("6.12", patches)
    said = f"{tree} exists already: 6.12+next on Linux 6.12.99 as Debian ships it"
    assert reuse_tree(tree, series) == said
    write_files(tree, {"mm/new.c": "newer\n"})
    refuse_to_reuse(tree, series, r"uncommitted changes: mm/new\.c")
    amend(tree)
    assert reuse_tree(tree, series) == f"{said}, with commits that are not exported"
    export_tree(tree, "6.12", patches)
    assert reuse_tree(tree, load_series("6.12", patches)) == said
    refuse_to_reuse(tree, series, r"not a tree of 6\.12\+next with the patches as they are here")


def test_a_tree_of_something_else_is_not_used_again(
    source: Source, patches: Path, tree: Path, tmp_path: Path
) -> None:
    series = load_series("6.12", patches)
    refuse_to_reuse(tree, series.first(2), r"not a tree of 6\.12\+next:2")
    refuse_to_reuse(tree, Series("6.12", ()), r"not a tree of 6\.12 ")
    stock = make_tree(source, None, NO_LAB, tmp_path / "stock")
    assert reuse_tree(stock, Series("6.12", ()))
    refuse_to_reuse(stock, Series("7.3", ()), r"not a tree of 7\.3 ")
    (tmp_path / "work").mkdir()
    refuse_to_reuse(tmp_path / "work", series, "not a tree of")


def test_series_that_does_not_apply(source: Source, patches: Path, tmp_path: Path) -> None:
    write_files(source.path, {"mm/vmscan.c": VMSCAN.replace("line 38\n", "another\n")})
    with pytest.raises(PatchError, match=r"0002-mm-mglru-two\.patch does not apply"):
        make_tree(source, load_series("6.12", patches), NO_LAB, tmp_path / "tree")
    assert not list(tmp_path.glob("*tree*"))


# Export


def test_round_trip(patches: Path, tree: Path) -> None:
    before = snapshot(patches)
    assert export_tree(tree, "6.12", patches) == [f"{patches}: nothing to change"]
    assert snapshot(patches) == before


def test_round_trip_through_another_tree(source: Source, patches: Path, tree: Path) -> None:
    """What was exported makes the same tree, which exports the same."""
    write_files(tree, {"mm/vmscan.c": (tree / "mm/vmscan.c").read_text() + "more\n"})
    amend(tree, "-m", "mm/mglru: three, and a bit")
    lines = export_tree(tree, "6.12", patches)
    assert "new subject: mm/mglru: three, and a bit (was: mm/mglru: three)" in lines
    first = snapshot(patches)
    second = make_tree(source, load_series("6.12", patches), NO_LAB, tree.parent / "second")
    assert snapshot(second) == snapshot(tree)
    export_tree(second, "6.12", patches)
    assert snapshot(patches) == first
    assert (patches / "series").read_text() == LISTING.replace(
        "0003-mm-mglru-three.patch", "0003-mm-mglru-three-and-a-bit.patch"
    )


def test_export_of_a_changed_series(patches: Path, tree: Path) -> None:
    """Drop the first, put a new one before the last: comments stay with their patches."""
    in_tree(tree, "checkout", "--quiet", "-B", "work", "base")
    in_tree(tree, "cherry-pick", "6.12+next~1")
    write_files(tree, {"mm/added.c": "added\n"})
    in_tree(tree, "add", "--all")
    in_tree(tree, "commit", "--quiet", "-m", "mm/mglru: added\n\nWhy.")
    in_tree(tree, "cherry-pick", "6.12+next")
    lines = export_tree(tree, "6.12", patches)
    assert lines == [
        f"{patches}: 3 patches, 2 new files, 0 changed, 2 removed",
        "new: mm/mglru: added",
        "removed: mm/mglru: one, with its comment # proof: first_symbol",
    ]
    assert (patches / "series").read_text() == (
        "# SPDX-License-Identifier: GPL-2.0-only\n\n"
        "# part 1: lines\n"
        "# checkpatch: LONG_LINE a table\n0001-mm-mglru-two.patch\n"
        "0002-mm-mglru-added.patch\n\n"
        "# part 2: files\n# proof: third_symbol\n0003-mm-mglru-three.patch\n"
    )
    assert load_series("6.12", patches).names == tuple(
        sorted(path.name for path in patches.glob("*.patch"))
    )
    assert (patches / "cover.md").exists()
    assert (patches / "tested.toml").exists()
    assert not [path for path in patches.parent.iterdir() if path.name.startswith(".")]


def in_folders(patches: Path) -> str:
    """Put the patches into a folder for each part, with a cover letter, and return the list."""
    listing = LISTING.replace("0001", "part1/0001").replace("0002", "part1/0002")
    listing = listing.replace("0003", "part2/0003")
    for path in sorted(patches.glob("*.patch")):
        folder = patches / ("part2" if path.name.startswith("0003") else "part1")
        folder.mkdir(exist_ok=True)
        path.rename(folder / path.name)
        (folder / "cover.md").write_text(f"# The letter of {folder.name}\n")
    (patches / "series").write_text(listing)
    return listing


def test_export_into_the_folders_of_the_parts(patches: Path, tree: Path) -> None:
    listing = in_folders(patches)
    before = snapshot(patches)
    assert export_tree(tree, "6.12", patches) == [f"{patches}: nothing to change"]
    assert snapshot(patches) == before

    in_tree(tree, "checkout", "--quiet", "-B", "work", "6.12+next~1")
    write_files(tree, {"mm/added.c": "added\n"})
    in_tree(tree, "add", "--all")
    in_tree(tree, "commit", "--quiet", "-m", "mm/mglru: added\n\nWhy.")
    in_tree(tree, "cherry-pick", "6.12+next")
    assert export_tree(tree, "6.12", patches) == [
        f"{patches}: 4 patches, 2 new files, 0 changed, 1 removed",
        "new: mm/mglru: added",
    ]
    expected = listing.replace("two.patch\n", "two.patch\npart1/0003-mm-mglru-added.patch\n")
    assert (patches / "series").read_text() == expected.replace("2/0003", "2/0004")
    assert sorted(str(path.relative_to(patches)) for path in patches.rglob("*.*")) == [
        "cover.md",
        "part1/0001-mm-mglru-one.patch",
        "part1/0002-mm-mglru-two.patch",
        "part1/0003-mm-mglru-added.patch",
        "part1/cover.md",
        "part2/0004-mm-mglru-three.patch",
        "part2/cover.md",
        "tested.toml",
    ]
    assert load_series("6.12", patches).patches[2].part == "part 1: lines"


def test_mbox_has_the_letters_of_the_parts(patches: Path, tree: Path, tmp_path: Path) -> None:
    in_folders(patches)
    export_tree(tree, "6.12", patches, tmp_path / "series.mbox")
    text = (tmp_path / "series.mbox").read_text()
    places = [text.index(f"# {title}") for title in ("A cover", "The letter of part1")]
    assert places == sorted(places) < [text.index("# The letter of part2")]


def test_first_export(source: Source, tmp_path: Path) -> None:
    tree = make_tree(source, None, NO_LAB, tmp_path / "tree")
    write_files(tree, {"mm/added.c": "added\n"})
    in_tree(tree, "add", "--all")
    in_tree(tree, "commit", "--quiet", "-m", "mm/mglru: added\n\nWhy.")
    export_tree(tree, "6.12", tmp_path / "new" / "6.12")
    assert load_series("6.12", tmp_path / "new" / "6.12").names == ("0001-mm-mglru-added.patch",)


def refuse(tree: Path, patches: Path, why: str, base: str = "6.12") -> None:
    before = snapshot(patches)
    with pytest.raises(UsageError, match=why) as error:
        export_tree(tree, base, patches)
    assert error.value.exit_code == ExitCode.USAGE
    assert error.value.next_step
    assert snapshot(patches) == before
    assert not [path for path in patches.parent.iterdir() if path.name.startswith(".")]


def test_refuses_uncommitted_changes(patches: Path, tree: Path) -> None:
    (tree / "mm/vmscan.c").write_text("changed\n")
    refuse(tree, patches, r"uncommitted changes: mm/vmscan\.c")
    in_tree(tree, "add", "--all")
    refuse(tree, patches, r"uncommitted changes: mm/vmscan\.c")
    in_tree(tree, "reset", "--quiet", "--hard")
    (tree / "mm/new_and_forgotten.c").write_text("x\n")
    refuse(tree, patches, r"uncommitted changes: mm/new_and_forgotten\.c")
    (tree / "mm/new_and_forgotten.c").rename(tree / "mm/built.o")
    assert export_tree(tree, "6.12", patches)


def test_refuses_a_merge(patches: Path, tree: Path) -> None:
    in_tree(tree, "checkout", "--quiet", "-b", "side", "HEAD~1")
    write_files(tree, {"mm/side.c": "x\n"})
    in_tree(tree, "add", "--all")
    in_tree(tree, "commit", "--quiet", "-m", "mm: side")
    in_tree(tree, "merge", "--quiet", "--no-edit", "6.12+next")
    refuse(tree, patches, "has a merge")


def test_refuses_an_unfinished_rebase(patches: Path, tree: Path) -> None:
    git(
        *("-c", "sequence.editor=sed -i 1s/^pick/edit/", "rebase", "-i", "base"),
        cwd=tree,
        purpose="stop in a rebase",
        env=identity("Alan Turing", "alan@example.org", "@1800000000 +0000"),
    )
    refuse(tree, patches, "in the middle of a rebase")


@pytest.mark.parametrize("subject", ["fixup! mm/mglru: one", "squash! mm/mglru: one"])
def test_refuses_what_is_not_squashed(patches: Path, tree: Path, subject: str) -> None:
    in_tree(tree, "commit", "--quiet", "--allow-empty", "-m", subject)
    refuse(tree, patches, "is empty")
    write_files(tree, {"mm/new.c": "newer\n"})
    amend(tree)
    refuse(tree, patches, "is not squashed")


def test_refuses_nothing_and_strangers(
    source: Source, patches: Path, tree: Path, tmp_path: Path
) -> None:
    in_tree(tree, "checkout", "--quiet", "-B", "work", "base")
    refuse(tree, patches, "no commit on top of base")
    in_tree(tree, "checkout", "--quiet", "6.12+next")
    refuse(tree, patches, r"a tree of Linux 6\.12\.99, not 7\.3", base="7.3")
    refuse(source.path, patches, "is not a tree of the lab")
    refuse(tmp_path / "absent", patches, "is not a tree of the lab")
    in_tree(tree, "tag", "--force", "base", "6.12+next")
    in_tree(tree, "checkout", "--quiet", "-B", "work", "6.12+next~1")
    refuse(tree, patches, "is not below HEAD")


def test_refuses_to_lose_the_rest_of_the_series(
    source: Source, patches: Path, tmp_path: Path
) -> None:
    tree = make_tree(source, load_series("6.12", patches).first(1), NO_LAB, tmp_path / "one")
    refuse(tree, patches, "would lose 2 of them, the first: mm/mglru: two")
    in_tree(tree, "am", "--quiet", *sorted(patches.glob("000[23]*")))
    assert export_tree(tree, "6.12", patches) == [f"{patches}: nothing to change"]


@pytest.mark.parametrize("line", ["---", "diff --git a/x b/x", "Index: x"])
def test_refuses_a_message_that_git_am_would_cut(patches: Path, tree: Path, line: str) -> None:
    in_tree(tree, "commit", "--quiet", "--amend", "-m", f"mm: x\n\nBefore.\n{line}\nAfter.")
    refuse(tree, patches, r"would be cut off after the line 'Before\.'")


def test_damaged_listing_leaves_all_as_it_was(patches: Path, tree: Path) -> None:
    (patches / "series").write_text("# proof: x\n\n0001-mm-mglru-one.patch\n")
    before = snapshot(patches)
    with pytest.raises(LabError, match="does not stand directly above"):
        export_tree(tree, "6.12", patches)
    assert snapshot(patches) == before


def test_settings_of_the_tree_do_not_matter(patches: Path, tree: Path) -> None:
    for name, value in {
        "diff.noprefix": "true",
        "diff.mnemonicPrefix": "true",
        "diff.context": "8",
        "diff.renames": "false",
        "diff.algorithm": "histogram",
        "diff.orderFile": "/absent",
        "format.subjectPrefix": "RFC",
        "format.suffix": ".txt",
        "format.coverLetter": "true",
        "format.numbered": "true",
        "format.attach": "true",
        "format.signOff": "true",
        "format.signature": "me",
        "format.thread": "true",
        "format.to": "someone",
        "format.headers": "X-Mine: x",
        "format.from": "true",
        "format.useAutoBase": "true",
        "format.outputDirectory": "elsewhere",
        "format.filenameMaxLength": "12",
        "format.noprefix": "true",
        "format.notes": "true",
        "core.abbrev": "5",
        "color.ui": "always",
        "status.showUntrackedFiles": "no",
    }.items():
        in_tree(tree, "config", name, value)
    assert export_tree(tree, "6.12", patches) == [f"{patches}: nothing to change"]
    (tree / "mm/forgotten.c").write_text("x\n")
    refuse(tree, patches, r"uncommitted changes: mm/forgotten\.c")


def test_mbox(source: Source, patches: Path, tree: Path, tmp_path: Path) -> None:
    before = snapshot(patches)
    mbox = tmp_path / "series.mbox"
    assert export_tree(tree, "6.12", patches, mbox) == [f"{mbox}: 3 patches for `git am`"]
    assert snapshot(patches) == before
    text = mbox.read_text()
    assert text.count("\nSubject: [PATCH ") == 3
    assert "Subject: [PATCH 1/3] mm/mglru: one" in text
    assert "\n---\nBase: Linux 6.12.99 as Debian ships it - linux-source-6.12 6.12.99-1\n" in text
    assert "# A cover" in text
    assert f"base-commit: {in_tree(tree, 'rev-parse', 'base')}" in text

    plain = make_tree(source, None, NO_LAB, tmp_path / "plain")
    in_tree(plain, "am", "--quiet", "--committer-date-is-author-date", mbox)
    assert in_tree(plain, "rev-parse", "HEAD^{tree}") == in_tree(tree, "rev-parse", "HEAD^{tree}")
    message = in_tree(plain, "log", "--reverse", "--format=%B", "base..HEAD")
    assert message == in_tree(tree, "log", "--reverse", "--format=%B", "base..HEAD")


def test_mbox_of_a_start_without_a_cover(source: Source, patches: Path, tmp_path: Path) -> None:
    tree = make_tree(source, load_series("6.12", patches).first(1), NO_LAB, tmp_path / "one")
    (patches / "cover.md").unlink()
    lines = export_tree(tree, "6.12", patches, tmp_path / "one.mbox")
    assert lines[0] == f"{tmp_path / 'one.mbox'}: 1 patches for `git am`"
    assert "no cover letter" in lines[1]


def test_mbox_that_cannot_be_written(patches: Path, tree: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a directory"):
        export_tree(tree, "6.12", patches, tmp_path / "absent" / "x.mbox")
    with pytest.raises(UsageError, match="cannot be written"):
        export_tree(tree, "6.12", patches, patches)
