# SPDX-License-Identifier: GPL-2.0-only
"""Settings: `key=value` as for `--set` in, a value out that changes an experiment's table."""

from __future__ import annotations

import contextlib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mglru.core.errors import UsageError
from mglru.experiment import memcg

Table = dict[str, Any]

# Short names for what is varied most.
ALIASES = {
    "limit": "memcg.memory.max",
    "retain": "memcg_optional.memory.retain",
    "zipf": "trace.theta",
}
_SHORT = {key: name for name, key in ALIASES.items()}
_PARAMETERS = "parameters."
_MEMCG = ("memcg", "memcg_optional")
# memory.max and vm.dirty_ratio are written as strings, whatever they look like.
_OF_STRINGS = (*_MEMCG, "sysctl")
# Up to here a float is one whole number only.
_EXACT = 1 << 53


def short_name(key: str) -> str:
    """Return the one name of a key that results, tables and sweeps have it under."""
    return _SHORT.get(key, key.removeprefix(_PARAMETERS))


@dataclass(frozen=True)
class Setting:
    """One setting; two ways to write it give the same one.

    Attributes:
        name: what it changes: one of ALIASES, a parameter's or a field's name, or `table.key`.
        text: to what. Of sizes and numbers, which can be written in several ways, the one that
            all of them become; all else as it was written.
    """

    name: str
    text: str

    @classmethod
    def parse(cls, text: str) -> Setting:
        """Read `key=value`.

        Raises:
            UsageError: it is not of that form.
        """
        key, equals, value = text.partition("=")
        key = key.strip()
        if not equals or not key:
            raise UsageError(f"'{text}' is not key=value", next_step="as in --set limit=200M")
        # A space in front may be meant: `swappiness= swappiness=0`.
        return cls.of(key, value)

    @classmethod
    def of(cls, key: str, value: object) -> Setting:
        """Return the setting of a key, by whatever name, to a value, however it is written."""
        name, text = short_name(key), str(value)
        section, dot, rest = ALIASES.get(name, name).partition(".")
        if section in _MEMCG:
            return cls(name, memcg.normal(rest, text))
        if section in _OF_STRINGS:
            return cls(name, text.strip())
        number = _field_number(text) if dot else _value(text)
        return cls(name, str(number) if type(number) in (int, float) else text)

    def __str__(self) -> str:
        return f"{self.name}={self.text}"

    def apply(self, table: Table) -> None:
        """Change an experiment's table.

        Raises:
            UsageError: the key names a table, or something in what is none.
        """
        section, dot, rest = ALIASES.get(self.name, self.name).partition(".")
        if not dot:
            self._apply_plain(table)
            return
        inner = table.setdefault(section, {})
        if not isinstance(inner, dict):
            raise UsageError(f"'{section}' is not a table", next_step="see the experiment's file")
        inner[rest] = self.text if section in _OF_STRINGS else _value(self.text)

    def _apply_plain(self, table: Table) -> None:
        """Change a parameter or a field; a parameter first."""
        parameters = table.get("parameters", {})
        if self.name in parameters:
            parameters[self.name] = _value(self.text)
        elif isinstance(table.get(self.name), dict):
            raise UsageError(
                f"'{self.name}' is a table", next_step=f"set one of its keys: {self.name}.KEY=..."
            )
        else:
            table[self.name] = _value(self.text)


def read_settings(settings: Iterable[Setting | str]) -> tuple[Setting, ...]:
    """Return settings, those that are text read.

    Raises:
        UsageError: one is not key=value.
    """
    return tuple(each if isinstance(each, Setting) else Setting.parse(each) for each in settings)


def recorded(settings: Iterable[Setting]) -> dict[str, str]:
    """Return settings as a result keeps them; of two for one key the last counts."""
    return {setting.name: setting.text for setting in settings}


def from_record(parameters: Mapping[str, object]) -> tuple[Setting, ...]:
    """Return the settings that a result keeps, also of one that names them in full."""
    return tuple(Setting.of(key, value) for key, value in parameters.items())


def _field_number(text: str) -> object:
    """Read a value of a table's field, whose type makes one number of `.9` and 0.9, 2.0 and 2.

    Not of a parameter: programs get those as they are written.
    """
    number = _value(text)
    # TOML has neither `.9` nor `9.`.
    if number == text:
        with contextlib.suppress(ValueError):
            number = float(text)
    if isinstance(number, float) and number.is_integer() and abs(number) < _EXACT:
        return int(number)
    return number


def _value(text: str) -> object:
    """Read a value as TOML would, else as a plain string."""
    try:
        return tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        return text
