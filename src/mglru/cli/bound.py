# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru bound`: the optimum and other policies beside the kernels."""

from __future__ import annotations

from pathlib import Path

import click

from mglru import bound as bounds
from mglru import bound_table
from mglru.bound_file import BoundFile
from mglru.cli.common import source_option
from mglru.cli.run import DEMO_KERNELS, Session
from mglru.compare import usual_baseline
from mglru.errors import ExitCode
from mglru.experiment import load_experiment
from mglru.kernel_id import parse_list
from mglru.provenance import lab_commit
from mglru.results import ResultFile
from mglru.simulate import SMALLEST
from mglru.ui import Ui


@click.command()
@click.argument("name", metavar="EXPERIMENT")
@click.option("--kernels", default=DEMO_KERNELS, show_default=True, metavar="A,B,...")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=1, show_default=True)
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="As limit=200M.")
@click.option(
    "--capacity",
    type=click.IntRange(SMALLEST, 2**31 - 1),
    metavar="PAGES",
    help="Of the simulated caches; what the kernel had of files, if not given.",
)
@click.option("--json", "json_file", metavar="FILE|-", help="Write the figures as JSON.")
@click.option(
    "--save-trace",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write the accesses, in libCacheSim's format oracleGeneral.",
)
@source_option
def bound(
    name: str,
    *,
    kernels: str,
    seed: int,
    settings: tuple[str, ...],
    capacity: int | None,
    json_file: str | None,
    save_trace: Path | None,
    own_sources: tuple[Path, ...],
) -> int:
    """Show how far the kernels are from the optimum on an experiment.

    Records which pages of files each kernel's workload accesses (tracepoints, in a boot of
    its own), then simulates Belady's optimum, LRU, S3-FIFO, W-TinyLFU, ARC and others on the
    accesses of one of them: 6.12, or the first kernel named. Exit code 1 if a stock kernel's
    misses are not near those of LRU: then the recording does not show what it saw.
    """
    ui = Ui()
    experiment = load_experiment(name, settings)
    bounds.check(experiment)
    wanted = parse_list(kernels)
    names = [str(kernel) for kernel in wanted]
    reference = usual_baseline(names)
    with BoundFile(json_file or "/dev/null") as file, ResultFile("/dev/null") as nowhere:
        session = Session(wanted, own_sources, ui, nowhere)
        jobs = session.jobs(experiment, boots=1, seed=seed)
        found = bounds.find_bound(jobs, reference, ui, capacity=capacity, keep=save_trace)
        made_by = {"settings": list(settings), "lab_commit": lab_commit()}
        found = file.bound = found.model_copy(update=made_by)
        file.write()
    if json_file != "-":
        click.echo(bound_table.render(found), nl=False)
    doubts = bounds.doubts(found)
    for doubt in doubts:
        ui.warn(doubt)
    return ExitCode.EXPECTATION_FAILED if doubts else ExitCode.OK
