# SPDX-License-Identifier: GPL-2.0-only
from __future__ import annotations

from pathlib import Path

import pytest

from mglru import readme, tables
from mglru.compare import compare, load_named
from mglru.errors import UsageError
from mglru.paths import REPO, RESULTS


def test_only_the_part_between_the_markers_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "doc.md"
    path.write_text(f"before\n{readme.BEGIN}\nold\n{readme.END}\nafter\n")
    assert readme.update(path, "| new |\n")
    assert path.read_text() == f"before\n{readme.BEGIN}\n\n| new |\n\n{readme.END}\nafter\n"
    assert not readme.update(path, "| new |")


@pytest.mark.parametrize("text", ["", readme.BEGIN, f"{readme.END}\n{readme.BEGIN}\n"])
def test_a_document_without_its_markers_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "doc.md"
    path.write_text(text)
    with pytest.raises(UsageError, match="marker"):
        readme.update(path, "x")
    assert path.read_text() == text


README_RESULTS = [
    *("ycsb-a", "ycsb-a-slow", "ycsb-b", "pgbench", "app-launch"),
    *("get-scan", "file-search", "loop", "read-twice"),
    *("stream-copy", "siblings", "oom-dirty", "memcg-create"),
]


@pytest.mark.parametrize(
    ("document", "names"),
    [
        ("README.md", README_RESULTS),
        ("docs/results.md", [path.stem for path in sorted(RESULTS.glob("*.json"))]),
    ],
)
def test_documents_show_the_committed_results(document: str, names: list[str]) -> None:
    runs = load_named([RESULTS / f"{name}.json" for name in names])
    comparisons = compare(runs)
    text = (REPO / document).read_text()
    assert readme.replace_between(text, tables.render(comparisons, "markdown")) == text
