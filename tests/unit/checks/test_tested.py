# SPDX-License-Identifier: GPL-2.0-only
"""`series tested` on a mini tree: how the series applies, what is recorded, what people keep."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path

import pytest

from mglru.build.build import Build, planned
from mglru.build.recipe import make_recipe
from mglru.checks.releases import file as tested_file
from mglru.checks.releases import tested, trial
from mglru.checks.releases.attempt import (
    Candidate,
    candidates,
    how_it_applies,
    source_of,
    try_series,
)
from mglru.checks.releases.tested import describe_source, series_mark
from mglru.checks.releases.trial import ReleaseTrial
from mglru.core import paths
from mglru.core.cache import remove
from mglru.core.errors import ExitCode, LabError
from mglru.core.ui import Ui
from mglru.debian import archive
from mglru.experiment.spec import Experiment
from mglru.results.model import RunResult
from mglru.series.listing import Series, load_series
from mglru.source.kernel_id import KernelId
from mglru.source.trees import Source, debian_source
from support.made_runs import made_run
from support.series_tools import FILES, VMSCAN, Forge, write_files

MADISON = """\
linux-source-6.12 | 6.12.117-1 | http://sec.example/debian-security trixie-security/main amd64 Packages
linux-source-6.12 | 6.12.117-1~deb12u1 | http://sec.example/debian-security bookworm-security/main amd64 Packages
linux-source-6.12 | 6.12.107-1 | http://mirror.example/debian trixie/main amd64 Packages
linux-source-6.12 | 6.12.107-1 | http://sec.example/debian-security trixie-security/main amd64 Packages
"""  # noqa: E501
CANDIDATE = Candidate("6.12.99", "6.12.99-1", ("trixie",))
TODAY = datetime.date(2026, 11, 22)


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return debian_source("6.12", "6.12.99-1", write_files(tmp_path / "source", FILES))


@pytest.fixture
def series(tmp_path: Path) -> Series:
    forge = Forge(tmp_path / "forge")
    forge.replace("mm/mglru: one", "line 10", "one")
    forge.replace("mm/mglru: two", "line 40", "two")
    return load_series("6.12", forge.export(tmp_path / "patches"))


def with_vmscan(tmp_path: Path, text: str) -> Path:
    return write_files(tmp_path / "other", {**FILES, "mm/vmscan.c": text})


def test_versions_and_their_suites() -> None:
    offers = archive.parse_madison(MADISON)
    assert offers[2] == archive.Offer("6.12.107-1", ("trixie", "trixie-security"))
    assert candidates(offers) == (
        Candidate("6.12.117", "6.12.117-1", ("trixie-security", "bookworm-security")),
        Candidate("6.12.107", "6.12.107-1", ("trixie", "trixie-security")),
    )
    assert archive.parse_madison("") == ()


def test_how_the_series_applies(tmp_path: Path, source: Source, series: Series) -> None:
    assert how_it_applies(source.path, series, source.path) == ("clean", "")
    moved = with_vmscan(tmp_path, "new\nlines\n" + VMSCAN)
    assert how_it_applies(moved, series, source.path) == ("offsets", "")
    context = with_vmscan(tmp_path, VMSCAN.replace("line 7\n", "another\n"))
    assert how_it_applies(context, series, source.path) == ("three-way", "")
    conflict = with_vmscan(tmp_path, VMSCAN.replace("line 40\n", "another\n"))
    outcome, reason = how_it_applies(conflict, series, source.path)
    assert outcome == "no"
    assert "0002-mm-mglru-two.patch does not apply to Linux 6.12.99: mm/vmscan.c" in reason


def test_without_the_source_that_it_was_made_on(tmp_path: Path, series: Series) -> None:
    context = with_vmscan(tmp_path, VMSCAN.replace("line 7\n", "another\n"))
    assert how_it_applies(context, series, None)[0] == "no"


def fake_build(source: Source) -> Build:
    raise AssertionError(f"{source} must not be built")


def test_what_does_not_apply_is_not_built(tmp_path: Path, series: Series) -> None:
    tree = with_vmscan(tmp_path, VMSCAN.replace("line 40\n", "another\n"))
    source = debian_source("6.12", "6.12.99-1", tree)
    entry = try_series(CANDIDATE, source, series, ancestor=None, build=fake_build, boot=None)
    assert (entry.applies, entry.builds, entry.boots) == ("no", None, None)
    assert not entry.good
    assert entry.series == series_mark(series)
    assert entry.origin == "linux-source-6.12 6.12.99-1"
    assert entry.suites == ("trixie",)


def test_a_build_that_fails_is_recorded_with_its_first_error(
    source: Source, series: Series
) -> None:
    def build(_source: Source) -> Build:
        log = ["  CC mm/vmscan.o", "mm/vmscan.c:3:1: error: no such thing", "make: *** Error 2"]
        raise LabError("cannot build 6.12+next: exit status 2", log_tail=log)

    entry = try_series(CANDIDATE, source, series, ancestor=None, build=build, boot=None)
    assert (entry.applies, entry.builds, entry.boots) == ("clean", False, None)
    assert entry.reason == (
        "cannot build 6.12+next: exit status 2: mm/vmscan.c:3:1: error: no such thing"
    )


@pytest.mark.parametrize(
    ("trouble", "boots", "reason"),
    [((), True, ""), (("console: BUG", "step stress killed"), False, "BUG; step stress killed")],
)
def test_a_boot_is_judged(
    source: Source, series: Series, trouble: Sequence[str], boots: bool, reason: str
) -> None:
    def build(given: Source) -> Build:
        return Build(make_recipe(KernelId("6.12", series=True), given), Path("build"))

    entry = try_series(
        CANDIDATE, source, series, ancestor=None, build=build, boot=lambda _build: trouble
    )
    assert (entry.builds, entry.boots) == (True, boots)
    assert entry.reason.endswith(reason)
    assert entry.good == boots


def test_an_interrupt_is_no_result(source: Source, series: Series) -> None:
    def build(_source: Source) -> Build:
        raise LabError("interrupted", exit_code=ExitCode.INTERRUPTED)

    with pytest.raises(LabError, match="interrupted"):
        try_series(CANDIDATE, source, series, ancestor=None, build=build, boot=None)


def test_a_source_that_is_at_hand_stays(cache: Path, quiet: Ui) -> None:
    tree = write_files(cache / "sources/6.12/6.12.99-1", FILES)
    with source_of("6.12", CANDIDATE, ("trixie",), quiet) as source:
        assert source.path == tree
    assert tree.is_dir()


def test_a_tree_is_removed_with_all_that_is_in_it(cache: Path) -> None:
    tree = write_files(cache / "tested/6.12/6.12.99-1", FILES)
    remove(tree)
    assert not tree.exists()
    assert list((cache / "tmp").iterdir()) == []


def test_a_source_that_was_kept_stays(cache: Path, quiet: Ui) -> None:
    tree = write_files(cache / "tested/6.12/6.12.99-1", FILES)
    with source_of("6.12", CANDIDATE, ("trixie",), quiet) as source:
        assert (source.version, source.path) == ("6.12.99", tree)
    assert tree.is_dir()


# The record


ENTRY = tested.Tested(
    version="6.12.107",
    origin="linux-source-6.12 6.12.107-1",
    suites=("trixie",),
    series="0123456789ab",
    applies="three-way",
    builds=True,
    boots=True,
    date=TODAY,
)
BEFORE = """\
# people's own words

