# SPDX-License-Identifier: GPL-2.0-only
"""Series: what is read, and which damage is refused."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from mglru.core import paths
from mglru.core.errors import ExitCode, LabError, UsageError
from mglru.series import listing_file
from mglru.series.listing import load_lab_series, load_series
from mglru.series.listing_merge import Exported, merge_series
from mglru.series.patch import PatchFormatError, diff_of, read_changes, read_message
from support.series_tools import Forge

FIRST = "0001-mm-mglru-one.patch"
SECOND = "0002-mm-mglru-two.patch"
THIRD = "0003-mm-mglru-three.patch"


@pytest.fixture
def patches(tmp_path: Path) -> Path:
    forge = Forge(tmp_path / "forge")
    for number, word in enumerate(("one", "two", "three"), 1):
        forge.replace(f"mm/mglru: {word}", f"line {number}0", word)
    return forge.export(tmp_path / "patches")


def test_order_parts_and_proofs(patches: Path) -> None:
    (patches / "series").write_text(
        "# SPDX-License-Identifier: GPL-2.0-only\n\n"
        f"# The order is not that of the names.\n{SECOND}\n\n"
        "# part 1: the loop\n# proof: symbol_a\n# a remark\n# proof: symbol_b symbol_c\n"
        f"{FIRST} -p1 # quilt allows this\n"
        f"#part 2:  bins\n# checkpatch: LONG_LINE a table\n{THIRD}\n# the end\n"
    )
    series = load_series("6.12", patches)
    assert series.names == (SECOND, FIRST, THIRD)
    assert [patch.number for patch in series.patches] == [1, 2, 3]
    assert [patch.subject for patch in series.patches] == [
        "mm/mglru: two",
        "mm/mglru: one",
        "mm/mglru: three",
    ]
    assert [patch.part for patch in series.patches] == ["", "part 1: the loop", "part 2: bins"]
    assert [patch.proofs for patch in series.patches] == [
        (),
        ("symbol_a", "symbol_b", "symbol_c"),
        (),
    ]
    assert series.patches[2].allowed == (("LONG_LINE", "a table"),)
    assert str(series.kernel) == "6.12+next"


def test_first_patches(patches: Path) -> None:
    series = load_series("6.12", patches)
    two = series.first(2)
    assert two.names == (FIRST, SECOND)
    assert [patch.name for patch in two.left_out] == [THIRD]
    assert str(two.kernel) == "6.12+next:2"
    assert [patch.name for patch in two.first(1).left_out] == [SECOND, THIRD]
    assert series.first(3) == series
    assert series.first(None) == series


@pytest.mark.parametrize("count", [0, 4, 99])
def test_too_many_or_none(patches: Path, count: int) -> None:
    with pytest.raises(UsageError, match=f"6.12\\+next:{count}: the series has 3 patches"):
        load_series("6.12", patches).first(count)


def test_digest_is_not_of_messages(patches: Path) -> None:
    before = load_series("6.12", patches).sha256
    content = (patches / SECOND).read_text()
    (patches / SECOND).write_text(content.replace("It was wrong.", "It was wrong: 12 us."))
    assert load_series("6.12", patches).sha256 == before
    (patches / SECOND).write_text(content.replace("+two", "+deux"))
    assert load_series("6.12", patches).sha256 != before


def test_digest_is_of_content_and_order(patches: Path) -> None:
    series = load_series("6.12", patches)
    assert load_series("6.12", patches).sha256 == series.sha256
    assert len({series.first(n).sha256 for n in (1, 2, 3)}) == 3
    listing = (patches / "series").read_text()
    (patches / "series").write_text("# a comment changes no kernel\n" + listing)
    assert load_series("6.12", patches).sha256 == series.sha256
    (patches / "series").write_text("".join(reversed(listing.splitlines(keepends=True))))
    assert load_series("6.12", patches).sha256 != series.sha256


def test_results_of_a_state_are_of_it_for_ever(patches: Path) -> None:
    """They say which one by the digest of the patches' digests."""
    series, digest = load_series("6.12", patches), hashlib.sha256()
    for patch in series.patches:
        digest.update(hashlib.sha256(diff_of(patch.content)).digest())
    assert series.sha256 == digest.hexdigest()


