# SPDX-License-Identifier: GPL-2.0-only
"""What a sweep varies: `limit=64M..512M`, `zipf=0.8,0.99,1.2`, and the points that this makes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

from mglru.core.errors import UsageError
from mglru.core.sizes import UNITS, size_bytes, size_text
from mglru.experiment.settings import Setting, short_name

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
    return Setting.of(key, value).text if isinstance(value, str) else value


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
        sizes = all(size_bytes(value) is not None for value in values)
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
    numbers = [_number(word) for word in words]
    values = [
        word if number is None else number for word, number in zip(words, numbers, strict=True)
    ]
    if any(size_bytes(value) is not None for value in values):
        _check_sizes(key, text, values)
    if len({size_bytes(value) or value for value in values}) < len(values):
        raise UsageError(f"'{key}={text}' has a value twice", next_step="leave one of them out")
    return values


def _check_sizes(key: str, text: str, values: Sequence[Value]) -> None:
    """Refuse what is no size beside what is one.

    Raises:
        UsageError: see above.
    """
    for value in values:
        if size_bytes(value) is None:
            number = not isinstance(value, str)
            raise UsageError(
                f"'{key}={text}': {value} {'has no unit' if number else 'is no size'}",
                next_step=f"write {value}M" if number else "sizes end in K, M, G or T",
            )


def _range(key: str, text: str, points: int) -> list[Value]:
    low, _dots, high = (part.strip() for part in text.partition(".."))
    sizes = size_bytes(low), size_bytes(high)
    if sizes[0] is not None and sizes[1] is not None:
        _check_order(key, text, sizes[0], sizes[1])
        inner = [_as_size(value) for value in _geometric(sizes[0], sizes[1], points)]
        return _distinct([low, *inner, high])
    ends = _number(low), _number(high)
    if ends[0] is None or ends[1] is None:
        raise UsageError(f"'{key}={text}': {_not_a_range(low, high)}", next_step=_EXAMPLE)
    _check_order(key, text, ends[0], ends[1])
    whole = isinstance(ends[0], int) and isinstance(ends[1], int)
    rounded = [_rounded(value, whole=whole) for value in _geometric(ends[0], ends[1], points)]
    return _distinct([ends[0], *rounded, ends[1]])


def _not_a_range(low: str, high: str) -> str:
    numbers = [end for end in (low, high) if _number(end) is not None]
    if numbers and size_bytes(low if numbers == [high] else high) is not None:
        return f"one end has a unit, {numbers[0]} has none"
    bad = next(end for end in (low, high) if _number(end) is None and size_bytes(end) is None)
    return f"'{bad}' is neither a number nor a size"


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


def _as_size(value: float) -> str:
    """Return bytes as a whole number of a unit that rounds by at most 5 %."""
    fitting = [unit for unit, size in UNITS.items() if value / size >= FEWEST_UNITS]
    unit = fitting[-1] if fitting else "K"
    return size_text(max(1, round(value / UNITS[unit])) * UNITS[unit])


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
