# SPDX-License-Identifier: GPL-2.0-only
"""What import-linter does not see: names that mean one thing, tests that stand for themselves."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

from mglru.core.paths import REPO

# The folders of tests, as packages.
ROOMS = {"tests", "unit", "guest", "kernel", "conftest"}


def test_a_class_has_a_name_of_its_own() -> None:
    """Who reads `Plan` in a message, or searches for it, finds one."""
    places = defaultdict(list)
    for path in (REPO / "src").rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(REPO)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_no_test_imports_another() -> None:
    """What several use is in `support`."""
    for path in (REPO / "tests").rglob("*.py"):
        names = imported(path)
        assert not {name.partition(".")[0] for name in names} & ROOMS, path
        assert not [name for name in names if ".test_" in f".{name}"], path


def imported(path: Path) -> list[str]:
    """Return what a file imports, by full names."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found
