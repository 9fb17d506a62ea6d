# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru series check --matrix`: does the series compile, quietly, however a kernel is set up?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mglru.checks.matrix.build import MatrixTask, Side
from mglru.checks.matrix.config import MatrixConfiguration
from mglru.checks.matrix.messages import CompilerMessage, new_messages
from mglru.core.errors import ExitCode, LabError


@dataclass(frozen=True)
class MatrixOutcome:
    """What came of one configuration.

    Attributes:
        configuration: which.
        objects: how many were compiled with the series.
        stock: how many messages the stock source gives.
        new: the messages that are not stock's.
        failed: objects that compile on stock, or are the series' own, and do not compile.
        broken: objects that do not compile on stock either.
        problem: why nothing could be compiled; empty if it could.
    """

    configuration: MatrixConfiguration
    objects: int = 0
    stock: int = 0
    new: tuple[CompilerMessage, ...] = ()
    failed: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    problem: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the series compiles and adds no message."""
        return not (self.new or self.failed or self.problem)

    @property
    def word(self) -> str:
        """What a table says."""
        return "passed" if self.passed else "FAILED"


def check_matrix(
    pairs: Sequence[tuple[MatrixTask, MatrixTask]],
    compile_task: Callable[[MatrixTask], Side],
    report: Callable[[MatrixOutcome], None],
) -> tuple[MatrixOutcome, ...]:
    """Compile each configuration of stock and patched source, and compare.

    Args:
        pairs: the task of stock and that of the series, for each configuration.
        compile_task: compiles one (`matrix_build.compile_side`).
        report: gets each outcome as soon as it is known.

    Raises:
        LabError: interrupted. Other errors are the outcome of their configuration.
    """
    outcomes = []
    for stock, patched in pairs:
        outcome = _outcome(stock, patched, compile_task)
        report(outcome)
        outcomes.append(outcome)
    return tuple(outcomes)


def _outcome(
    stock: MatrixTask, patched: MatrixTask, compile_task: Callable[[MatrixTask], Side]
) -> MatrixOutcome:
    try:
        before, after = compile_task(stock), compile_task(patched)
    except LabError as error:
        if error.exit_code == ExitCode.INTERRUPTED:
            raise
        return MatrixOutcome(patched.configuration, problem=(error.what, *error.log_tail))
    return compare(patched.configuration, before, after)


def compare(configuration: MatrixConfiguration, stock: Side, patched: Side) -> MatrixOutcome:
    """Return what the series adds to what stock says."""
    return MatrixOutcome(
        configuration,
        objects=len(patched.objects),
        stock=len(stock.messages),
        new=new_messages(stock.messages, patched.messages),
        failed=tuple(name for name in patched.failed if name not in stock.failed),
        broken=tuple(name for name in patched.failed if name in stock.failed),
    )
