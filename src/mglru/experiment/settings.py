# SPDX-License-Identifier: GPL-2.0-only
"""Settings, `key=value` as for `--set`: what they change in an experiment's table."""

from __future__ import annotations

import tomllib
from typing import Any

from mglru.core.errors import UsageError

Table = dict[str, Any]

# Short names for what is varied most.
ALIASES = {
    "limit": "memcg.memory.max",
    "retain": "memcg_optional.memory.retain",
    "zipf": "trace.theta",
}


def apply_setting(table: Table, setting: str) -> None:
    """Change an experiment's table as a setting says.

    Raises:
        UsageError: it is not key=value, or its key names a table.
    """
    key, equals, text = setting.partition("=")
    key = ALIASES.get(key.strip(), key.strip())
    if not equals or not key:
        raise UsageError(f"'{setting}' is not key=value", next_step="as in --set limit=200M")
    section, dot, rest = key.partition(".")
    value = _value(text)
    if not dot:
        parameters = table.get("parameters", {})
        if key in parameters:
            parameters[key] = value
        elif isinstance(table.get(key), dict):
            raise UsageError(f"'{key}' is a table", next_step=f"set one of its keys: {key}.KEY=...")
        else:
            table[key] = value
        return
    inner = table.setdefault(section, {})
    if not isinstance(inner, dict):
        raise UsageError(f"'{section}' is not a table", next_step="see the experiment's file")
    # memory.max and vm.dirty_ratio are written as strings, whatever they look like
    inner[rest] = text if section in ("memcg", "memcg_optional", "sysctl") else value


def _value(text: str) -> object:
    """Read a value as TOML would, else as a plain string."""
    try:
        return tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        return text
