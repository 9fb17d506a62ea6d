# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru kernel deb`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mglru.cli.common import source_option
from mglru.source.kernel_id import KernelId

if TYPE_CHECKING:
    from mglru.build.deb import DebPlan

DEFAULT = "6.12+next"


@click.command()
@click.argument("name", metavar="[ID]", default=DEFAULT)
@click.option(
    "--config",
    "config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A kernel's .config (default: the running kernel's, with the modules that are loaded; "
    "without one, Debian's own).",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default=Path(),
    metavar="DIR",
    help="Where the packages go (default: here).",
)
@source_option
def deb(name: str, config: Path | None, output: Path, own_sources: tuple[Path, ...]) -> None:
    """Build Debian packages of a kernel (6.12+next), to be installed beside the stock kernel.

    Nothing is asked: options that the configuration does not know get their defaults. Without
    --config there is no debug info. docs/use/install.md: how to boot it once, and go back.
    """
    from mglru.build.deb_output import make_debs
    from mglru.core.ui import Ui

    written = make_debs(KernelId.parse(name), config, output, own_sources, Ui())
    sizes = [f"{path.stat().st_size / 1e6:8.1f} MB  {path}" for path in written.files]
    for line in [*sizes, "", *advice(written.plan, written.image)]:
        click.echo(line)


def advice(plan: DebPlan, image: Path) -> Sequence[str]:
    """Return the commands that install the kernel, boot it once, and go back."""
    menu = "Advanced options for Debian GNU/Linux>Debian GNU/Linux, with Linux"
    package = f"linux-image-{plan.release}"
    return (
        "Install it; the kernel that runs now stays the default (docs/use/install.md explains):",
        f"  sudo apt install {image.resolve()}",
        "  sudo sed -i 's/^GRUB_DEFAULT=.*/GRUB_DEFAULT=saved/' /etc/default/grub",
        f'  sudo grub-set-default "{menu} $(uname -r)"',
        "  sudo update-grub",
        "Boot it once:",
        f'  sudo grub-reboot "{menu} {plan.release}" && sudo reboot',
        "Go back: reboot. Remove it:",
        f"  sudo apt remove {package}",
    )
