# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru kernel deb`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mglru.cli.common import source_option
from mglru.core.errors import LabError, UsageError
from mglru.source.kernel_id import KernelId

if TYPE_CHECKING:
    from mglru.build.deb import DebPackages, DebPlan

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
    from mglru.build.deb import build_packages, make_plan
    from mglru.build.deb_config import choose
    from mglru.core.ui import Ui
    from mglru.debian import packages
    from mglru.source.trees import get_source, import_sources

    ui = Ui()
    identity = KernelId.parse(name)
    _check_output(output)
    packages.ensure({**packages.KERNEL_BUILD, **packages.DEB}, ui)
    configuration = choose(config, identity.base, ui.note)
    ui.note(f"configuration: {configuration.about}")
    source = import_sources(own_sources, note=ui.note).get(identity.base)
    plan = make_plan(identity, source or get_source(identity.base, note=ui.note), configuration)
    made = build_packages(plan, ui)
    for line in [*_copied(made, output), "", *advice(plan, output / made.image.name)]:
        click.echo(line)


def _check_output(output: Path) -> None:
    """Refuse before the build what could not be written after it."""
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--output {output}: {error.strerror}") from error
    if not os.access(output, os.W_OK):
        raise UsageError(f"--output {output} cannot be written", next_step="name another directory")


def _copied(made: DebPackages, output: Path) -> list[str]:
    """Copy the packages, each all or nothing, and return a line for each."""
    from mglru.core.files import replacing

    lines = []
    for path in made.files:
        target = output / path.name
        try:
            with replacing(target) as new:
                shutil.copyfile(path, new)
        except OSError as error:
            raise LabError(
                f"{target} cannot be written: {error.strerror}",
                next_step=f"the packages are kept: {path.parent}",
            ) from error
        lines.append(f"{path.stat().st_size / 1e6:8.1f} MB  {target}")
    return lines


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
