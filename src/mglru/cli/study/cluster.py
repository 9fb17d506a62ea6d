# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru cluster`: the machines that a sweep with --scheduler runs on."""

from __future__ import annotations

import click

from mglru.cli.lazy import Group

PORT = 8786


@click.group(cls=Group)
def cluster() -> None:
    """Many machines for one sweep: a scheduler, and a worker on each machine.

    Whoever can reach the scheduler or a worker can run programs there: use them in a network
    that you trust, or through ssh tunnels.
    """


@cluster.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True)
def scheduler(*, host: str, port: int) -> None:
    """Hand out the boots of sweeps, until Ctrl-C."""
    from mglru.core.ui import Ui
    from mglru.study.cluster import serve as cluster_serve

    cluster_serve.serve_scheduler(host, port, Ui())


@cluster.command()
@click.argument("address", metavar="ADDRESS")
@click.option(
    "--boots",
    type=click.IntRange(1, 1000),
    help="Guests at once.  [default: as many as processors and memory allow]",
)
@click.option(
    "--wait",
    type=click.IntRange(0, 86400),
    default=30,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for the scheduler to be there.",
)
def worker(address: str, *, boots: int | None, wait: int) -> None:
    """Make boots for the scheduler at ADDRESS (as tcp://host:8786), until Ctrl-C.

    Kernels and data that this machine's cache lacks are fetched and built when a boot needs
    them.
    """
    from mglru.core.ui import Ui
    from mglru.debian import packages
    from mglru.study.cluster import serve as cluster_serve
    from mglru.study.cluster.client import check_address

    ui = Ui()
    check_address(address)
    packages.ensure(packages.ALL, ui)
    cluster_serve.serve_worker(address, boots or cluster_serve.boots_at_once(), ui, wait)
