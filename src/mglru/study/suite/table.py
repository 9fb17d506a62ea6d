# SPDX-License-Identifier: GPL-2.0-only
"""The table that a suite ends with: the worst ratio of each family, the worst family first."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from mglru.experiment.files import split_name
from mglru.results.marks import MIN_PAIRS
from mglru.results.tables import markdown_row, text_console, times
from mglru.series.state import FOOTNOTE
from mglru.study.suite.harm import FamilyHarm, Worst
from mglru.study.suite.measures import (
    MEASURES,
    READ_FLOOR_KB,
    SECONDS_FLOOR,
    TAIL_FLOOR_US,
)

WORSE, PERHAPS = "!", "?"
# Families from which on a mean over them says something.
MIN_SUMMED = 5


def failures(found: Sequence[FamilyHarm], allowed: float) -> list[str]:
    """Say of every family that is worse than allowed, or gave no figures, that it is."""
    texts = []
    for family in found:
        over = [m for m, worst in family.worst.items() if worst.exceeds(allowed)]
        if over:
            texts.append(f"{family.family}: {', '.join(over)} above {allowed:g}")
        texts += family.missing
    return texts


def render(
    found: Sequence[FamilyHarm],
    *,
    subject: str,
    allowed: float,
    width: int | None = None,
    colour: bool = False,
) -> str:
    """Return the table for people.

    Args:
        found: what `harm` gave.
        subject: the kernel that is judged.
        allowed: the ratio up to which it is no harm.
        width: of the terminal, in characters.
        colour: whether what is worse is coloured.
    """
    console, buffer = text_console(width, colour=colour)
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    grid.add_column("family", overflow="fold")
    for measure in MEASURES:
        grid.add_column(measure, overflow="fold")
    for family in found:
        cells = [_cell(family.worst.get(measure), allowed) for measure in MEASURES]
        grid.add_row(family.heading, *cells)
    console.print(Text(title(found, subject), style="bold"), soft_wrap=True)
    console.print(grid)
    for line in footer(found, allowed):
        console.print(line, markup=False, soft_wrap=True)
    return buffer.getvalue()


def markdown(found: Sequence[FamilyHarm], *, subject: str, allowed: float) -> str:
    """Return the table as Markdown; see `render`."""
    lines = [f"**{title(found, subject)}**", "", markdown_row(["family", *MEASURES])]
    lines.append(markdown_row(["---"] * (1 + len(MEASURES))))
    for family in found:
        cells = [" ".join(_parts(family.worst.get(measure), allowed)) for measure in MEASURES]
        lines.append(markdown_row([family.heading, *cells]))
    lines += ["", *(f"{line}  " for line in footer(found, allowed))]
    return "\n".join(lines) + "\n"


def title(found: Sequence[FamilyHarm], subject: str) -> str:
    """Return what the table is about."""
    counts = sorted({family.seeds for family in found})
    seeds = "1 seed" if counts == [1] else f"{' or '.join(map(str, counts))} seeds"
    return f"{subject}: the worst ratio of each family to the better of the stock kernels; {seeds}"


def footer(found: Sequence[FamilyHarm], allowed: float) -> list[str]:
    """Return the lines below the table: what the marks mean, what does not count, notes."""
    above = f"{WORSE} above {allowed:g}: at {MIN_PAIRS} seeds and more the whole interval is"
    return [
        *_summary(found, allowed),
        f"{above}, with fewer the ratio alone; {PERHAPS} the ratio is, but the interval is not",
        "in brackets: the point, what it is a ratio to, and the seed whose own ratio is largest",
        f"counted as that much if less: {READ_FLOOR_KB / 1024:g} MB read or written, "
        f"{SECONDS_FLOOR * 1000:g} ms, {TAIL_FLOOR_US:g} us of a tail",
        *([FOOTNOTE] if any(family.other_state for family in found) else []),
        *(f"note: {note}" for family in found for note in (*family.missing, *family.notes)),
    ]


def _summary(found: Sequence[FamilyHarm], allowed: float) -> list[str]:
    """Say of each measure how the families fare together, as far as there are ratios."""
    texts = []
    for measure in MEASURES:
        ratios = [
            family.worst[measure].ratio
            for family in found
            if measure in family.worst and 0 < family.worst[measure].ratio < math.inf
        ]
        if len(ratios) >= MIN_SUMMED:
            above = sum(ratio > allowed for ratio in ratios)
            texts.append(
                f"{measure} {times(statistics.geometric_mean(ratios))} ({above} of {len(ratios)})"
            )
    if not texts:
        return []
    return [f"geometric mean, and how many are above {allowed:g}: {'; '.join(texts)}"]


def _cell(worst: Worst | None, allowed: float) -> Text:
    parts = _parts(worst, allowed)
    if worst is None:
        return Text("")
    style = "red" if worst.exceeds(allowed) else "yellow" if worst.may_exceed(allowed) else ""
    text = Text(parts[0], style=style)
    for part in parts[1:]:
        text.append(f"\n{part}", style="dim")
    return text


def _parts(worst: Worst | None, allowed: float) -> list[str]:
    """Return a cell's ratio with its mark, its interval, and where it is."""
    if worst is None:
        return []
    mark = WORSE if worst.exceeds(allowed) else PERHAPS if worst.may_exceed(allowed) else ""
    point = split_name(worst.point)[1]
    if math.isinf(worst.ratio):
        where = ", ".join(part for part in (point, f"seed {worst.worst_seed}") if part)
        return [f"fails {mark}", f"[{where}: {worst.why or worst.metric}]"]
    interval = worst.interval
    spread = f"{interval.low:.2f}..{interval.high:.2f}" if interval and not interval.exact else ""
    seed = f"{worst.worst_ratio:.2f} at seed {worst.worst_seed}" if worst.pairs > 1 else ""
    if worst.pairs == 1:
        seed = f"seed {worst.worst_seed}"
    where = ", ".join(part for part in (point, worst.metric, f"to {worst.reference}", seed) if part)
    return [
        part for part in (f"{times(worst.ratio)} {mark}".rstrip(), spread, f"[{where}]") if part
    ]
