# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru kernel`: build, deb, tree, export, kunit, selftests, clean, fetch."""

from __future__ import annotations

from pathlib import Path

import click

from mglru.cli.common import machine_option, source_option
from mglru.cli.kernel.deb import deb
from mglru.cli.kernel.kunit import kunit
from mglru.cli.kernel.selftests import selftests
from mglru.cli.lazy import Group
from mglru.core.sizes import shown
from mglru.source.kernel_id import BASES, KernelId


@click.group(cls=Group)
def kernel() -> None:
    """Kernels: fetch, build, work on, test, clean up."""


kernel.add_command(kunit)
kernel.add_command(deb)
kernel.add_command(selftests)


@kernel.command()
@click.argument("names", nargs=-1, required=True, metavar="ID...")
@machine_option
@source_option
def build(names: tuple[str, ...], *, machine: str, own_sources: tuple[Path, ...]) -> None:
    """Build kernels and print where they are."""
    from mglru.core.ui import Ui
    from mglru.run.kernels import build_all

    ui = Ui()
    kernels = [KernelId.parse(name) for name in names]
    for identity, built in build_all(kernels, own_sources, ui, machine).items():
        click.echo(f"{identity}\t{built.recipe.release}\t{built.image}")


@kernel.command()
@click.argument("bases", nargs=-1, metavar="[BASE...]")
@click.option("--update", is_flag=True, help="Ask Debian for a newer version.")
def fetch(bases: tuple[str, ...], *, update: bool) -> None:
    """Fetch kernel sources from Debian (all bases if none is named)."""
    from mglru.core.ui import Ui
    from mglru.debian import packages
    from mglru.source.trees import get_source

    ui = Ui()
    packages.ensure(packages.KERNEL_BUILD, ui)
    for base in bases or BASES:
        source = get_source(KernelId.parse(base).base, note=ui.note, update=update)
        click.echo(f"{source.base}\t{source.version}\t{source.origin}\t{source.path}")


@kernel.command()
@click.argument("name", metavar="ID")
@click.option("--into", type=click.Path(path_type=Path), help="Where (default: in the cache).")
@source_option
def tree(name: str, into: Path | None, own_sources: tuple[Path, ...]) -> None:
    """Make a git tree of a kernel, the series as commits, to work in, and print its path.

    One that is there is never changed: its path is printed if it is of the series as it is here
    and nothing in it is uncommitted.

    Amend the commit that a change belongs to, then `./mglru kernel export ID`.
    """
    from mglru.core.ui import Ui
    from mglru.series.kernel_tree import tree_of

    click.echo(tree_of(KernelId.parse(name), into, own_sources, Ui()))


@kernel.command()
@click.argument("name", metavar="ID")
@click.option("--from", "origin", type=click.Path(path_type=Path), help="The tree to export.")
@click.option("--mbox", type=click.Path(path_type=Path), help="Write one git am-able file instead.")
def export(name: str, origin: Path | None, mbox: Path | None) -> None:
    """Write the commits of a tree back to patches/BASE/."""
    from mglru.series.kernel_tree import export_kernel

    for line in export_kernel(KernelId.parse(name), origin, mbox):
        click.echo(line)


@kernel.command()
@click.option("--all", "everything", is_flag=True, help="Everything, sources and trees too.")
@click.option(
    "--days",
    type=click.FloatRange(min=0),
    default=14,
    show_default=True,
    help="Keep what was used within DAYS.",
)
@click.option("--list", "only_list", is_flag=True, help="Remove nothing: show what there is.")
def clean(*, everything: bool, days: float, only_list: bool) -> None:
    """Free space in the cache: what was not used for a while, or everything.

    What somebody makes or uses at the moment is kept, and so are git trees of `kernel tree`.
    """
    from mglru.core import cleaning

    if only_list:
        _list_cache()
        return
    cleaned = cleaning.clean(everything=everything, days=days)
    for path in cleaned.in_use:
        click.echo(f"in use: {path}", err=True)
    click.echo(f"freed {shown(cleaned.bytes)}B")


def _list_cache() -> None:
    """Print what the cache has: a line a kind, and what is none of the lab's."""
    from rich.console import Console
    from rich.table import Table

    from mglru.core import cleaning

    table = Table(box=None, pad_edge=False)
    # Files that a tree shares with its source are freed when both are gone.
    for heading in ("", "what", "number", "frees", "last used"):
        table.add_column(heading, justify="right" if heading in ("number", "frees") else "left")
    found = list(cleaning.entries())
    for kind in cleaning.KINDS:
        own = [entry for entry in found if entry.kind == kind]
        if own:
            size = shown(sum(entry.bytes for entry in own))
            days = [entry.age / cleaning.SECONDS_A_DAY for entry in own]
            age = f"{min(days):.0f} to {max(days):.0f} days ago"
            table.add_row(kind.name, kind.what, str(len(own)), f"{size}B", age)
    out = Console(soft_wrap=True, highlight=False)
    out.print(table)
    for path in cleaning.unknown():
        out.print(f"not of the lab: {path}", markup=False)
