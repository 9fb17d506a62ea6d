# SPDX-License-Identifier: GPL-2.0-only
from __future__ import annotations

import re
from pathlib import Path

import pytest

from mglru.cli.results import suite_text
from mglru.core.errors import UsageError
from mglru.core.paths import REPO, RESULTS
from mglru.report import generated, overview
from mglru.results import tables
from mglru.results.compare import compare, load_named
from mglru.results.model import load


def test_only_the_part_between_the_markers_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "doc.md"
    path.write_text(f"before\n{generated.BEGIN}\nold\n{generated.END}\nafter\n")
    assert generated.update(path, "| new |\n")
    assert path.read_text() == f"before\n{generated.BEGIN}\n\n| new |\n\n{generated.END}\nafter\n"
    assert not generated.update(path, "| new |")


@pytest.mark.parametrize("text", ["", generated.BEGIN, f"{generated.END}\n{generated.BEGIN}\n"])
def test_a_document_without_its_markers_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "doc.md"
    path.write_text(text)
    with pytest.raises(UsageError, match="marker"):
        generated.update(path, "x")
    assert path.read_text() == text


ALL = sorted(RESULTS.glob("*.json"))
SUITES = sorted((RESULTS / "suites").glob("*.json"))


def texts() -> dict[str, str]:
    """Return the generated part of each document, as the command in it makes it."""
    made = {
        "README.md": overview.render([run for path in ALL + SUITES for run in load(path)]),
        "docs/results.md": tables.render(compare(load_named(ALL)), "markdown"),
    }
    if (RESULTS / "suites" / "harm.json") in SUITES:
        made["docs/harm.md"] = suite_text(load(RESULTS / "suites" / "harm.json"))
    return made


def test_documents_show_the_committed_results() -> None:
    for document, made in texts().items():
        text = (REPO / document).read_text()
        assert generated.replace_between(text, made) == text, f"{document}: make it anew, see there"


def test_readme_is_one_screen_and_its_links_lead_somewhere() -> None:
    text = (REPO / "README.md").read_text()
    assert len(text.splitlines()) <= 110
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (REPO / target).exists(), target
