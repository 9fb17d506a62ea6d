# SPDX-License-Identifier: GPL-2.0-only
"""What a sweep varies: `limit=64M..512M`, `zipf=0.8,0.99,1.2`, and the points that this makes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

from mglru.core.errors import UsageError
from mglru.core.sizes import UNITS, Size, size_with_unit
from mglru.experiment.settings import Setting, short_name

# A number, a Size (which is one, and is text in files), or a word.
Value = str | int | float
Settings = dict[str, Value]

MEMORY = "limit"
# In the largest unit that leaves this much, whole numbers are near enough.
FEWEST_UNITS = 10
DIGITS = 3
_EXAMPLE = "as in --vary limit=64M..512M or --vary zipf=0.8,0.99,1.2"


def parse_vary(texts: Sequence[str], points: int) -> dict[str, list[Value]]:
    """Read every `--vary`, in order.

    Args:
        texts: `key=A..B` or `key=a,b,c`.
        points: how many values a range has, its ends included.

    Returns:
        the values of each key, ascending where they are a range.

    Raises:
        UsageError: not of that form, a key given twice, or values that do not go together.
    """
    varied: dict[str, list[Value]] = {}
    for text in texts:
        key, equals, values = (part.strip() for part in text.partition("="))
        if not equals or not key or not values:
            raise UsageError(f"'{text}' is not key=values", next_step=_EXAMPLE)
        key = short_name(key)
        if key in varied:
            raise UsageError(f"'{key}' is varied twice", next_step="give all of its values at once")
        varied[key] = [_normal(key, value) for value in _values(key, values, points)]
    return varied


def _normal(key: str, value: Value) -> Value:
    """Return a value as a setting of that key has it; a number stays one."""
    if not isinstance(value, Size | str):
        return value
    text = Setting.of(key, value).text
    return size_with_unit(text) or text


def read_value(text: str) -> Value:
    """Return a value as it is written: a number, a size with its unit, or the word itself."""
    number = _number(text)
    if number is not None:
        return number
    size = size_with_unit(text)
    return text if size is None else size


def combinations(varied: Mapping[str, Sequence[Value]]) -> list[Settings]:
    """Return every point: one value of each key, the last key changing fastest."""
    return [
        dict(zip(varied, values, strict=True)) for values in itertools.product(*varied.values())
    ]


def describe(settings: Mapping[str, Value]) -> str:
    """Return a point for people, as `limit=64M zipf=0.99`."""
    return " ".join(f"{key}={value}" for key, value in settings.items())


def axis_of(varied: Mapping[str, Sequence[Value]]) -> str:
    """Return the key for a horizontal axis: memory, else what has sizes or numbers, else any."""

    def rank(key: str) -> tuple[bool, bool, bool]:
        values = varied[key]
        sizes = all(isinstance(value, Size) for value in values)
        return short_name(key) == MEMORY, sizes, not any(isinstance(v, str) for v in values)

    return max(varied, key=rank)


def _values(key: str, text: str, points: int) -> list[Value]:
    values = _range(key, text, points) if ".." in text else _list(key, text)
    if len(values) < 2:
        raise UsageError(
            f"'{key}' has one value only, {values[0]}",
            next_step=f"use --set {key}={values[0]}, or give a range or several values",
        )
    return values


def _list(key: str, text: str) -> list[Value]:
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise UsageError(f"'{key}={text}' has an empty value", next_step=_EXAMPLE)
    values = [read_value(word) for word in words]
    if any(isinstance(value, Size) for value in values):
        _check_sizes(key, text, values)
    if len(set(values)) < len(values):
        raise UsageError(f"'{key}={text}' has a value twice", next_step="leave one of them out")
    return values


def _check_sizes(key: str, text: str, values: Sequence[Value]) -> None:
    """Refuse what is no size beside what is one.

    Raises:
        UsageError: see above.
    """
    for value in values:
        if not isinstance(value, Size):
            number = not isinstance(value, str)
            raise UsageError(
                f"'{key}={text}': {value} {'has no unit' if number else 'is no size'}",
                next_step=f"write {value}M" if number else "sizes end in K, M, G or T",
            )


def _range(key: str, text: str, points: int) -> list[Value]:
    low, _dots, high = (read_value(part.strip()) for part in text.partition(".."))
    if isinstance(low, Size) and isinstance(high, Size):
        _check_order(key, text, low, high)
        return _distinct([low, *map(_as_size, _geometric(low, high, points)), high])
    if isinstance(low, Size | str) or isinstance(high, Size | str):
        raise UsageError(f"'{key}={text}': {_not_a_range(low, high)}", next_step=_EXAMPLE)
    _check_order(key, text, low, high)
    whole = isinstance(low, int) and isinstance(high, int)
    rounded = [_rounded(value, whole=whole) for value in _geometric(low, high, points)]
    return _distinct([low, *rounded, high])


def _not_a_range(*ends: Value) -> str:
    words = [end for end in ends if isinstance(end, str)]
    if words:
        return f"'{words[0]}' is neither a number nor a size"
    number = next(end for end in ends if not isinstance(end, Size))
    return f"one end has a unit, {number} has none"


def _check_order(key: str, text: str, low: float, high: float) -> None:
    """Refuse a range that is none, or that has no geometric mean.

    Raises:
        UsageError: see above.
    """
    if low == high:
        raise UsageError(
            f"'{key}={text}': both ends are the same", next_step=f"use --set {key}=..."
        )
    if low > high:
        raise UsageError(
            f"'{key}={text}': the ends are reversed", next_step="write the smaller one first"
        )
    if low <= 0:
        raise UsageError(
            f"'{key}={text}': a range is geometric, so its ends are above 0",
            next_step="give a list of values instead",
        )


def _geometric(low: float, high: float, points: int) -> list[float]:
    """Return what lies between two ends so that each is the same factor above the one before."""
    return [low * (high / low) ** (step / (points - 1)) for step in range(1, points - 1)]


def _as_size(value: float) -> Size:
    """Return bytes as a whole number of a unit that rounds by at most 5 %."""
    fitting = [unit for unit, size in UNITS.items() if value / size >= FEWEST_UNITS]
    unit = fitting[-1] if fitting else "K"
    return Size(max(1, round(value / UNITS[unit])) * UNITS[unit])


def _rounded(value: float, *, whole: bool) -> int | float:
    """Return a number with three significant digits; an integer stays one."""
    rounded = round(value, DIGITS - 1 - math.floor(math.log10(value)))
    return round(rounded) if whole else rounded


def _distinct(values: Sequence[Value]) -> list[Value]:
    """Drop what rounding made the same."""
    return list(dict.fromkeys(values))


def _number(text: str) -> int | float | None:
    for read in (int, float):
        try:
            number = read(text)
        except ValueError:
            continue
        return number if math.isfinite(number) else None
    return None
