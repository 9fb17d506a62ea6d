# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru stress`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mglru.cli.common import KERNELS, report_failures, source_option
from mglru.cli.known import MOST_CPUS, MOST_NODES
from mglru.source.kernel_id import KernelId

if TYPE_CHECKING:
    from rich.console import Console

    from mglru.results.model import BootRecord

DEFAULT = "6.12+next%debug"
FIGURES = (
    *("groups_created", "children_killed", "children_with_faults"),
    *("wrong_pages", "stressors_failed"),
)
HELP = """Do to a kernel's memory management all that can happen to it, and see whether it bears it.

On the machine qemu-threads (x86, several processors and memory nodes), from many processes at
once: memory cgroups made, filled, reclaimed from, retaining, removed; every switch of the
multi-gen LRU; swap off and on; huge pages, migration, compaction; truncation, mlock, madvise;
debugfs commands, right and wrong; allocations that fail; and stress-ng's memory stressors, which
are fetched from Debian. docs/lab/stress.md has all of it.

Exit code 1 if the kernel reports anything (warning, lockdep, KASAN, a hung task), a page does not
hold what was written to it, or the kernel's counters do not agree at the end.
"""


@click.command(help=HELP)
@click.option(
    "--minutes", type=click.FloatRange(0.1, 10_000), default=10.0, show_default=True, metavar="N"
)
@click.option(
    "--kernels",
    type=KERNELS,
    default=DEFAULT,
    show_default=True,
    metavar="A,B,...",
    help="One after another. %debug: kernels that check themselves.",
)
@click.option("--cpus", type=click.IntRange(1, MOST_CPUS), default=MOST_CPUS, show_default=True)
@click.option("--nodes", type=click.IntRange(1, MOST_NODES), default=2, show_default=True)
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=1, show_default=True)
@click.option("--stress-ng/--no-stress-ng", default=True, help="Run its stressors, too.")
@click.option("--json", "json_file", metavar="FILE|-", help="Write the results as JSON.")
@source_option
def stress(
    *,
    minutes: float,
    kernels: tuple[KernelId, ...],
    cpus: int,
    nodes: int,
    seed: int,
    stress_ng: bool,
    json_file: str | None,
    own_sources: tuple[Path, ...],
) -> int:
    """Run the stress on several processors; the help above is what the user sees."""
    from rich.console import Console

    from mglru.core.ui import Ui
    from mglru.results.output_file import STDOUT
    from mglru.study.stress import ALONE, NAME, WantedStress, run_stress

    ui = Ui()
    wanted = WantedStress(
        kernels=kernels,
        seconds=max(1, round(minutes * 60)),
        cpus=cpus,
        nodes=nodes,
        name=NAME if stress_ng else ALONE,
        seed=seed,
        json_file=json_file,
        own_sources=own_sources,
    )
    result = run_stress(wanted, ui)
    if json_file != STDOUT:
        show(result.raw, Console(soft_wrap=True, highlight=False))
    return report_failures([result], ui)


def show(records: Sequence[BootRecord], out: Console) -> None:
    """Print what was done how often on which kernel, and what the counters said at the end."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("done (and refused)")
    for record in records:
        table.add_column(record.kernel, justify="right")
    for row in _rows(records):
        table.add_row(*row)
    out.print(table)
    for record in records:
        out.print(f"{record.kernel}: {_verdict(record)}")


def _verdict(record: BootRecord) -> str:
    from mglru.study.stress import disagreements

    if "actions" not in record.metrics:
        return "did not come to its end"
    wrong = disagreements(record)
    text = ", ".join(f"{name} {value:,.0f}" for name, value in wrong.items())
    return f"counters DISAGREE: {text}" if text else "counters agree"


def _rows(records: Sequence[BootRecord]) -> Iterator[list[str]]:
    from mglru.study.stress import action_counts

    counts = [{each.name: each for each in action_counts(record.metrics)} for record in records]
    for name in dict.fromkeys(name for found in counts for name in found):
        cells = (found.get(name) for found in counts)
        yield [name, *(f"{it.done:,} ({it.refused:,})" if it else "" for it in cells)]
    for name in FIGURES:
        values = (record.metrics.get(name) for record in records)
        yield [name, *("" if value is None else f"{value:,.0f}" for value in values)]
