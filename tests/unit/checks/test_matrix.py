# SPDX-License-Identifier: GPL-2.0-only
"""`series check --matrix`: on a mini tree with real make and gcc, and once on the real source."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from mglru.checks.matrix.build import MatrixTask, Side, compile_side, stock_and_next
from mglru.checks.matrix.check import MatrixOutcome, check_matrix, compare
from mglru.checks.matrix.config import ARCHES, MatrixConfiguration, load_configurations
from mglru.checks.matrix.document import to_document
from mglru.checks.matrix.messages import CompilerMessage, new_messages, read_messages
from mglru.checks.matrix.objects import enabled_objects, sources_of
from mglru.cli.series.matrix import render
from mglru.core.errors import ExitCode, LabError, UsageError
from mglru.core.ui import Ui
from mglru.series.listing import Series, load_series
from mglru.source.trees import Source
from support.series_tools import FILES, Forge, write_files

# Kbuild in few lines: the targets that the matrix uses, with an output directory.
MAKEFILE = r"""
VERSION = 6
PATCHLEVEL = 12
SUBLEVEL = 99
EXTRAVERSION =
S := $(CURDIR)
.PHONY: allnoconfig allmodconfig olddefconfig prepare FORCE
allnoconfig: ; @: > $(O)/$(KCONFIG_CONFIG)
allmodconfig: ; @echo CONFIG_SWAP=y > $(O)/$(KCONFIG_CONFIG)
olddefconfig: ; @sort -u -o $(O)/$(KCONFIG_CONFIG) $(O)/$(KCONFIG_CONFIG)
prepare: ; @mkdir -p $(O)/include/config && grep = $(O)/.config > $(O)/include/config/auto.conf
mm/%.o: FORCE ; @mkdir -p $(O)/$(@D) && echo "  CC      $@" && \
	gcc -Wall -I$(S)/include -c -o $(O)/$@ $(S)/$(@:.o=.c)