def test_a_folder_for_each_part(patches: Path) -> None:
    flat = load_series("6.12", patches)
    for name, folder in ((FIRST, "part1-loop"), (SECOND, "part2-bins"), (THIRD, "part1-loop")):
        (patches / folder).mkdir(exist_ok=True)
        (patches / name).rename(patches / folder / name)
    (patches / "series").write_text(
        f"# part 1: the loop\npart1-loop/{FIRST}\n# part 2: bins\npart2-bins/{SECOND}\n"
        f"# part 1: its test\npart1-loop/{THIRD}\n"
    )
    series = load_series("6.12", patches)
    assert series.names == flat.names
    assert series.sha256 == flat.sha256, "where a patch lies changes no kernel"
    assert series.part_ends == (1, 2, 3)
    (patches / "part2-bins" / "0004-x.patch").write_text("x")
    with pytest.raises(LabError, match=r"does not list part2-bins/0004-x\.patch"):
        load_series("6.12", patches)


def test_listed_but_missing(patches: Path) -> None:
    (patches / SECOND).unlink()
    with pytest.raises(LabError, match=f"lists {SECOND}, which cannot be read") as error:
        load_series("6.12", patches)
    assert error.value.exit_code == ExitCode.INFRASTRUCTURE
    assert error.value.next_step


def test_present_but_not_listed(patches: Path) -> None:
    (patches / "series").write_text(f"{FIRST}\n{THIRD}\n")
    with pytest.raises(LabError, match=f"does not list {SECOND}"):
        load_series("6.12", patches)


def test_empty_patch(patches: Path) -> None:
    (patches / SECOND).write_text("\n")
    with pytest.raises(LabError, match=f"{SECOND} is empty"):
        load_series("6.12", patches)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "does not start with"),
        ("From " + "0" * 40 + " Mon Sep 17 00:00:00 2001\nFrom: a\nDate: b\n\nx\n", "no Subject"),
        (
            "From " + "0" * 40 + " Mon Sep 17 00:00:00 2001\nFrom: a\nDate: b\nSubject: c\n\nx\n",
            "changes nothing",
        ),
    ],
)
def test_not_a_format_patch(patches: Path, content: str, why: str) -> None:
    (patches / SECOND).write_text(content)
    with pytest.raises(LabError, match=f"{SECOND} is not a patch that git format-patch .*{why}"):
        load_series("6.12", patches)


def test_truncated_patch(patches: Path) -> None:
    content = (patches / SECOND).read_text()
    (patches / SECOND).write_text(content[: content.index("+two")])
    with pytest.raises(LabError, match="its diff is damaged"):
        load_series("6.12", patches)


@pytest.mark.parametrize("name", ["a/../../etc/passwd", "a//etc/passwd", "a/.git/config"])
def test_patch_outside_of_the_tree(patches: Path, name: str) -> None:
    content = (patches / SECOND).read_text().replace("a/mm/vmscan.c", name)
    with pytest.raises(PatchFormatError):
        read_changes(content.encode())


@pytest.mark.parametrize(
    ("listing", "why"),
    [
        (f"{FIRST}\n{FIRST}\n", "listed twice"),
        (f"{FIRST} -p0\n", "-p1 only"),
        (f"sub/sub/{FIRST}\n", "not the name of a patch"),
        (f"../{FIRST}\n", "not the name of a patch"),
        (f"/{FIRST}\n", "not the name of a patch"),
        (f"sub/{FIRST}\n", f"does not list {FIRST}"),
        (f"sub/{FIRST}\n{FIRST}\n", "listed twice"),
        (f"# part 1: x\nsub/{FIRST}\n{SECOND}\n", "other patches of part 1: x lie in 'sub'"),
        (f"{FIRST} {SECOND}\n", "not the name of a patch"),
        (f"# proof: x\n\n{FIRST}\n", "does not stand directly above"),
        (f"# proof: x\n# part 1: y\n{FIRST}\n", "does not stand directly above"),
        (f"{FIRST}\n# proof: x\n", "does not stand directly above"),
        (f"# proof: 1+1\n{FIRST}\n", "names no kernel symbol"),
        (f"# proof:\n{FIRST}\n", "names no kernel symbol"),
        (f"# checkpatch: LONG_LINE\n{FIRST}\n", "a type and a reason"),
    ],
)
def test_bad_listing(tmp_path: Path, listing: str, why: str) -> None:
    forge = Forge(tmp_path / "forge")
    forge.replace("mm/mglru: one", "line 10", "one")
    patches = forge.export(tmp_path / "patches", listing)
    with pytest.raises(LabError, match=why):
        load_series("6.12", patches)


def test_no_series(tmp_path: Path) -> None:
    (tmp_path / "series").write_text("# nothing yet\n")
    for directory in (tmp_path, tmp_path / "absent"):
        with pytest.raises(LabError, match=r"there is no series for Linux 7\.3"):
            load_series("7.3", directory)
        assert load_series("7.3", directory, required=False).patches == ()
        assert load_lab_series("7.3", directory).patches == ()


