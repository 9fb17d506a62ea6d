# SPDX-License-Identifier: GPL-2.0-only
"""Experiments drawn at random: patterns that nobody chose, so that nobody tuned to them.

Each is a few *things* that are used (files read, written or mapped, heaps, logs), of random sizes
around the memory limit, and a few phases, in each of which some of them are used. A thing is the
same in all phases: what was there before is wanted again, or not.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mglru.core.errors import UsageError
from mglru.core.files import write_whole
from mglru.core.paths import EXPERIMENTS

SUITE = "drawn"
FILE_MB = 560
STREAMS_BEGIN_MB = 400
# What is used in a phase that has to end, so that a boot takes seconds: accesses, megabytes.
MAX_ACCESSES, MAX_SCANNED_MB = 30_000, 160

HEAD = """# SPDX-License-Identifier: GPL-2.0-only
summary = "Drawn at random, number {number}"
limit_seconds = 200
dataset = {{ kind = "file", size_mb = 1300, file_mb = {file_mb} }}
guest = {{ memory_mb = 1900 }}
memcg = {{ "memory.max" = "{limit_mb}M" }}
{swap}metrics = [
  {{ name = "pgpgin", better = "lower" }},
  {{ name = "pgpgout", better = "lower" }},
  {{ name = "elapsed_seconds", better = "lower" }},
]

[[steps]]
label = "run"
join = "program"
argv = ["{{program:patterns}}", "--seed", "{{seed}}", "--join",
{actors}]
"""
SWAP = {
    "none": "",
    "zram": "swap = {{ zram_mb = {mb} }}\n",
    "disk": "swap = {{ disk_mb = {mb}, completion_us = 80 }}\n",
}


@dataclass(frozen=True, kw_only=True)
class Thing:
    """What is used in several phases, always in the same way.

    Attributes:
        name: part of the name of each of its actors.
        target: where it is: the keys of an actor of `patterns`.
        mb: its size.
        theta: how uneven the use of its pages is; None: it is gone through from begin to end.
        threads: how many use it at a time.
        think_us: after each page.
    """

    name: str
    target: str
    mb: int
    theta: float | None
    threads: int
    think_us: int

    def actor(self, draw: random.Random, phase: int, *, ends: bool) -> str:
        """Return an actor that uses it in a phase, which ends when it does, or ends it."""
        about = f"name={self.name}p{phase} {self.target} mb={self.mb}"
        if self.theta is None:
            rounds = max(1, min(6, MAX_SCANNED_MB // self.mb)) if ends else 0
            return f"scan {about} rounds={rounds} think_us={self.think_us * 8}"
        accesses = min(MAX_ACCESSES, int(self.mb * 256 * draw.uniform(1, 4)))
        ops = accesses // self.threads if ends else 0
        return (
            f"random {about} theta={self.theta:g} threads={self.threads} "
            f"think_us={self.think_us} batch=16 ops={ops}"
        )


def experiment(number: int) -> str:
    """Return the TOML of the experiment of this number: always the same one."""
    draw = random.Random(f"{SUITE} {number}")  # noqa: S311 (no secret)
    limit_mb = int(_between(draw, 24, 64))
    swap = draw.choices(["none", "zram", "disk"], [5, 2, 3])[0]
    things = _things(draw, limit_mb, swaps=swap != "none")
    actors: list[str] = []
    for phase in range(draw.randint(3, 6)):
        if phase > 0:
            actors.append("--begin" if phase == 1 else "--then")
        actors += _phase(draw, things, limit_mb, phase)
    return HEAD.format(
        number=number,
        file_mb=FILE_MB,
        limit_mb=limit_mb,
        swap=SWAP[swap].format(mb=4 * limit_mb),
        actors=",\n".join(f'  "{actor}"' for actor in actors),
    )


def write(numbers: Sequence[int], directory: Path = EXPERIMENTS) -> Path:
    """Write the experiments of these numbers; return their folder.

    What is there already is the same text, unless somebody changed it.

    Raises:
        UsageError: a file is there that says something else.
    """
    folder = directory / SUITE
    texts = {folder / f"{SUITE}-{number}.toml": experiment(number) for number in numbers}
    for path, text in texts.items():
        if path.exists() and path.read_text() != text:
            raise UsageError(
                f"{path} was changed, or made by another version",
                next_step=f"move it away: {folder} is made again",
            )
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        write_whole(path, text)
    return folder


def _between(draw: random.Random, low: float, high: float) -> float:
    """Return a number of which the logarithm is uniform."""
    return math.exp(draw.uniform(math.log(low), math.log(high)))


def _things(draw: random.Random, limit_mb: int, *, swaps: bool) -> list[Thing]:
    """Return two to four things, the files' ranges one behind the other."""
    things: list[Thing] = []
    at_mb = 0
    for number in range(draw.randint(2, 4)):
        kind = draw.choices(["read", "write", "map", "heap", "log"], [5, 1, 1, 2, 1])[0]
        # Without swap heaps have to fit together.
        most = 1.6 if kind != "heap" else 0.9 if swaps else 0.22
        least, most = (0.5, 3) if kind == "log" else (0.1, most)
        mb = max(2, int(limit_mb * _between(draw, least, most)))
        theta = _theta(draw) if kind != "log" else None
        targets = {
            "heap": f"anon=heap{number}",
            "log": f"file={{data}}/log{number} how=write sync=8",
        }
        target = targets.get(kind, f"file={{data}}/file at_mb={at_mb} how={kind}")
        if kind not in targets:
            at_mb += mb
            target += " advice=random" if theta is not None else ""
        things.append(
            Thing(
                name=f"{kind}{number}",
                target=target,
                mb=mb,
                theta=theta,
                threads=draw.choice([1, 2, 4]),
                think_us=draw.choice([10, 20, 40, 80]),
            )
        )
    return things


def _theta(draw: random.Random) -> float | None:
    """Return how uneven the use of a thing is: the same for all pages, zipfian, or in laps."""
    skewed = round(draw.uniform(0.5, 0.99), 2)
    return draw.choices([0.0, skewed, None], [4, 4, 3])[0]


def _phase(draw: random.Random, things: Sequence[Thing], limit_mb: int, phase: int) -> list[str]:
    """Return the actors of a phase: some of the things, and sometimes a stream."""
    many = min(len(things), draw.choices([1, 2, 3], [4, 4, 2])[0])
    used = draw.sample(things, many)
    actors = [thing.actor(draw, phase, ends=number == 0) for number, thing in enumerate(used)]
    if draw.random() < 0.3:
        actors.append(_stream(draw, limit_mb, phase))
    return actors


def _stream(draw: random.Random, limit_mb: int, phase: int) -> str:
    """Return who reads something once that is not read before or after, or writes it."""
    mb = int(limit_mb * _between(draw, 0.3, 4))
    think_us = draw.choice([30, 100, 300])
    target = f"file={{data}}/new{phase} how=write"
    # All of it has to fit on the disk, and what is read into the file.
    mb = min(mb, FILE_MB - STREAMS_BEGIN_MB)
    if draw.random() < 0.75:
        at_mb = draw.randint(STREAMS_BEGIN_MB, FILE_MB - mb)
        target = f"file={{data}}/file at_mb={at_mb}"
    return f"scan name=stream{phase} {target} mb={mb} think_us={think_us}"
