# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru series check --matrix` of one base: configurations in, what came of each out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mglru.checks.matrix.build import compile_side, stock_and_next
from mglru.checks.matrix.check import MatrixOutcome, check_matrix
from mglru.checks.matrix.config import MatrixConfiguration, load_configurations
from mglru.checks.matrix.document import to_document
from mglru.core.errors import UsageError
from mglru.core.ui import Ui
from mglru.debian import packages
from mglru.results.output_file import OnceFile
from mglru.series.listing import load_series
from mglru.source.kernel_id import SERIES_BASES, KernelId
from mglru.source.trees import get_source, import_sources


def run_matrix(
    bases: Sequence[str], own: Sequence[Path], only: Sequence[str], json_file: str | None, ui: Ui
) -> tuple[MatrixOutcome, ...]:
    """Compile the series of a base under every configuration.

    Args:
        bases: one, or none for the first that has a series.
        own: the user's kernel sources.
        only: names of configurations; none: all.
        json_file: where the outcomes are written; None: nowhere.
        ui: told of each outcome as soon as it is known.

    Raises:
        UsageError: more than one base, one that has no series, or no such configuration.
        LabError: no source, or no compiler.
    """
    base = KernelId.parse(f"{_one(bases)}+next").base
    configurations = load_configurations(only)
    with OnceFile.wanted(json_file) as file:
        packages.ensure(_packages(configurations), ui)
        source = import_sources(own, note=ui.note).get(base) or get_source(base, note=ui.note)
        series = load_series(base)
        outcomes = check_matrix(
            [stock_and_next(each, source, series) for each in configurations],
            lambda task: compile_side(task, ui),
            lambda outcome: ui.note(f"{outcome.configuration.name}: {outcome.word}"),
        )
        if file:
            file.keep(to_document(base, source.version, outcomes))
    return outcomes


def _one(bases: Sequence[str]) -> str:
    if len(bases) > 1:
        raise UsageError("--matrix checks one base at a time", next_step=f"name {bases[0]} alone")
    return bases[0] if bases else SERIES_BASES[0]


def _packages(configurations: Sequence[MatrixConfiguration]) -> dict[str, str]:
    needed = dict(packages.MATRIX)
    for configuration in configurations:
        needed |= configuration.packages
    return needed
