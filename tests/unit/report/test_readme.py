# SPDX-License-Identifier: GPL-2.0-only
from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from mglru.core.errors import UsageError
from mglru.core.paths import REPO, RESULTS
from mglru.experiment.files import find
from mglru.experiment.load import load_experiment, names
from mglru.report import generated, overview
from mglru.report.forms import suite_text
from mglru.results import tables
from mglru.results.compare import compare, load_named
from mglru.results.folders import result_files
from mglru.results.result_file import load
from mglru.study.draw import SUITE


def test_only_the_part_between_the_markers_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "doc.md"
    path.write_text(f"before\n{generated.BEGIN}\nold\n{generated.END}\nafter\n")
    before = path.stat().st_ino
    assert generated.update(path, "| new |\n")
    assert path.stat().st_ino != before, "an interrupt must not leave half of it"
    assert path.read_text() == f"before\n{generated.BEGIN}\n\n| new |\n\n{generated.END}\nafter\n"
    assert not generated.update(path, "| new |")


@pytest.mark.parametrize("text", ["", generated.BEGIN, f"{generated.END}\n{generated.BEGIN}\n"])
def test_a_document_without_its_markers_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "doc.md"
    path.write_text(text)
    with pytest.raises(UsageError, match="marker"):
        generated.update(path, "x")
    assert path.read_text() == text


ALL = result_files([RESULTS])
SUITES = result_files([RESULTS / "suites"])


def texts() -> dict[str, str]:
    """Return the generated part of each document, as the command in it makes it."""
    runs = [run for path in ALL + SUITES for run in load(path)]
    made = {
        "README.md": overview.headline(runs),
        "docs/use/overview.md": overview.render(runs),
        "docs/use/results.md": tables.render(compare(load_named(ALL)), "markdown"),
    }
    if (RESULTS / "suites" / "harm.json") in SUITES:
        made["docs/use/harm.md"] = suite_text(load(RESULTS / "suites" / "harm.json"))
    return made


def test_documents_show_the_committed_results() -> None:
    for document, made in texts().items():
        text = (REPO / document).read_text()
        assert generated.replace_between(text, made) == text, f"{document}: make it anew, see there"


PATH = r"(?<![\w/])(?:docs|src/mglru|guest|tests)/[\w./-]*\.(?:md|svg|py|[ch])\b"
DOCUMENTS = [REPO / "README.md", *sorted((REPO / "docs").rglob("*.md"))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(REPO)))
def test_links_and_paths_lead_somewhere(document: Path) -> None:
    text = document.read_text()
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (document.parent / target).exists(), target
    for path in re.findall(PATH, text):
        assert (REPO / path).exists(), path


# Ours have five digits (pages, operations, kB); settings and what others published have not.
FIGURE = r"(?<![\d,.])\d{2,3},\d{3}(?![\d,])"
# As tables write a ratio (1.31x), and as prose does (2.4 times).
RATIO = r"(?<![\w,.])\d+(?:\.\d+)?x(?!\w)|(?<![\w,.])\d+\.\d+ times\b"
SHOWN = rf"{re.escape(generated.BEGIN)}.*?{re.escape(generated.END)}|^```.*?^```|`[^`\n]*`"
LOG = r"^\*\*.*\blog\b.*\b2026\b"


def typed_figures(text: str) -> list[str]:
    """Return what looks measured in a document's prose."""
    return re.findall(f"{FIGURE}|{RATIO}", re.sub(SHOWN, "", text, flags=re.DOTALL | re.MULTILINE))


def test_what_looks_measured() -> None:
    prose = "It read 12,345 pages, 1.31x as many (2x, **0.07x**), in 2.4 times the time.\n"
    assert typed_figures(prose) == ["12,345", "1.31x", "2x", "0.07x", "2.4 times"]
    assert not typed_figures("read 4 times from 0x1f in 1.5 seconds on 6.12, `1.31x`\n")
    assert not typed_figures(f"{generated.BEGIN}\n1.31x\n{generated.END}\n```\n2.4 times\n```\n")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(REPO)))
def test_measured_figures_are_generated_or_in_a_log(document: Path) -> None:
    """Nobody types them again when they change: a log says of when they are, at its head."""
    text = document.read_text()
    head = "\n".join(text.splitlines()[:6])
    typed = typed_figures(text)
    assert not typed or re.search(LOG, head, re.MULTILINE), typed


@pytest.mark.parametrize("name", names())
def test_figures_in_notes_are_settings_or_published(name: str) -> None:
    """Results change, and nobody types them again in an experiment's notes either."""
    experiment = load_experiment(name)
    notes = str(experiment.profile.get("notes", ""))
    said = experiment.model_dump_json(exclude={"profile"})
    said += find()[name].read_text().partition("[profile]")[0]
    known = re.sub(r"(?<=\d)[,_](?=\d)", "", said)
    typed = [figure for figure in re.findall(FIGURE, notes) if figure.replace(",", "") not in known]
    assert not typed, typed


SCREEN_LINES, SCREEN_COLUMNS = 62, 110


def test_readme_is_one_screen() -> None:
    """Paragraphs are one long line where they are made, so lines alone do not tell."""
    lines = (REPO / "README.md").read_text().splitlines()
    # What one sees of a link is its text.
    seen = [re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", line) for line in lines]
    shown = sum(max(1, math.ceil(len(line) / SCREEN_COLUMNS)) for line in seen)
    assert shown <= SCREEN_LINES


# What `make` and `mglru draw` leave in a room; not in the repository.
MADE = ("__", ".", "simulate", SUITE)
ROOMS = ["docs", "experiments", "guest", "kconfig", "patches", "policies"]
ROOMS += ["tests", "src/mglru", "results"]


@pytest.mark.parametrize("room", ROOMS)
def test_no_level_has_more_than_fifteen_names(room: str) -> None:
    """A level that has more is not seen at one glance."""
    for directory in [REPO / room, *(REPO / room).rglob("*/")]:
        if directory.name in ("__pycache__", SUITE):
            continue
        names = [p.name for p in directory.iterdir() if not p.name.startswith(MADE)]
        assert len(names) <= 15, (
            f"{directory}: at most fifteen names a folder; a full one gets a subfolder"
        )
