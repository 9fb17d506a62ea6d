# SPDX-License-Identifier: GPL-2.0-only
"""Reports of KUnit, made and shown."""

from __future__ import annotations

import io

from rich.console import Console

from mglru.checks.kunit import (
    KunitOutcome,
    KunitReport,
)
from mglru.cli.kernel.kunit import show


def report(*suites: KunitOutcome, problems: tuple[str, ...] = ()) -> KunitReport:
    return KunitReport(kernel="6.12%kunit", release="6.12.0-x", suites=suites, problems=problems)


def shown(what: KunitReport) -> list[str]:
    out = io.StringIO()
    show(what, Console(file=out, width=100, soft_wrap=True))
    return [line.rstrip() for line in out.getvalue().splitlines()]
