# SPDX-License-Identifier: GPL-2.0-only
"""Reading KTAP with the kernel's own parser, as a program: ktap.py TREE/tools/testing/kunit LOG.

Prints {"suites": [...], "errors": [...]} as JSON; each suite is {"name", "status", "log",
"tests": [...]}, and its tests are the same again. The parser comes with every kernel source, so
that it reads what that kernel writes; it is imported here and nowhere else in the lab.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_ERROR = re.compile(r"\[ERROR\] (Test: )?(.*)")


def _plain(test: Any) -> dict[str, Any]:
    """Return a parsed test and its subtests as JSON's values."""
    return {
        "name": test.name,
        "status": test.status.name,
        "log": [str(line) for line in test.log],
        "tests": [_plain(one) for one in test.subtests],
    }


def _parse(directory: str, lines: Iterable[str]) -> tuple[Any, str]:
    """Return what the parser made of a log, and what it said."""
    said = io.StringIO()
    sys.path.insert(0, directory)
    with contextlib.redirect_stdout(said):
        parser = importlib.import_module("kunit_parser")
        printer = importlib.import_module("kunit_printer").stdout
        # Later kernels want to be told where to print.
        told = "printer" in inspect.signature(parser.parse_run_tests).parameters
        test = parser.parse_run_tests(lines, *([printer] if told else []))
    return test, _COLOURS.sub("", said.getvalue())


def main(directory: str, log: str) -> None:
    """Parse a log and print what it says."""
    test, said = _parse(directory, Path(log).read_text(errors="replace").splitlines())
    found = [_ERROR.search(line) for line in said.splitlines()]
    errors = [match[2] for match in found if match]
    json.dump({"suites": [_plain(one) for one in test.subtests], "errors": errors}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