[[tested]]
version = "6.12.95"
applies = "clean"   # on a Monday
builds = true
date = 2026-11-01

[[tested]]
version = "6.12.107"
applies = "no"
date = 2026-11-01
reason = "of the machine"
note = "what \\"people\\" know"
"""


def put(entry: tested.Tested, directory: Path) -> str:
    text = tested_file.record(entry, directory)
    tested_file.write(text, directory)
    return text


def test_a_first_entry(tmp_path: Path) -> None:
    assert put(ENTRY, tmp_path).startswith("# SPDX-License-Identifier: GPL-2.0-only\n")
    assert tested.tested_versions("6.12", tmp_path) == (ENTRY,)
    assert [path.name for path in tmp_path.iterdir()] == ["tested.toml"]


def test_notes_and_comments_stay(tmp_path: Path) -> None:
    (tmp_path / "tested.toml").write_text(BEFORE)
    text = put(ENTRY, tmp_path)
    entries = {entry.version: entry for entry in tested.tested_versions("6.12", tmp_path)}
    assert entries["6.12.107"] == ENTRY.model_copy(update={"note": 'what "people" know'})
    assert list(entries) == ["6.12.107", "6.12.95"]
    assert "# people's own words" in text
    assert "# on a Monday" in text
    assert "of the machine" not in text


def test_the_same_entry_changes_nothing(tmp_path: Path) -> None:
    first = put(ENTRY, tmp_path)
    assert put(ENTRY, tmp_path) == first
    assert put(ENTRY.model_copy(update={"version": "6.12.9"}), tmp_path).startswith(first.rstrip())


def test_blank_lines_do_not_pile_up(tmp_path: Path) -> None:
    for version in ("6.12.9", "6.12.117", "6.12.95", "6.12.117", "6.12.9"):
        text = put(ENTRY.model_copy(update={"version": version}), tmp_path)
    assert "\n\n\n" not in text
    assert text.count("\n\n") == 3
    assert text.endswith("\n")


def test_versions_are_sorted_by_number(tmp_path: Path) -> None:
    for version in ("6.12.9", "6.12.117", "6.12.95"):
        text = put(ENTRY.model_copy(update={"version": version}), tmp_path)
    found = [line for line in text.splitlines() if line.startswith("version")]
    assert found == [f'version = "6.12.{number}"' for number in (117, 95, 9)]


@pytest.mark.parametrize("text", ["[[tested]", "tested = 3\n", '[[tested]]\nname = "x"\n'])
def test_a_damaged_record_is_refused_and_stays(tmp_path: Path, text: str) -> None:
    (tmp_path / "tested.toml").write_text(text)
    with pytest.raises(LabError, match=r"tested\.toml cannot be read"):
        put(ENTRY, tmp_path)
    assert (tmp_path / "tested.toml").read_text() == text


def test_reasons_are_told(tmp_path: Path) -> None:
    put(ENTRY.model_copy(update={"applies": "no", "reason": "0003 does not apply"}), tmp_path)
    told = describe_source("6.12", "6.12.107", tmp_path)
    assert told.endswith("does not apply, builds, boots (2026-11-22): 0003 does not apply.")


def test_a_record_of_an_earlier_state(tmp_path: Path, series: Series) -> None:
    put(ENTRY, tmp_path)
    told = describe_source("6.12", "6.12.107", tmp_path, series)
    assert told.startswith("An earlier state of the series was tried on Linux 6.12.107: ")
    put(ENTRY.model_copy(update={"series": series_mark(series)}), tmp_path)
    told = describe_source("6.12", "6.12.107", tmp_path, series)
    assert told.startswith("The series was tried on Linux 6.12.107: ")


@pytest.mark.parametrize(
    ("change", "boot", "known"),
    [
        ({}, True, True),
        ({"series": "another"}, True, False),
        ({"origin": "linux-source-6.12 6.12.99-2"}, True, False),
        ({"boots": None}, True, False),
        ({"boots": None}, False, True),
        ({"builds": None, "boots": None}, False, False),
        # What does not build cannot boot, and what does not apply cannot do either.
        ({"builds": False, "boots": None}, True, True),
        ({"applies": "no", "builds": None, "boots": None}, True, True),
    ],
)
def test_what_was_tried_is_not_tried_again(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    series: Series,
    quiet: Ui,
    change: dict[str, object],
    boot: bool,
    known: bool,
) -> None:
    made = {
        "version": "6.12.99",
        "origin": "linux-source-6.12 6.12.99-1",
        "series": series_mark(series),
        **change,
    }
    (tmp_path / "6.12").mkdir()
    put(ENTRY.model_copy(update=made), tmp_path / "6.12")
    monkeypatch.setattr(paths, "PATCHES", tmp_path)
    tried = ReleaseTrial("6.12", series, quiet, build=True, boot=boot)
    assert (tried.known(CANDIDATE) is not None) == known


def test_what_was_built_is_booted_as_it_is(
    cache: Path, monkeypatch: pytest.MonkeyPatch, series: Series, source: Source, quiet: Ui
) -> None:
    next_ = KernelId("6.12", series=True)
    build = planned(make_recipe(KernelId("6.12"), source))

    class Made:
        """A session whose one boot goes wrong."""

        def __init__(self, *_: object, builds: dict[KernelId, Build], **_more: object) -> None:
            assert builds == {next_: build}

        def run(self, experiment: Experiment, *, boots: int, seed: int) -> RunResult:
            assert (experiment.name, boots) == (trial.EXPERIMENT, 1)
            problems = {str(next_): (0,)}
            return made_run({str(next_): {"x": [1.0]}}, seed=seed, problems=problems)

    monkeypatch.setattr(trial, "Session", Made)
    tried = ReleaseTrial("6.12", series, quiet, build=True, boot=True)
    assert tried._check(build) == ["6.12+next, boot 0 (seed 1): it broke"]
