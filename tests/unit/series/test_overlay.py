# SPDX-License-Identifier: GPL-2.0-only
"""Overlays: zero fuzz, all or nothing, and a pristine source that nothing can reach."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mglru.core.errors import LabError
from mglru.series import patched_tree
from mglru.series.apply import PatchError
from mglru.series.listing import Patch, load_series
from mglru.series.overlay import Overlay, link_tree, make_overlay, sync_overlay
from mglru.source.trees import Source
from support.series_tools import FILES, VMSCAN, Forge, snapshot, write_files

Commit = tuple[str, str, str]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_files(tmp_path / "source", FILES)


@pytest.fixture
def forge(tmp_path: Path) -> Forge:
    return Forge(tmp_path / "forge")


def patches_of(forge: Forge) -> tuple[Patch, ...]:
    return load_series("6.12", forge.export(forge.root.parent / "patches")).patches


def changed_vmscan(change: Callable[[list[str]], object]) -> str:
    lines = VMSCAN.splitlines(keepends=True)
    change(lines)
    return "".join(lines)


def refused(source: Path, patches: tuple[Patch, ...], **options: object) -> PatchError:
    """Apply, expect a refusal, and make sure that nothing came of it."""
    into = source.parent / "overlay"
    before = snapshot(source)
    with pytest.raises(PatchError) as error:
        make_overlay(source, patches, into, **options)  # type: ignore[arg-type]
    assert not into.exists()
    assert not [path for path in source.parent.iterdir() if path.name.startswith(".")]
    assert snapshot(source) == before
    assert error.value.next_step
    return error.value


def test_only_touched_files_are_in_the_overlay(source: Path, forge: Forge, tmp_path: Path) -> None:
    forge.replace("mm: a", "line 10", "ten")
    forge.replace("mm: b", "ten", "TEN")
    forge.replace("mm: c", "field 10", "ten", file="include/linux/mmzone.h")
    forge.replace("mm: d", "ten", "field 10", file="include/linux/mmzone.h")
    before = snapshot(source)
    overlay = make_overlay(source, patches_of(forge), tmp_path / "overlay")
    assert overlay == Overlay(tmp_path / "overlay", changed=("mm/vmscan.c",), deleted=())
    assert snapshot(overlay.root) == {"mm/vmscan.c": VMSCAN.replace("line 10\n", "TEN\n").encode()}
    assert snapshot(source) == before


def test_every_kind_of_change(source: Path, forge: Forge, tmp_path: Path) -> None:
    forge.run("mv", "mm/old.c", "mm/moved.c")
    forge.commit("mm: rename", {})
    (forge.root / "mm/vmscan.c").chmod(0o755)
    forge.commit("mm: mode", {"mm/empty.h": None, "mm/dir/new.h": "", "mm/tool.sh": "exit 1\n"})
    (forge.root / "mm/binary").write_bytes(bytes(range(256)))
    forge.commit("mm: binary, without an end of line", {"mm/end.h": "no newline"})
    overlay = make_overlay(source, patches_of(forge), tmp_path / "overlay")
    assert overlay.deleted == ("mm/empty.h", "mm/old.c")
    assert overlay.changed == (
        *("mm/binary", "mm/dir/new.h", "mm/end.h", "mm/moved.c", "mm/tool.sh", "mm/vmscan.c"),
    )
    assert (overlay.root / "mm/binary").read_bytes() == bytes(range(256))
    assert (overlay.root / "mm/end.h").read_text() == "no newline"
    assert os.access(overlay.root / "mm/vmscan.c", os.X_OK)


def test_no_patches(source: Path, tmp_path: Path) -> None:
    (tmp_path / "overlay").mkdir()
    overlay = make_overlay(source, (), tmp_path / "overlay")
    assert (overlay.changed, overlay.deleted) == ((), ())
    assert overlay.root.is_dir()


def test_into_a_directory_with_files(source: Path) -> None:
    with pytest.raises(LabError, match="is not empty"):
        make_overlay(source, (), source)
    assert (source / "Makefile").exists()


def test_other_lines_are_accepted_and_reported(source: Path, forge: Forge, tmp_path: Path) -> None:
    forge.replace("mm: a", "line 10", "ten")
    forge.replace("mm: b", "line 40", "forty")
    (source / "mm/vmscan.c").write_text("new\nnew\n" + VMSCAN)
    overlay = make_overlay(source, patches_of(forge), tmp_path / "overlay")
    assert overlay.offsets == (
        "0001-mm-a.patch: mm/vmscan.c, hunk 1: at line 9, offset 2 lines",
        "0002-mm-b.patch: mm/vmscan.c, hunk 1: at line 39, offset 2 lines",
    )
    assert len(overlay.notes) == 1
    assert "2 hunks of 2 patches" in overlay.notes[0]
    assert "new\nnew\n" in (overlay.root / "mm/vmscan.c").read_text()


@pytest.mark.parametrize("own", [True, False])
def test_other_lines_are_told_of_a_source_of_the_users_only(
    source: Path,
    forge: Forge,
    tmp_path: Path,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    own: bool,
) -> None:
    forge.replace("mm: a", "line 10", "ten")
    (source / "mm/vmscan.c").write_text("new\nnew\n" + VMSCAN)
    mine = Source("6.12", "6.12.99", "here", "d" * 64, source)
    monkeypatch.setattr(patched_tree, "cached", lambda _base: mine if own else None)
    said: list[str] = []
    patched_tree.follow_series(tmp_path / "tree", mine, patches_of(forge), note=said.append)
    assert "ten\n" in (tmp_path / "tree" / "mm/vmscan.c").read_text()
    assert len(said) == (0 if own else 1)
    assert own or said[0].startswith("1 hunk of 0001-mm-a.patch found at other lines")


def test_fuzz_is_refused(source: Path, forge: Forge) -> None:
    forge.replace("mm: a", "line 10", "ten")
    forge.commit(
        "mm: b",
        {
            "mm/vmscan.c": (forge.root / "mm/vmscan.c")
            .read_text()
            .replace("line 20\n", "20\n")
            .replace("line 40\n", "40\n")
        },
    )
    # patch(1) would take this with a fuzz of 1: a line of context, three away from the change.
    (source / "mm/vmscan.c").write_text(VMSCAN.replace("line 37\n", "another\n"))
    error = refused(source, patches_of(forge))
    assert error.patch.name == "0002-mm-b.patch"
    assert [(hunk.file, hunk.number, hunk.count) for hunk in error.hunks] == [("mm/vmscan.c", 2, 2)]
    assert error.hunks[0].header == "@@ -37,7 +37,7 @@ line 36"
    assert not error.already_applied
    text = error.render()
    assert "0002-mm-b.patch does not apply to Linux 6.12.99: mm/vmscan.c, hunk 2 of 2" in text
    assert "@@ -37,7 +37,7 @@" in text
    assert "docs/series/patches.md" in text


def test_whitespace_is_context_too(
    source: Path, forge: Forge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "gitconfig"
    settings.write_text("[apply]\n\tignoreWhitespace = change\n\twhitespace = fix\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    forge.replace("mm: a", "line 10", "ten  ")
    patches = patches_of(forge)
    overlay = make_overlay(source, patches, tmp_path / "first")
    assert "ten  \n" in (overlay.root / "mm/vmscan.c").read_text()
    (source / "mm/vmscan.c").write_text(VMSCAN.replace("line 9\n", "line  9\n"))
    refused(source, patches)


def test_all_bad_hunks_are_listed(source: Path, forge: Forge) -> None:
    text = VMSCAN.replace("line 10\n", "10\n").replace("line 30\n", "30\n")
    forge.commit("mm: a", {"mm/vmscan.c": text.replace("line 50\n", "50\n"), "mm/old.c": None})
    (source / "mm/vmscan.c").write_text(text.replace("line 10\n", "ten\n").replace("30\n", "3\n"))
    (source / "mm/old.c").unlink()
    error = refused(source, patches_of(forge))
    assert [str(hunk).partition(" (")[0] for hunk in error.hunks] == [
        "mm/old.c: the source has no file mm/old.c",
        "mm/vmscan.c, hunk 1 of 3",
        "mm/vmscan.c, hunk 2 of 3",
    ]
    assert "(and 2 more)" in error.what


def test_second_patch_fails_and_nothing_is_left(source: Path, forge: Forge) -> None:
    forge.replace("mm: a", "field 10", "ten", file="include/linux/mmzone.h")
    forge.replace("mm: b", "line 10", "ten")
    (source / "mm/vmscan.c").write_text("another file\n")
    error = refused(source, patches_of(forge))
    assert error.patch.number == 2


def test_already_applied(source: Path, forge: Forge) -> None:
    forge.replace("mm: a", "line 10", "ten")
    (source / "mm/vmscan.c").write_text("\n" + VMSCAN.replace("line 10\n", "ten\n"))
    error = refused(source, patches_of(forge))
    assert error.already_applied
    assert "0001-mm-a.patch: this change is already in Linux 6.12.99" in error.what


def test_partly_applied(source: Path, forge: Forge) -> None:
    half = VMSCAN.replace("line 10\n", "ten\n")
    forge.commit("mm: a", {"mm/vmscan.c": half.replace("line 40\n", "forty\n")})
    (source / "mm/vmscan.c").write_text(half)
    error = refused(source, patches_of(forge))
    assert not error.already_applied
    assert [hunk.number for hunk in error.hunks] == [1]
    assert error.hunks[0].reason == "this hunk's change is already in the source"


def test_missing_and_existing_files(source: Path, forge: Forge) -> None:
    forge.replace("mm: a", "line 10", "ten")
    patches = patches_of(forge)
    (source / "mm/vmscan.c").unlink()
    error = refused(source, patches)
    assert "the source has no file mm/vmscan.c" in error.what

    forge.commit("mm: b", {"mm/new.c": "ours\n"})
    write_files(source, {**FILES, "mm/new.c": "theirs\n"})
    error = refused(source, patches_of(forge))
    assert "mm/new.c: the patch adds this file, but the source has it already" in error.what


def test_behind_a_symbolic_link(source: Path, forge: Forge, tmp_path: Path) -> None:
    forge.replace("mm: a", "field 10", "ten", file="include/linux/mmzone.h")
    (source / "include").rename(tmp_path / "elsewhere")
    (source / "include").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LabError, match="behind a symbolic link"):
        make_overlay(source, patches_of(forge), tmp_path / "overlay")


def test_patch_changed_after_it_was_read(source: Path, forge: Forge, tmp_path: Path) -> None:
    forge.replace("mm: a", "line 10", "ten")
    patches = patches_of(forge)
    patches[0].path.write_bytes(patches[0].content.replace(b"+ten", b"+TEN"))
    with pytest.raises(LabError, match="was changed while it was being used"):
        make_overlay(source, patches, tmp_path / "overlay")


def test_inside_of_a_repository_and_under_a_hook(
    source: Path, forge: Forge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`git apply` below a repository's top would skip the patch and say that all is well."""
    forge.replace("mm: a", "line 10", "ten")
    patches = patches_of(forge)
    inside = forge.root / "build" / "overlay"
    assert make_overlay(source, patches, inside).changed == ("mm/vmscan.c",)
    monkeypatch.setenv("GIT_DIR", str(forge.root / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(forge.root / ".git" / "index"))
    assert make_overlay(source, patches, tmp_path / "overlay").changed == ("mm/vmscan.c",)


# Three-way merges


def test_three_way_carries_a_series_over(source: Path, forge: Forge, tmp_path: Path) -> None:
    """The second patch builds on the first; a point release has changed their context."""
    ancestor = write_files(tmp_path / "ancestor", FILES)
    forge.replace("mm: a", "line 10", "ten")
    forge.replace("mm: b", "ten", "TEN")
    forge.commit("mm: c", {"mm/new.c": "new\n", "mm/old.c": None})
    (source / "mm/vmscan.c").write_text(VMSCAN.replace("line 7\n", "seven\n"))
    patches = patches_of(forge)
    refused(source, patches)
    overlay = make_overlay(source, patches, tmp_path / "o", three_way=True, ancestor=ancestor)
    merged = VMSCAN.replace("line 7\n", "seven\n").replace("line 10\n", "TEN\n")
    assert snapshot(overlay.root) == {"mm/vmscan.c": merged.encode(), "mm/new.c": b"new\n"}
    assert overlay.deleted == ("mm/old.c",)
    assert overlay.notes == (
        "0001-mm-a.patch: merged three-way into Linux 6.12.99",
        "0002-mm-b.patch: merged three-way into Linux 6.12.99",
    )


def test_three_way_sees_what_went_upstream(source: Path, forge: Forge, tmp_path: Path) -> None:
    ancestor = write_files(tmp_path / "ancestor", FILES)
    forge.replace("mm: a", "line 10", "ten")
    forge.replace("mm: b", "line 40", "forty")
    (source / "mm/vmscan.c").write_text(VMSCAN.replace("line 10\n", "ten\n"))
    overlay = make_overlay(
        source, patches_of(forge), tmp_path / "o", three_way=True, ancestor=ancestor
    )
    assert overlay.notes == ("0001-mm-a.patch: its change is already in Linux 6.12.99",)
    assert "ten\n" in (overlay.root / "mm/vmscan.c").read_text()


def test_three_way_conflict(source: Path, forge: Forge, tmp_path: Path) -> None:
    ancestor = write_files(tmp_path / "ancestor", FILES)
    forge.replace("mm: a", "line 40", "forty")
    forge.replace("mm: b", "line 10", "ten")
    (source / "mm/vmscan.c").write_text(VMSCAN.replace("line 10\n", "another\n"))
    error = refused(source, patches_of(forge), three_way=True, ancestor=ancestor)
    assert error.patch.name == "0002-mm-b.patch"
    assert [(hunk.file, hunk.number) for hunk in error.hunks] == [("mm/vmscan.c", 1)]
    assert "line 10 of the merged file" in str(error.hunks[0])


def test_three_way_conflict_over_a_removed_file(source: Path, forge: Forge, tmp_path: Path) -> None:
    ancestor = write_files(tmp_path / "ancestor", FILES)
    forge.replace("mm: a", "line 10", "ten")
    (source / "mm/vmscan.c").unlink()
    error = refused(source, patches_of(forge), three_way=True, ancestor=ancestor)
    assert error.hunks[0].file == "mm/vmscan.c"
    assert error.hunks[0].number == 0


def test_three_way_without_an_ancestor(source: Path, forge: Forge) -> None:
    forge.replace("mm: a", "line 10", "ten")
    (source / "mm/vmscan.c").write_text(VMSCAN.replace("line 7\n", "seven\n"))
    patches = patches_of(forge)
    for ancestor in (None, source):
        error = refused(source, patches, three_way=True, ancestor=ancestor)
        assert "not at hand" in error.next_step


def test_three_way_with_the_wrong_ancestor(source: Path, forge: Forge, tmp_path: Path) -> None:
    wrong = write_files(tmp_path / "wrong", {**FILES, "mm/vmscan.c": "nothing of it\n"})
    forge.replace("mm: a", "line 10", "ten")
    (source / "mm/vmscan.c").write_text(VMSCAN.replace("line 7\n", "seven\n"))
    error = refused(source, patches_of(forge), three_way=True, ancestor=wrong)
    assert "the source that the series was made for" in error.what


# Build trees


def states(root: Path) -> dict[str, tuple[int, int, int]]:
    """Inode, size and time of every file: what changes when somebody writes through a link."""
    found = {}
    for path in root.rglob("*"):
        if path.is_file():
            status = path.stat()
            found[str(path.relative_to(root))] = (
                *(status.st_ino, status.st_size, status.st_mtime_ns),
            )
    return found


def age(root: Path) -> None:
    """Set every file's time back, so that a new file shows."""
    for path in root.rglob("*"):
        os.utime(path, (1_600_000_000, 1_600_000_000))


@pytest.fixture
def tree(source: Path, tmp_path: Path) -> Path:
    age(source)
    link_tree(source, tmp_path / "tree")
    return tmp_path / "tree"


def test_link_tree_shares_files(source: Path, tree: Path) -> None:
    assert snapshot(tree) == snapshot(source)
    assert states(tree) == states(source)
    (source / ".git").mkdir()
    link_tree(source, tree.parent / "second")
    assert not (tree.parent / "second" / ".git").exists()


def test_pristine_source_is_never_reached(source: Path, tree: Path, forge: Forge) -> None:
    content, before = snapshot(source), states(source)
    forge.replace("mm: a", "line 10", "ten")
    forge.commit("mm: b", {"mm/old.c": None, "mm/new/deep.h": "new\n", "mm/tool.sh": "exit 1\n"})
    overlay = make_overlay(source, patches_of(forge), tree.parent / "o1")
    replaced = sync_overlay(overlay, source, tree, ())
    assert replaced == ("mm/new/deep.h", "mm/old.c", "mm/tool.sh", "mm/vmscan.c")
    expected = {**content, **snapshot(overlay.root)}
    del expected["mm/old.c"]
    assert snapshot(tree) == expected
    assert snapshot(source) == content
    assert states(source) == before

    stock = make_overlay(source, (), tree.parent / "o2")
    assert sync_overlay(stock, source, tree, replaced) == replaced
    assert snapshot(tree) == content
    assert not (tree / "mm/new").exists()
    assert os.access(tree / "mm/tool.sh", os.X_OK)
    # Writing into the restored file must not reach the source either.
    (tree / "mm/vmscan.c").write_text("edited in the build tree\n")
    assert snapshot(source) == content
    assert states(source) == before


def test_only_what_differs_gets_a_new_time(source: Path, tree: Path, forge: Forge) -> None:
    forge.replace("mm: a", "line 10", "ten")
    forge.replace("mm: b", "field 10", "ten", file="include/linux/mmzone.h")
    first = make_overlay(source, patches_of(forge), tree.parent / "o1")
    assert sync_overlay(first, source, tree, ()) == ("include/linux/mmzone.h", "mm/vmscan.c")
    age(tree)
    before = states(tree)
    assert sync_overlay(first, source, tree, first.changed) == ()
    assert states(tree) == before

    forge.replace("mm: c", "line 40", "forty")
    second = make_overlay(source, patches_of(forge), tree.parent / "o2")
    assert sync_overlay(second, source, tree, first.changed) == ("mm/vmscan.c",)
    after = states(tree)
    assert after.pop("mm/vmscan.c")[2] > before.pop("mm/vmscan.c")[2]
    assert after == before

    # Going back to the source's content is a change for make: the time must be new as well.
    age(tree)
    stock = make_overlay(source, (), tree.parent / "o3")
    sync_overlay(stock, source, tree, second.changed)
    assert (tree / "mm/vmscan.c").stat().st_mtime > 1_700_000_000
    assert (source / "mm/vmscan.c").stat().st_mtime == 1_600_000_000


def test_interrupted_sync_is_mended(source: Path, tree: Path, forge: Forge) -> None:
    """Whatever state the touched files are in, the next call puts them right."""
    forge.commit("mm: a", {"mm/vmscan.c": "patched\n", "mm/new.c": "new\n", "mm/old.c": None})
    overlay = make_overlay(source, patches_of(forge), tree.parent / "o")
    names = (*overlay.changed, *overlay.deleted)
    content = snapshot(source)
    for name in names:
        (tree / name).unlink(missing_ok=True)
        (tree / name).write_text("half a fi")
    sync_overlay(make_overlay(source, (), tree.parent / "stock"), source, tree, names)
    assert snapshot(tree) == content
    assert snapshot(source) == content


def test_symbolic_links(source: Path, forge: Forge) -> None:
    (source / "mm/link").symlink_to("vmscan.c")
    (forge.root / "mm/link").symlink_to("old.c")
    (forge.root / "mm/second").symlink_to("old.c")
    forge.commit("base has links", {})
    forge.run("tag", "--force", "base")
    (forge.root / "mm/link").unlink()
    forge.commit("mm: a link to another file", {"mm/link": "a file now\n"})
    (source / "mm/link").unlink()
    (source / "mm/link").symlink_to("old.c")
    tree = source.parent / "tree"
    link_tree(source, tree)
    overlay = make_overlay(source, patches_of(forge), source.parent / "o")
    sync_overlay(overlay, source, tree, ())
    assert not (tree / "mm/link").is_symlink()
    stock = make_overlay(source, (), source.parent / "o2")
    sync_overlay(stock, source, tree, overlay.changed)
    assert (tree / "mm/link").readlink() == Path("old.c")
    assert (source / "mm/old.c").read_text() == "int old;\n"
