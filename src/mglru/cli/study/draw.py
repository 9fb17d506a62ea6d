# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru draw`: experiments that nobody chose."""

from __future__ import annotations

import click


@click.command()
@click.option(
    "--first", type=click.IntRange(1, 10**9), default=1, show_default=True, help="The first number."
)
@click.option("--points", type=click.IntRange(1, 1000), default=30, show_default=True)
def draw(*, first: int, points: int) -> None:
    r"""Draw experiments at random, and write them where a suite of them can be run.

    Files, heaps and logs of random sizes around the limit, used in a few phases, some evenly, some
    not, some in laps, with swap and without. A number always gives the same experiment, so others
    can draw those that you ran, and you some that nobody saw. They go to experiments/drawn/:

    \b
      ./mglru draw --first 1 --points 60
      ./mglru run --suite drawn --kernels 6.12,7.3,6.12+next --seeds 1
    """
    from mglru.core.ui import Ui
    from mglru.study import draw as drawing

    numbers = range(first, first + points)
    folder = drawing.write(numbers)
    Ui().note(
        f"{points} experiments, {drawing.SUITE}-{numbers[0]} to -{numbers[-1]}, in {folder}; "
        f"all that are there: ./mglru run --suite {drawing.SUITE} --seeds 1"
    )
