# SPDX-License-Identifier: GPL-2.0-only
"""Help is there at once: it imports nothing of what commands do."""

from __future__ import annotations

import os
import subprocess
import sys

from mglru.checks.releases import trial
from mglru.cli import known
from mglru.core.paths import REPO
from mglru.machine import qemu, registry
from mglru.report import forms
from mglru.results import marks
from mglru.study.bound import models, simulate
from mglru.study.confirm import confirm
from mglru.study.sweep import tables

# Of the lab's packages those that only hold words and numbers may be imported.
NOT_FOR_HELP = {
    *("altair", "distributed", "filelock", "hdrh", "jinja2", "libcachesim", "numpy", "psutil"),
    *("pydantic", "rich", "scipy", "tomlkit", "unidiff"),
    *("mglru.build", "mglru.checks", "mglru.debian", "mglru.disk", "mglru.guest", "mglru.machine"),
    *("mglru.report", "mglru.results", "mglru.run", "mglru.series", "mglru.study"),
    *("mglru.core.paths", "mglru.core.ui", "mglru.experiment.spec"),
}
EVERY_HELP = """
import sys
import click
from mglru import cli

def show(command, context, words):
    cli.cli.main([*words, "--help"], prog_name="mglru", standalone_mode=False)
    for name in command.list_commands(context) if isinstance(command, click.Group) else ():
        show(command.get_command(context, name), context, [*words, name])

show(cli.cli, click.Context(cli.cli), [])
print(*sys.modules)
"""


def test_help_imports_nothing_of_what_commands_do() -> None:
    """A command takes as long to start as its imports do."""
    environment = {**os.environ, "PYTHONPATH": str(REPO / "src")}
    said = subprocess.run(
        [sys.executable, "-c", EVERY_HELP],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    ).stdout
    assert "Usage: mglru run " in said
    assert "Usage: mglru kernel kunit " in said
    assert not NOT_FOR_HELP & {*said.splitlines()[-1].split()}


def test_help_offers_what_there_is() -> None:
    assert (known.UML, *known.MACHINES) == (registry.UML, *registry.MACHINES)
    assert (known.MOST_CPUS, known.MOST_NODES) == (qemu.MOST_CPUS, qemu.MOST_NODES)
    assert (known.CONFIRMING_SEED, known.MIN_PAIRS) == (confirm.CONFIRMING_SEED, marks.MIN_PAIRS)
    assert (known.SMALLEST_CACHE, known.PATTERN_SETS) == (simulate.SMALLEST, models.SETS)
    assert tuple(forms.OF_ALL) == known.FORMS_OF_ALL
    assert known.SWEEP_FORMATS == tables.FORMATS
    assert known.TESTED_WITH == trial.EXPERIMENT
