# SPDX-License-Identifier: GPL-2.0-only
"""Writing `patches/<base>/tested.toml`: the machine's fields change, people's notes stay."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.items import Table

from mglru.checks.releases.tested import TESTED_FILE, Tested, tested_versions, version_numbers
from mglru.core.files import write_whole

HEADER = """\
# SPDX-License-Identifier: GPL-2.0-only
# On which versions the series was tried, written by `./mglru series tested`; a `note` is yours to
# add, and stays. docs/series/patches.md tells the format.

"""
_BLANK = re.compile(r"\n{3,}")
_NO_BLANK = re.compile(r"^([^#\n].*\n)(\[\[tested)", re.MULTILINE)
# What people write; everything else is the machine's.
_OURS = "note"


def record(entry: Tested, directory: Path) -> str:
    """Return the text of tested.toml with this entry in place of that of the same version.

    Comments and notes stay as they are. Entries are sorted, the newest version first.

    Args:
        entry: what was found; its note, if it has none, is the one in the file.
        directory: where the file lies; it need not exist.

    Raises:
        LabError: the file that is there cannot be understood.
    """
    path = directory / TESTED_FILE
    tested_versions("", directory)
    document = tomlkit.parse(path.read_text() if path.is_file() else HEADER)
    entries = list(document.get("tested", ()))
    _set(_table(entries, entry.version), entry)
    entries.sort(key=lambda table: version_numbers(str(table["version"])), reverse=True)
    document["tested"] = tomlkit.aot()
    for table in entries:
        document["tested"].append(table)
    # A table that is put into another place brings the blank lines of its old one along.
    text = _BLANK.sub("\n\n", tomlkit.dumps(document)).rstrip("\n") + "\n"
    return _NO_BLANK.sub(r"\1\n\2", text)


def write(text: str, directory: Path) -> None:
    """Replace the file, all or nothing."""
    write_whole(directory / TESTED_FILE, text)


def _table(entries: list[Table], version: str) -> Table:
    """Return the table of a version, a new one if there is none."""
    for table in entries:
        if table["version"] == version:
            return table
    entries.append(tomlkit.table())
    return entries[-1]


def _set(table: Table, entry: Tested) -> None:
    fields: dict[str, Any] = entry.model_dump(exclude_defaults=True)
    for name in set(Tested.model_fields) - {_OURS, *fields}:
        table.pop(name, None)
    for name in Tested.model_fields:
        if name in fields and table.get(name) != fields[name]:
            table[name] = list(fields[name]) if name == "suites" else fields[name]
