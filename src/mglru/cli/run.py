# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru demo`, `run` and `selftest`: everything that boots kernels."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mglru.cli.common import (
    KERNELS,
    kernels_option,
    machine_option,
    report_failures,
    settings_option,
    source_option,
)
from mglru.cli.results import show
from mglru.cli.suite import DEFAULT_KERNELS, show_suite
from mglru.core.errors import ExitCode, UsageError
from mglru.experiment.settings import Setting
from mglru.source.kernel_id import KernelId, parse_list

if TYPE_CHECKING:
    from mglru.results.model import RunResult
    from mglru.run.experiments import WantedRun

DEMO_KERNELS = DEFAULT_KERNELS
DEMO_FILE = "mglru-demo.json"
DEMO_PAGE = "mglru-demo.html"


@click.command()
@source_option
def demo(own_sources: tuple[Path, ...]) -> int:
    """Show stock against patched: YCSB A and B over WiredTiger, on four kernels.

    Installs and builds what is missing first (under half an hour on two cores); the second
    run takes under two minutes. The results go to mglru-demo.json, and to mglru-demo.html to
    look at.
    """
    from mglru.core.ui import Ui
    from mglru.report.write import write_page
    from mglru.results.compare import Named
    from mglru.study.demo import run_demo

    def show_result(result: RunResult) -> None:
        show([Named(result.experiment, result)])

    ui = Ui()
    started = time.monotonic()
    ui.note("Stock against patched kernels on YCSB A and B over WiredTiger.")
    results = run_demo(parse_list(DEMO_KERNELS), own_sources, DEMO_FILE, ui, show_result)
    write_page(results, Path(DEMO_FILE).stem, Path(DEMO_PAGE), "mglru-next: demo")
    seconds = time.monotonic() - started
    ui.note(f"Results: {DEMO_FILE} ({seconds:.0f} s), with charts: {DEMO_PAGE}. Again with")
    ui.note(f"  ./mglru compare {DEMO_FILE}")
    return report_failures(results, ui)


@click.command()
@click.argument("names", nargs=-1, metavar="EXPERIMENT...|--suite NAME")
@click.option(
    "--suite", default="", metavar="NAME", help="All families of a suite (./mglru experiments)."
)
@kernels_option
@machine_option
@click.option(
    "--boots",
    "--seeds",
    "boots",
    type=click.IntRange(1, 1000),
    help="Boots of each kernel, boot i with seed + i.  [default: 5 in virtual time]",
)
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=1, show_default=True)
@settings_option
@click.option("--json", "json_file", metavar="FILE|-", help="Write the results as JSON.")
@click.option("--all", "everything", is_flag=True, help="Show every counter that differs.")
@click.option("--quick", is_flag=True, help="Of a suite: only the points marked as quick.")
@click.option(
    "--allow",
    type=click.FloatRange(1, 1000),
    metavar="RATIO",
    help="Of a suite: up to this ratio it is no harm.  [default: 1.02]",
)
@click.option("--only", multiple=True, metavar="NAME[:POINT]", help="Of a suite: only this one.")
@click.option(
    "--leave-out", multiple=True, metavar="NAME[:POINT]", help="Of a suite: not this one."
)
@click.option("--anew", is_flag=True, help="Of a suite: replace the file instead of going on.")
@click.option("--renew", is_flag=True, help="Boot again only what changed since --json FILE.")
@source_option
def run(
    names: tuple[str, ...],
    *,
    suite: str,
    kernels: tuple[KernelId, ...] | None,
    machine: str,
    boots: int | None,
    seed: int,
    settings: tuple[Setting, ...],
    json_file: str | None,
    everything: bool,
    quick: bool,
    allow: float | None,
    only: tuple[str, ...],
    leave_out: tuple[str, ...],
    anew: bool,
    renew: bool,
    own_sources: tuple[Path, ...],
) -> int:
    """Run experiments, or all families of a suite, on kernels and compare.

    Boot i of every kernel gets the seed + i: the same operations on every kernel, others in
    every boot.

    A suite ends with the worst ratio of each family of the last kernel to the better of the
    stock kernels, and exits with 1 if one is above --allow. Its results are kept boot by boot
    (mglru-suite-NAME.json): the same command again goes on where an interrupted one stopped.
    """
    from mglru.run.experiments import WantedRun
    from mglru.study.suite.plan import WantedSuite

    if suite:
        _check_suite_only(names, everything=everything, anew=anew, renew=renew)
        wanted_suite = WantedSuite(
            suite=suite,
            kernels=kernels or parse_list(DEFAULT_KERNELS),
            machine=machine,
            seeds=boots,
            seed=seed,
            settings=settings,
            path=json_file or f"mglru-suite-{suite}.json",
            baseline=kernels is not None,
            quick=quick,
            only=only,
            leave_out=leave_out,
            anew=anew,
            renew=renew,
            own_sources=own_sources,
        )
        return show_suite(wanted_suite, allow)
    of_suites = {
        "--quick": quick,
        "--allow": allow,
        "--only": only,
        "--leave-out": leave_out,
        "--anew": anew,
    }
    _check_no_suite(names, of_suites)
    wanted = WantedRun(
        names=names,
        kernels=kernels,
        machine=machine,
        boots=boots,
        seed=seed,
        settings=settings,
        json_file=json_file,
        old=_to_renew(json_file) if renew else {},
        own_sources=own_sources,
    )
    return _run_named(wanted, everything=everything)


