# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru bound`: the optimum and other policies beside the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mglru.cli.common import KERNELS, settings_option, source_option
from mglru.cli.known import PATTERN_SETS, SMALLEST_CACHE
from mglru.cli.run import DEMO_KERNELS
from mglru.core.errors import ExitCode, UsageError
from mglru.experiment.settings import Setting
from mglru.source.kernel_id import KernelId, parse_list

if TYPE_CHECKING:
    from mglru.study.bound.run import Boots

# The cache of patterns that are generated.
PATTERN_PAGES = 4096


@click.command()
@click.argument("names", metavar="[EXPERIMENT|PATTERN]...", nargs=-1)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="NAME|FILE",
    help="Run models of policies in C on patterns and traces instead; again for each policy.",
)
@click.option(
    "--set-of-patterns",
    "pattern_set",
    type=click.Choice(PATTERN_SETS),
    default=PATTERN_SETS[0],
    show_default=True,
    help="With --policy, if no pattern is named.",
)
@click.option(
    "--kernels",
    type=KERNELS,
    metavar="A,B,...",
    help=f"Default: {DEMO_KERNELS}; with --models, those that have one.",
)
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=1, show_default=True)
@settings_option
@click.option(
    "--capacity",
    type=click.IntRange(SMALLEST_CACHE, 2**31 - 1),
    metavar="PAGES",
    help="Of the simulated caches; what the kernel had of files, if not given.",
)
@click.option("--json", "json_file", metavar="FILE|-", help="Write the figures as JSON.")
@click.option(
    "--save-trace",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write the accesses, in libCacheSim's format oracleGeneral.",
)
@click.option("--learned", is_flag=True, help="Also simulate LRB, which takes minutes.")
@click.option(
    "--models",
    "as_models",
    is_flag=True,
    help="Compare 6.12@classic, 6.12 and 6.12+next with their models in policies/ instead.",
)
@click.option(
    "--keep",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIRECTORY",
    help="With --models: keep the traces there.",
)
@source_option
def bound(
    names: tuple[str, ...],
    *,
    policies: tuple[str, ...],
    pattern_set: str,
    kernels: tuple[KernelId, ...] | None,
    seed: int,
    settings: tuple[Setting, ...],
    capacity: int | None,
    json_file: str | None,
    save_trace: Path | None,
    learned: bool,
    as_models: bool,
    keep: Path | None,
    own_sources: tuple[Path, ...],
) -> int:
    """Show how far the kernels are from the optimum on an experiment.

    Records which pages of files each kernel's workload accesses (tracepoints, in a boot of
    its own), then simulates Belady's optimum, LRU, S3-FIFO, W-TinyLFU, ARC and others on the
    accesses of one of them: 6.12, or the first kernel named. Exit code 1 if a stock kernel's
    misses are not near those of LRU: then the recording does not show what it saw.

    With --policy: misses of that policy's model as a part of LRU's, beside the classic LRU's,
    on patterns, in seconds; patterns are those of policies/patterns.c, or recorded traces as
    FILE:PAGES:MEASURED. --policy yield:tu=16 sets a parameter, --policy mine.c compiles a file.

    With --models: the pages that came into each kernel's cache, and into its model's on the same
    accesses, with what was read ahead. Exit code 1 if a model is more than 3 % off.
    """
    if policies:
        return _policies(policies, names, capacity or PATTERN_PAGES, pattern_set)
    if as_models:
        from mglru.study.bound.kernels import MODELS

        boots = _boots(kernels or parse_list(",".join(MODELS)), seed, settings, own_sources)
        return _models(names, boots, keep)
    if len(names) != 1:
        raise UsageError(
            f"bound takes one experiment, not {len(names)}",
            next_step="name one; several patterns go with --policy",
        )
    boots = _boots(kernels or parse_list(DEMO_KERNELS), seed, settings, own_sources)
    return _bound(
        names[0],
        boots,
        json_file=json_file,
        capacity=capacity,
        save_trace=save_trace,
        learned=learned,
    )


def _boots(
    kernels: Sequence[KernelId],
    seed: int,
    settings: tuple[Setting, ...],
    own_sources: tuple[Path, ...],
) -> Boots:
    from mglru.study.bound.run import Boots

    return Boots(kernels, seed, settings, own_sources)


def _policies(
    policies: tuple[str, ...], patterns: tuple[str, ...], capacity: int, pattern_set: str
) -> int:
    """Print the misses of policies' models on patterns; return the exit code."""
    from mglru.study.bound import models, models_table

    found = models.simulate(policies, patterns, [capacity], pattern_set)
    click.echo(models_table.render(found), nl=False)
    return ExitCode.OK


def _models(names: tuple[str, ...], boots: Boots, keep: Path | None) -> int:
    """Compare kernels with their models on some experiments; return the exit code."""
    from mglru.core.ui import Ui
    from mglru.study.bound import kernels as against
    from mglru.study.bound.run import compare_models

    found, failed = compare_models(names, boots, Ui(), keep)
    click.echo(against.render(found), nl=False)
    if keep:
        click.echo(against.traces(found), nl=False)
    if failed:
        raise failed[0]
    near = all(one.is_near for one in found)
    return ExitCode.OK if near else ExitCode.EXPECTATION_FAILED


def _bound(
    name: str,
    boots: Boots,
    *,
    json_file: str | None,
    capacity: int | None,
    save_trace: Path | None,
    learned: bool,
) -> int:
    """Print how far kernels are from the optimum on an experiment; return the exit code."""
    from mglru.core.ui import Ui
    from mglru.results.output_file import STDOUT
    from mglru.study.bound import bound as bounds
    from mglru.study.bound import table as bound_table
    from mglru.study.bound.run import run_bound

    ui = Ui()
    found = run_bound(
        name,
        boots,
        ui,
        json_file=json_file,
        capacity=capacity,
        keep=save_trace,
        learned=learned,
    )
    if json_file != STDOUT:
        click.echo(bound_table.render(found), nl=False)
    doubts = bounds.doubts(found)
    for doubt in doubts:
        ui.warn(doubt)
    return ExitCode.EXPECTATION_FAILED if doubts else ExitCode.OK
