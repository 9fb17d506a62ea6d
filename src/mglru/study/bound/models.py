# SPDX-License-Identifier: GPL-2.0-only
"""Models of page cache policies in C: builds policies/, runs it, gives misses."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mglru.core import process
from mglru.core.cache import made
from mglru.core.errors import UsageError
from mglru.core.keys import key_of
from mglru.core.paths import REPO, cache_dir
from mglru.guest.programs import compiler_version

POLICIES = REPO / "policies"
PROGRAM = "simulate"
CFLAGS = ("-O2", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-missing-field-initializers")
BUILD_LIMIT_SECONDS = 120
RUN_LIMIT_SECONDS = 3600
SETS = ("train", "validate", "all")
# Those that every policy is compared with.
LRU, CLASSIC = "lru", "classic"
COLUMNS = 6


@dataclass(frozen=True)
class Misses:
    """What a policy does with a pattern.

    Attributes:
        pattern: its name, or that of the trace.
        capacity_pages: of the cache.
        policy: its name, with the parameters that were set.
        accesses: how many were counted.
        misses: how many of them were to pages that were not in the cache.
    """

    pattern: str
    capacity_pages: int
    policy: str
    accesses: int
    misses: int


def simulate(
    policies: Sequence[str],
    patterns: Sequence[str],
    capacities: Sequence[int] = (),
    chosen_set: str = SETS[0],
) -> list[Misses]:
    """Run policies on patterns; LRU and the classic LRU are always among them.

    Args:
        policies: names of models, or C files of one each, with parameters: `yield:tu=16`.
        patterns: names, or traces as FILE:PAGES:MEASURED; none: all of the set.
        capacities: sizes of the cache for patterns that are generated, in pages.
        chosen_set: one of SETS.

    Raises:
        UsageError: there is no such policy, parameter, pattern or trace.
        LabError: a policy does not compile, or the simulator failed.
    """
    files = [Path(name) for name in policies if _is_file(name)]
    program = _program(files)
    names = list(dict.fromkeys([LRU, CLASSIC, *map(_policy_name, policies)]))
    command: list[str | Path] = [program, "-r", "-s", chosen_set]
    for name in names:
        command += ["-p", name]
    for capacity in capacities:
        command += ["-c", str(capacity)]
    return _run([*command, *patterns])


def _is_file(policy: str) -> bool:
    return policy.partition(":")[0].endswith(".c")


def _policy_name(policy: str) -> str:
    """Return what the simulator calls it: a file has the policy of its own name."""
    path, colon, settings = policy.partition(":")
    return f"{Path(path).stem}{colon}{settings}" if _is_file(policy) else policy


def _run(command: Sequence[str | Path]) -> list[Misses]:
    """Run the simulator, which ends with 2 where its input is bad, and says why."""
    text = process.run(
        command, purpose="simulate policies", limit_seconds=RUN_LIMIT_SECONDS, ok=(0, 2)
    )
    lines = text.splitlines()
    if strange := [line for line in lines if line.count("\t") != COLUMNS - 1]:
        raise UsageError(
            f"the simulator: {strange[0]}",
            next_step="; ".join(line.strip() for line in strange[1:])
            or "policies/patterns.c has the patterns, policies/*.c the policies",
        )
    return [_row(line) for line in lines]


def _row(line: str) -> Misses:
    pattern, capacity, policy, accesses, misses, _share = line.split("\t")
    return Misses(pattern, int(capacity), policy, int(accesses), int(misses))


def _program(files: Sequence[Path]) -> Path:
    """Return the simulator with the policies of these files added, built if need be.

    A file of the name of one in policies/ takes its place.
    """
    replaced = {file.name for file in files}
    sources = [path for path in sorted(POLICIES.glob("*.c")) if path.name not in replaced]
    sources += sorted(set(files))
    contents = map(_read, [*sources, *sorted(POLICIES.glob("*.h"))])
    target = cache_dir("policies") / key_of("\n".join([compiler_version(), *CFLAGS]), *contents)
    return made(target, lambda staging: _build(staging, sources)) / PROGRAM


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"cannot read the policy {path}: {error.strerror}",
            next_step="name a C file as those in policies/, or a policy of them",
        ) from error


def _build(staging: Path, sources: Sequence[Path]) -> None:
    compiler = os.environ.get("CC") or "gcc"
    process.run(
        [compiler, *CFLAGS, f"-I{POLICIES}", *sources, "-o", staging / PROGRAM, "-lm"],
        purpose="build the simulator of policies",
        limit_seconds=BUILD_LIMIT_SECONDS,
        next_step="see the compiler's messages above; policies/lru.c is the shortest policy",
    )