def _run_named(wanted: WantedRun, *, everything: bool) -> int:
    """Run experiments, show each when it is complete, and return the exit code."""
    from mglru.core.ui import Ui
    from mglru.results.compare import Named
    from mglru.results.output_file import STDOUT
    from mglru.run.experiments import run_experiments

    def show_result(result: RunResult) -> None:
        if wanted.json_file != STDOUT:
            show([Named(result.experiment, result)], everything=everything)

    ui = Ui()
    return report_failures(run_experiments(wanted, ui, show_result), ui)


def _check_suite_only(names: Sequence[str], *, everything: bool, anew: bool, renew: bool) -> None:
    """Refuse what does not go with --suite."""
    if anew and renew:
        raise UsageError(
            "--anew boots everything again, --renew only what changed", next_step="give one of them"
        )
    if names:
        raise UsageError(
            f"--suite and the experiments {', '.join(names)}",
            next_step="give one of the two",
        )
    if everything:
        raise UsageError(
            "--all is not for a suite",
            next_step="./mglru run NAME:POINT --all shows every counter of one of its points",
        )


def _check_no_suite(names: Sequence[str], of_suites: Mapping[str, object]) -> None:
    """Refuse no names, and what goes with --suite only: options with what was said of them."""
    given = [option for option, value in of_suites.items() if value]
    if given:
        raise UsageError(f"{', '.join(given)} goes with --suite", next_step="./mglru run --help")
    if not names:
        raise UsageError(
            "nothing to run", next_step="name experiments, or a --suite (./mglru experiments)"
        )


def _to_renew(json_file: str | None) -> dict[str, RunResult]:
    from mglru.study.suite.file import load_old

    if not json_file:
        raise UsageError("nothing to renew", next_step="name the file of results with --json")
    return load_old(json_file, anew=False)


@click.command()
@click.argument("name", default="ycsb-b", metavar="[EXPERIMENT]")
@click.option(
    "--kernels", type=KERNELS, default="6.12,6.12+next", show_default=True, metavar="A,B,..."
)
@click.option("--boots", type=click.IntRange(2, 1000), default=3, show_default=True)
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=1, show_default=True)
@settings_option
@click.option("--json", "json_file", metavar="FILE|-", help="Write the results as JSON.")
@machine_option
@source_option
def selftest(
    name: str,
    *,
    kernels: tuple[KernelId, ...],
    machine: str,
    settings: tuple[Setting, ...],
    boots: int,
    seed: int,
    json_file: str | None,
    own_sources: tuple[Path, ...],
) -> int:
    """Boot one experiment several times with one seed and print how far the boots agree.

    The goal is a spread of 0; over 0.5 % in any headline figure is a failure.
    """
    from mglru.core.ui import Ui
    from mglru.results.marks import TOLERANCE
    from mglru.results.output_file import STDOUT
    from mglru.study.selftest import WantedSelftest, render, run_selftest

    ui = Ui()
    wanted = WantedSelftest(
        name=name,
        kernels=kernels,
        machine=machine,
        settings=settings,
        boots=boots,
        seed=seed,
        json_file=json_file,
        own_sources=own_sources,
    )
    found = run_selftest(wanted, ui)
    click.echo(render(found.spreads), nl=False, err=json_file == STDOUT)
    ui.note(f"largest spread of a headline figure: {found.widest:.4%} (at most {TOLERANCE:.1%})")
    failed = report_failures([found.result], ui)
    return failed if found.agrees else ExitCode.EXPECTATION_FAILED
