# SPDX-License-Identifier: GPL-2.0-only
"""`series check` on a mini tree, with a checkpatch.pl that knows two rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from mglru.checks.checkpatch import CheckpatchFinding, checkpatch, parse_output
from mglru.checks.releases import tested
from mglru.checks.series_check import (
    Check,
    CheckLine,
    CheckReport,
    Outcome,
    check_series,
    compiler_warnings,
    message_faults,
)
from mglru.core.errors import LabError
from mglru.series.apply import PatchError
from mglru.series.listing import load_series
from support.series_tools import CHECKPATCH, FILES, VMSCAN, Forge, write_files

FIRST = "0001-mm-mglru-one.patch"
SECOND = "0002-mm-mglru-two.patch"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_files(tmp_path / "source", {**FILES, "scripts/checkpatch.pl": CHECKPATCH})


def make_patches(tmp_path: Path, *words: str, listing: str | None = None) -> Path:
    forge = Forge(tmp_path / "forge")
    for number, (subject, word) in enumerate(zip(("one", "two", "three"), words, strict=False), 1):
        forge.replace(f"mm/mglru: {subject}", f"line {number}0", word)
    return forge.export(tmp_path / "patches", listing)


def check(
    directory: Path, source: Path, build: Callable[[int], Sequence[str]] | None = None
) -> CheckReport:
    seen: list[CheckLine] = []
    report = check_series("6.12", source, build=build, report=seen.append, directory=directory)
    assert tuple(seen) == report.lines
    return report


def outcomes(report: CheckReport) -> list[tuple[int, Check, Outcome]]:
    return [(line.number, line.check, line.outcome) for line in report.lines]


def test_all_well(tmp_path: Path, source: Path) -> None:
    built: list[int] = []

    def build(count: int) -> list[str]:
        built.append(count)
        return ["drivers/old.c:7:3: warning: as in the kernel without patches"]

    report = check(make_patches(tmp_path, "one", "two"), source, build)
    assert report.passed
    assert built == [1, 2]
    quick = [
        (number, check, Outcome.PASSED)
        for number in (1, 2)
        for check in (Check.APPLY, Check.MESSAGE)
    ]
    assert set(quick) < set(outcomes(report))
    assert outcomes(report)[-2:] == [
        (1, Check.BUILD, Outcome.PASSED),
        (2, Check.BUILD, Outcome.PASSED),
    ]
    assert str(report.lines[0]) == f"passed     apply       {FIRST}"


def test_only_ends_of_parts_are_built(tmp_path: Path, source: Path) -> None:
    directory = make_patches(tmp_path, "one", "two", "three")
    text = (directory / "series").read_text()
    (directory / "series").write_text(
        text.replace(f"{SECOND}\n", f"{SECOND}\n# part 2: the rest\n")
    )
    built: list[int] = []

    def build(count: int) -> list[str]:
        built.append(count)
        return []

    report = check_series(
        "6.12", source, build=build, report=lambda _: None, directory=directory, parts=True
    )
    assert report.passed
    assert built == [2, 3]
    assert {line.number for line in report.lines} == {1, 2, 3}


def test_no_build_asked_for(tmp_path: Path, source: Path) -> None:
    report = check(make_patches(tmp_path, "one"), source)
    assert [line.check for line in report.lines] == [Check.APPLY, Check.MESSAGE, Check.CHECKPATCH]
    assert report.passed


def test_offsets_pass_and_are_told(tmp_path: Path, source: Path) -> None:
    write_files(source, {"mm/vmscan.c": "new\nlines\n" + VMSCAN})
    line = check(make_patches(tmp_path, "one"), source).lines[0]
    assert line.passed
    assert "mm/vmscan.c" in line.details[0]


def test_patch_that_needs_fuzz_does_not_pass(tmp_path: Path, source: Path) -> None:
    """One line of its context is another one: patch(1) would take it, with fuzz."""
    write_files(source, {"mm/vmscan.c": VMSCAN.replace("line 7\n", "another\n")})
    built: list[int] = []

    def build(count: int) -> list[str]:
        built.append(count)
        return []

    report = check(make_patches(tmp_path, "one", "two"), source, build)
    assert not report.passed
    by_check = {(line.number, line.check): line for line in report.lines}
    assert by_check[1, Check.APPLY].outcome is Outcome.FAILED
    assert "Linux 6.12.99" in " ".join(by_check[1, Check.APPLY].details)
    assert by_check[2, Check.APPLY].outcome is Outcome.NOT_TRIED
    assert "not tried" in str(by_check[2, Check.APPLY])
    assert by_check[2, Check.BUILD].outcome is Outcome.NOT_TRIED
    assert built == []


def test_patches_before_the_broken_one_are_built(tmp_path: Path, source: Path) -> None:
    write_files(source, {"mm/vmscan.c": VMSCAN.replace("line 20\n", "another\n")})
    report = check(make_patches(tmp_path, "one", "two"), source, lambda _count: [])
    assert outcomes(report)[-2:] == [
        (1, Check.BUILD, Outcome.PASSED),
        (2, Check.BUILD, Outcome.NOT_TRIED),
    ]


def test_build_that_fails(tmp_path: Path, source: Path) -> None:
    def build(count: int) -> list[str]:
        if count == 1:
            raise LabError("cannot build", log_tail=["mm/vmscan.c:9:1: error: expected ';'"])
        return []

    report = check(make_patches(tmp_path, "one", "two"), source, build)
    assert [line.number for line in report.failed] == [1]
    assert report.failed[0].details == ("cannot build", "mm/vmscan.c:9:1: error: expected ';'")


def test_new_warning_fails(tmp_path: Path, source: Path) -> None:
    warning = "./mm/vmscan.c:12:7: warning: unused variable 'x' [-Wunused-variable]"
    report = check(make_patches(tmp_path, "one"), source, lambda _count: [warning])
    assert report.failed[0].details == (warning,)


def test_compiler_warnings() -> None:
    log = (
        "  CC      mm/vmscan.o\n"
        "mm/vmscan.c: In function 'f':\n"
        "mm/vmscan.c:12:7: warning: unused variable 'x' [-Wunused-variable]\n"
        "   12 |   int x;\n"
        "mm/vmscan.c:14:1: error: no\n"
        "warning: nothing of the kind\n"
    )
    assert compiler_warnings(log) == [
        "mm/vmscan.c:12:7: warning: unused variable 'x' [-Wunused-variable]",
        "mm/vmscan.c:14:1: error: no",
    ]


def test_checkpatch_findings(tmp_path: Path, source: Path) -> None:
    report = check(make_patches(tmp_path, "camelCase", "        spaces"), source)
    assert [(line.number, line.check) for line in report.failed] == [
        (1, Check.CHECKPATCH),
        (2, Check.CHECKPATCH),
    ]
    assert "CHECK:CAMELCASE: Avoid CamelCase" in report.failed[0].details[0]


def test_allowed_findings(tmp_path: Path, source: Path) -> None:
    listing = (
        "# checkpatch: CAMELCASE a name of the hardware's\n"
        f"# checkpatch: LONG_LINE a table\n{FIRST}\n"
        f"# checkpatch: CAMELCASE this does not allow the other\n{SECOND}\n"
    )
    patches = make_patches(tmp_path, "camelCase", "        spaces", listing=listing)
    report = check(patches, source)
    assert [line.number for line in report.failed] == [2]
    details = next(line.details for line in report.lines if line.check is Check.CHECKPATCH)
    assert details == (
        "CAMELCASE: allowed: a name of the hardware's",
        "LONG_LINE: allowed, but not needed",
    )


def test_source_without_checkpatch(tmp_path: Path, source: Path) -> None:
    (source / "scripts/checkpatch.pl").unlink()
    report = check(make_patches(tmp_path, "one"), source)
    assert outcomes(report)[-1] == (1, Check.CHECKPATCH, Outcome.NOT_TRIED)
    assert not report.passed


def test_checkpatch_that_does_not_run(tmp_path: Path, source: Path) -> None:
    (source / "scripts/checkpatch.pl").write_text("die 'no';\n")
    patch = load_series("6.12", make_patches(tmp_path, "one")).patches[0]
    with pytest.raises(LabError, match="run checkpatch"):
        checkpatch(patch, source)


def test_output_of_checkpatch() -> None:
    output = "/tmp/0001-x.patch:45: WARNING:LONG_LINE: line length of 104 exceeds 100 columns\n"
    assert parse_output(output, "x") == (
        CheckpatchFinding(45, "WARNING", "LONG_LINE", "line length of 104 exceeds 100 columns"),
    )
    assert parse_output("", "x") == ()
    with pytest.raises(LabError, match="unexpected"):
        parse_output("Global symbol requires explicit package name\n", "x")


@pytest.mark.parametrize(
    ("subject", "body", "fault"),
    [
        ("mm/mglru: " + "x" * 66, "Why.", "76 characters"),
        ("fix things", "Why.", "does not start like"),
        ("net: fix things", "Why.", "does not start like"),
        ("mm/mglru: one.", "Why.", "full stop"),
        ("mm/mglru: one", "", "text is empty"),
        ("mm/mglru: one", "Why.\n\nSigned-off-by: A <a@b>", "signs it"),
    ],
)
def test_messages_at_fault(tmp_path: Path, subject: str, body: str, fault: str) -> None:
    forge = Forge(tmp_path / "forge")
    forge.commit(subject, {"mm/new.c": "x\n"}, body)
    patch = load_series("6.12", forge.export(tmp_path / "patches")).patches[0]
    assert len(faults := message_faults(patch)) == 1
    assert fault in faults[0]


@pytest.mark.parametrize("subject", ["mm: one", "mm, swap: one", "selftests/mm: one", "mm/x: y"])
def test_messages_without_fault(tmp_path: Path, subject: str) -> None:
    forge = Forge(tmp_path / "forge")
    forge.commit(subject, {"mm/new.c": "x\n"}, "Why.")
    patch = load_series("6.12", forge.export(tmp_path / "patches")).patches[0]
    assert message_faults(patch) == []


def test_subject_names_a_directory_that_the_patch_changes(tmp_path: Path) -> None:
    forge = Forge(tmp_path / "forge")
    forge.commit("fs/writeback: one", {"fs/fs-writeback.c": "x\n"}, "Why.")
    patch = load_series("6.12", forge.export(tmp_path / "patches")).patches[0]
    assert message_faults(patch) == []


def test_nothing_is_written_to_the_source(tmp_path: Path, source: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in source.rglob("*")}
    check(make_patches(tmp_path, "one", "camelCase"), source)
    assert {path: path.stat().st_mtime_ns for path in source.rglob("*")} == before


def test_no_series(tmp_path: Path, source: Path) -> None:
    with pytest.raises(LabError, match="there is no series"):
        check(tmp_path / "nowhere", source)
    assert issubclass(PatchError, LabError)


# What is recorded of the versions that the series was tried on


TESTED = """\
[[tested]]
version = "6.12.90"
applies = "offsets"
builds = true
date = 2026-11-01