def test_lab_series_lies_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forge = Forge(tmp_path / "forge")
    forge.replace("lab: fixed seed", "line 10", "one")
    forge.export(tmp_path / "lab" / "6.12")
    monkeypatch.setattr(paths, "PATCHES", tmp_path)
    assert load_lab_series("6.12").patches[0].subject == "lab: fixed seed"
    assert load_lab_series("7.3").patches == ()


def test_message_of_a_patch(tmp_path: Path) -> None:
    forge = Forge(tmp_path / "forge")
    subject = "mm/mglru: größer — " + "a long subject " * 5
    forge.commit(subject, {"mm/vmscan.c": "x\n"}, "First.\n\n\tCode: größer\n\nLast.")
    patches = forge.export(tmp_path / "patches")
    message = read_message(next(patches.glob("*.patch")).read_bytes())
    assert message.subject == subject.strip()
    assert message.body == "First.\n\n\tCode: größer\n\nLast."
    assert message.author == "Ada Lovelace <ada@example.org>"


def test_kinds_of_change(tmp_path: Path) -> None:
    forge = Forge(tmp_path / "forge")
    forge.run("mv", "mm/old.c", "mm/renamed.c")
    forge.commit(
        "mm: several", {"mm/new.h": "", "mm/tool.sh": None, "mm/vmscan.c": "café\r\nx\ff\n"}
    )
    patches = forge.export(tmp_path / "patches")
    changes = read_changes(next(patches.glob("*.patch")).read_bytes())
    assert {(change.old, change.new) for change in changes} == {
        (None, "mm/new.h"),
        ("mm/old.c", "mm/renamed.c"),
        ("mm/tool.sh", None),
        ("mm/vmscan.c", "mm/vmscan.c"),
    }


LISTING = """\
# SPDX-License-Identifier: GPL-2.0-only

# what this is

# part 1: one
# proof: a
a.patch
b.patch

# part 2: two
# about two

# loose
# proof: c
c.patch
# part 3: to come
# end
"""


def test_listing_is_written_as_it_was_read() -> None:
    for text in (LISTING, "", "a.patch\n", "# x\n\np/a.patch -p1 # y\n\n\n"):
        assert listing_file.parse(text).render() == text


def known(*names: str) -> list[Exported]:
    return [Exported(f"{name}.patch", f"mm: {name}", f"date of {name}") for name in names]


def merged(*exported: Exported) -> tuple[str, list[str]]:
    listing, notices = merge_series(listing_file.parse(LISTING), known("a", "b", "c"), exported)
    return listing.render(), notices


def test_merge_of_the_same() -> None:
    assert merged(*known("a", "b", "c")) == (LISTING, [])


def test_merge_follows_renamed_files_and_subjects() -> None:
    by_subject = Exported("0001-a.patch", "mm: a", "another date")
    by_date = Exported("0002-x.patch", "mm: another subject", "date of b")
    text, notices = merged(by_subject, by_date, *known("c"))
    assert text == LISTING.replace("a.patch", "0001-a.patch").replace("b.patch", "0002-x.patch")
    assert notices == ["new subject: mm: another subject (was: mm: b)"]


def test_merge_of_new_and_removed() -> None:
    text, notices = merged(*known("new", "b", "c", "last"))
    expected = LISTING.replace("# proof: a\na.patch\n", "new.patch\n")
    assert text == expected.replace("c.patch\n", "c.patch\nlast.patch\n")
    assert notices == [
        "new: mm: new",
        "new: mm: last",
        "removed: mm: a, with its comment # proof: a",
    ]


def test_merge_drops_a_part_that_got_empty_but_not_one_to_come() -> None:
    text, notices = merged(*known("a", "b"))
    assert text == LISTING[: LISTING.index("\n# part 2")] + "# part 3: to come\n# end\n"
    assert notices == [
        "removed: mm: c, with its comment # loose; # proof: c",
        "no patch is left in part 2: two",
    ]


def test_merge_keeps_paragraphs_between_patches() -> None:
    listing = listing_file.parse("a.patch\n\n# on what follows\n\n# on b\nb.patch\nc.patch\n")
    text = merge_series(listing, known("a", "b", "c"), known("a", "c"))[0].render()
    assert text == "a.patch\n\n# on what follows\n\nc.patch\n"


def test_merge_of_a_patch_that_moved_to_another_part() -> None:
    text, notices = merged(*known("c", "a", "b"))
    assert text.index("# proof: c\nc.patch") < text.index("a.patch") < text.index("b.patch")
    assert text.startswith("# SPDX-License-Identifier: GPL-2.0-only\n\n# what this is\n")
    assert notices == ["moved into part 1: one: mm: c", "no patch is left in part 2: two"]
    assert listing_file.parse(text).entries[0].part == 1