"""
SOURCES = {
    **FILES,
    "Makefile": MAKEFILE,
    "mm/Makefile": "obj-y := lru.o pair.o\nobj-$(CONFIG_SWAP) += swap.o\npair-y := one.o two.o\n",
    "include/lru.h": "/* a comment */\nint lru;\n",
    "mm/lru.c": "#include <lru.h>\nvoid f(void);\nvoid f(void)\n{\n\tint old;\n}\n",
    "mm/swap.c": "#include <lru.h>\nint swap;\n",
    "mm/one.c": "int one;\n",
    "mm/two.c": "int two;\n",
}
SWAP = MatrixConfiguration("swap", "with swap", "x86_64", (("SWAP", "y"),))
NO_SWAP = MatrixConfiguration("swap-off", "without", "x86_64", (("SWAP", "n"),))


@pytest.fixture
def source(tmp_path: Path) -> Source:
    tree = write_files(tmp_path / "source", SOURCES)
    return Source("6.12", "6.12.99", "test", "d" * 64, tree)


def series_of(tmp_path: Path, *changes: tuple[str, str, str]) -> Series:
    """A series of one-line changes: old line, new line(s), file."""
    forge = Forge(tmp_path / "forge", SOURCES)
    for number, (old, new, file) in enumerate(changes):
        forge.replace(f"mm/mglru: change {number}", old, new, file)
    return load_series("6.12", forge.export(tmp_path / "patches"))


def outcome_of(series: Series, source: Source, how: MatrixConfiguration, ui: Ui) -> MatrixOutcome:
    seen: list[MatrixOutcome] = []
    pairs = [stock_and_next(how, source, series)]
    found = check_matrix(pairs, lambda task: compile_side(task, ui), seen.append)
    assert list(found) == seen
    return found[0]


def message(file: str, line: int, text: str) -> CompilerMessage:
    return CompilerMessage(file, line, text, "")


# --- messages


def test_messages_are_read_once_with_the_line_they_are_about(tmp_path: Path) -> None:
    write_files(tmp_path / "tree", {"mm/a.c": "one\n  two\n"})
    log = (
        f"  CC      mm/a.o\n{tmp_path}/tree/mm/a.c:2:7: warning: unused [-Wunused]\n"
        f"{tmp_path}/tree/mm/a.c:2:9: warning: unused [-Wunused]\n"
        f"{tmp_path}/tree/mm/a.c:2:7: note: declared here\n"
        "mm/a.c:1: warning: Function parameter 'x' not described\n"
        f"{tmp_path}/out/include/gen.h:9:1: error: no\n"
    )
    found = read_messages(log, tmp_path / "tree", tmp_path / "out")
    assert [str(one) for one in found] == [
        "include/gen.h:9: error: no",
        "mm/a.c:1: warning: Function parameter 'x' not described: one",
        "mm/a.c:2: warning: unused [-Wunused]: two",
    ]


def test_a_message_whose_line_moved_is_not_new() -> None:
    stock = [message("mm/a.c", 7, "warning: w, see mm/a.c:90:3")]
    assert new_messages(stock, [message("mm/a.c", 9, "warning: w, see mm/a.c:95:1")]) == ()


def test_one_more_of_the_same_text_is_new() -> None:
    stock = [message("mm/a.c", 7, "warning: w")]
    after = (message("mm/a.c", 8, "warning: w"), message("mm/a.c", 20, "warning: w"))
    assert new_messages(stock, after) == after
    other = message("mm/b.c", 7, "warning: w")
    assert new_messages(stock, [stock[0], other]) == (other,)


# --- configurations


def test_all_configurations_of_the_lab_can_be_read() -> None:
    found = {one.name: one for one in load_configurations()}
    assert {"lru-gen-off", "memcg-off", "swap-off", "numa-off", "smp-off", "i386", "arm64"} <= set(
        found
    )
    assert dict(found["lru-gen-off"].options)["LRU_GEN"] == "n"
    assert dict(found["smp-numa"].options)["LRU_GEN"] == "y"
    assert all(one.about for one in found.values())
    assert [one.name for one in load_configurations(["i386"])] == ["i386"]


def test_an_unknown_configuration_names_those_there_are() -> None:
    with pytest.raises(UsageError) as caught:
        load_configurations(["nosuch"])
    assert "smp-off" in caught.value.next_step


def test_a_fragment_must_say_for_which_architecture_it_is(tmp_path: Path) -> None:
    write_files(tmp_path, {"matrix.config": "", "matrix/x.config": "# arch: vax\n"})
    with pytest.raises(LabError, match=r"x\.config names no architecture"):
        load_configurations(directory=tmp_path)


def test_one_configuration_starts_with_all_that_there_is() -> None:
    found = {one.name: one for one in load_configurations()}
    everything = found["allmodconfig"]
    assert everything.start == "allmodconfig"
    # what the others share would switch most of it off
    assert "MODULES" not in dict(everything.options)
    assert "libelf-dev" in everything.packages
    assert all(one.start == "allnoconfig" for one in found.values() if one != everything)


def test_the_compiler_is_the_machines_own_or_a_cross_compiler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arm = dataclasses.replace(SWAP, arch="arm64")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    assert (SWAP.cross, SWAP.packages) == ("", {})
    assert (arm.cross, list(arm.packages)) == ("aarch64-linux-gnu-", ["gcc-aarch64-linux-gnu"])
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert (SWAP.cross, arm.cross) == (ARCHES["x86_64"].prefix, "")


# --- objects


def test_only_what_is_touched_and_configured_is_compiled(tmp_path: Path) -> None:
    tree = write_files(tmp_path / "tree", SOURCES)
    auto = "include/config/auto.conf"
    output = write_files(tmp_path / "out", {auto: "CONFIG_SWAP=y\n"})
    write_files(tree, {"tools/testing/test.c": ""})
    patched = ["mm/lru.c", "mm/swap.c", "mm/two.c", "mm/gone.c", "README", "tools/testing/test.c"]
    touched = sources_of(patched, tree)
    assert touched == ("mm/lru.c", "mm/swap.c", "mm/two.c")
    assert enabled_objects(touched, tree, output) == ("mm/lru.o", "mm/swap.o", "mm/two.o")
    write_files(output, {auto: "\n"})
    assert enabled_objects(touched, tree, output) == ("mm/lru.o", "mm/two.o")


def test_what_a_configuration_starts_from_decides_what_is_compiled(
    cache: Path, quiet: Ui, tmp_path: Path, source: Source
) -> None:
    series = series_of(tmp_path, ("int swap;", "int swap, more;", "mm/swap.c"))
    plain = MatrixConfiguration("plain", "", "x86_64", ())
    everything = dataclasses.replace(plain, start="allmodconfig")
    assert outcome_of(series, source, plain, quiet).objects == 0
    assert outcome_of(series, source, everything, quiet).objects == 1


# --- stock against the series


def test_stocks_own_messages_pass_though_their_lines_move(
    cache: Path, quiet: Ui, tmp_path: Path, source: Source
) -> None:
    series = series_of(tmp_path, ("void f(void);", "/* more */\nvoid f(void);", "mm/lru.c"))
    found = outcome_of(series, source, SWAP, quiet)
    assert found.passed
    assert (found.objects, found.stock, found.new) == (1, 1, ())


def test_a_new_warning_is_named_with_its_line(
    cache: Path, quiet: Ui, tmp_path: Path, source: Source
) -> None:
    series = series_of(
        tmp_path,
        ("int lru;", "int lru;\nstatic int spare;", "include/lru.h"),
        ("int swap;", "int swap, more;", "mm/swap.c"),
    )
    found = outcome_of(series, source, SWAP, quiet)
    assert not found.passed
    (new,) = found.new
    assert (new.file, new.line, new.source) == ("include/lru.h", 3, "static int spare;")
    assert "defined but not used" in new.text
    # the same file is not compiled where it is configured out, and nobody else is touched
    assert outcome_of(series, source, NO_SWAP, quiet).objects == 0


def test_what_does_not_compile_any_more_fails(
    cache: Path, quiet: Ui, tmp_path: Path, source: Source
) -> None:
    series = series_of(tmp_path, ("int two;", "int two", "mm/two.c"))
    stock, patched = stock_and_next(SWAP, source, series)
    before, after = compile_side(stock, quiet), compile_side(patched, quiet)
    assert (before.failed, after.failed) == ((), ("mm/two.o",))
    found = compare(SWAP, before, after)
    assert found.failed == ("mm/two.o",)
    assert "error: expected" in found.new[0].text


def test_what_stock_cannot_compile_is_told_and_no_failure() -> None:
    broken = Side(("mm/a.o",), ("mm/a.o",), (message("mm/a.c", 1, "error: no"),))
    found = compare(SWAP, broken, broken)
    assert (found.passed, found.broken) == (True, ("mm/a.o",))


def test_results_are_kept_by_content(
    cache: Path, quiet: Ui, tmp_path: Path, source: Source
) -> None:
    series = series_of(tmp_path, ("int two;", "int two, three;", "mm/two.c"))
    stock, patched = stock_and_next(SWAP, source, series)
    first = compile_side(patched, quiet)
    (source.path / "Makefile").write_text("$(error not to be read again)\n")
    assert compile_side(patched, quiet) == first
    with pytest.raises(LabError):
        compile_side(stock, quiet)
    assert len({stock.key, patched.key, dataclasses.replace(stock, configuration=NO_SWAP).key}) == 3


def test_an_option_that_cannot_be_had_is_the_configurations_problem(
    cache: Path, quiet: Ui, tmp_path: Path, source: Source
) -> None:
    makefile = source.path / "Makefile"
    makefile.write_text(MAKEFILE.replace("sort -u", "sed -i /SWAP=y/d"))
    text = makefile.read_text().replace("-o $(O)/$(KCONFIG_CONFIG) ", "")
    makefile.write_text(text)
    series = series_of(tmp_path, ("int two;", "int two, three;", "mm/two.c"))
    found = outcome_of(series, source, SWAP, quiet)
    assert not found.passed
    assert "CONFIG_SWAP: asked for y, got n" in found.problem


def test_an_interrupt_ends_the_check(tmp_path: Path, source: Source) -> None:
    def interrupted(_task: MatrixTask) -> Side:
        raise LabError("interrupted", exit_code=ExitCode.INTERRUPTED)

    series = series_of(tmp_path, ("int two;", "int two, three;", "mm/two.c"))
    with pytest.raises(LabError, match="interrupted"):
        check_matrix([stock_and_next(SWAP, source, series)], interrupted, lambda _: None)


# --- for people and machines


def test_table_and_document() -> None:
    new = (CompilerMessage("mm/a.c", 3, "warning: unused", "int a;"),)
    outcomes = (
        MatrixOutcome(SWAP, 30, 2),
        MatrixOutcome(NO_SWAP, 29, 2, new=new, failed=("mm/b.o",)),
        MatrixOutcome(NO_SWAP, problem=("cannot prepare",)),
    )
    text = render(outcomes)
    assert "swap-off: mm/a.c:3: warning: unused: int a;" in text
    assert "swap-off: mm/b.o does not compile" in text
    assert "swap-off: cannot prepare" in text
    document = json.loads(json.dumps(to_document("6.12", "6.12.99", outcomes)))
    assert (document["format"], document["kind"]) == (1, "matrix")
    assert [one["passed"] for one in document["configurations"]] == [True, False, False]
    assert document["passed"] is False
    assert document["configurations"][1]["new"][0]["source"] == "int a;"


# --- the real source