[[tested]]
version = "6.12.117"
origin = "linux-source-6.12 6.12.117-1"
applies = "clean"
builds = true
boots = true
date = 2026-11-21
note = "the base"
"""


def test_tested_versions(tmp_path: Path) -> None:
    (tmp_path / "tested.toml").write_text(TESTED)
    assert [entry.version for entry in tested.tested_versions("6.12", tmp_path)] == [
        "6.12.117",
        "6.12.90",
    ]
    assert tested.describe_source("6.12", "6.12.117", tmp_path) == (
        "The series was tried on Linux 6.12.117: applies exactly, builds, boots (2026-11-21): "
        "the base."
    )
    assert tested.describe_source("6.12", "6.12.93", tmp_path) == (
        "The series was not tried on Linux 6.12.93; the nearest that it was tried on is 6.12.90: "
        "applies, some hunks at other lines, builds (2026-11-01)."
    )


def test_nothing_recorded(tmp_path: Path) -> None:
    assert tested.tested_versions("6.12", tmp_path) == ()
    assert "not recorded" in tested.describe_source("6.12", "6.12.93", tmp_path)


@pytest.mark.parametrize(
    "text",
    ["[[tested]", TESTED.replace("clean", "perhaps"), TESTED.replace("6.12.90", "6.12"), "x = 1"],
)
def test_damaged_record(tmp_path: Path, text: str) -> None:
    (tmp_path / "tested.toml").write_text(text)
    with pytest.raises(LabError, match=r"tested\.toml cannot be read"):
        tested.tested_versions("6.12", tmp_path)
