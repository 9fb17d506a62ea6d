# SPDX-License-Identifier: GPL-2.0-only
"""Compiling what a series touches under one configuration, stock or patched; cached by content."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from mglru.build import config as kconfig
from mglru.build.recipe import compiler_version
from mglru.checks.matrix.config import MatrixConfiguration
from mglru.checks.matrix.messages import CompilerMessage, read_messages
from mglru.checks.matrix.objects import objects_to_compile, sources_of
from mglru.core import process
from mglru.core.cache import made
from mglru.core.keys import key_of
from mglru.core.paths import cache_dir, locked
from mglru.core.ui import Ui
from mglru.series.listing import Series
from mglru.series.overlay import touched_files
from mglru.series.patched_tree import follow_series
from mglru.source.trees import Source

# Changes when the same input gives another result.
_FORMAT = "1"
_RESULT = "result.json"
_LIMIT_SECONDS = 1800
# Why kbuild gave an object up.
_GIVEN_UP = re.compile(r"\*\*\* \[[^\]]*: (?P<target>\S+)\] Error")


@dataclass(frozen=True)
class Side:
    """A configuration of one tree, compiled.

    Attributes:
        objects: what was compiled, or tried.
        failed: which of them gave errors.
        messages: what compiler, sparse and kernel-doc said.
    """

    objects: tuple[str, ...]
    failed: tuple[str, ...]
    messages: tuple[CompilerMessage, ...]


@dataclass(frozen=True)
class MatrixTask:
    """What to compile.

    Attributes:
        configuration: how.
        source: the pristine tree.
        series: the patches on top; empty for stock.
        touched: the files that the whole series touches.
    """

    configuration: MatrixConfiguration
    source: Source
    series: Series
    touched: tuple[str, ...]

    @property
    def side(self) -> str:
        """`stock` or `next`."""
        return "next" if self.series.patches else "stock"

    @property
    def key(self) -> str:
        """Digest of everything that decides the result."""
        parts = {
            "format": _FORMAT,
            "source": self.source.digest,
            "series": self.series.sha256,
            "touched": sources_of(self.touched, self.source.path),
            "arch": self.configuration.arch,
            "start": self.configuration.start,
            "options": self.configuration.options,
            "compiler": compiler_version(f"{self.configuration.cross}gcc"),
            "sparse": process.run(["sparse", "--version"], purpose="find sparse"),
        }
        return key_of(json.dumps(parts))


def stock_and_next(
    configuration: MatrixConfiguration, source: Source, series: Series
) -> tuple[MatrixTask, MatrixTask]:
    """Return the two tasks of a configuration: the source as it is, and with the series."""
    touched = touched_files(series.patches)
    stock = Series(series.base, (), left_out=series.patches)
    return (
        MatrixTask(configuration, source, stock, touched),
        MatrixTask(configuration, source, series, touched),
    )


def compile_side(task: MatrixTask, ui: Ui) -> Side:
    """Compile a task's objects with W=1 and sparse, or return what the cache knows of it.

    Raises:
        LabError: a patch does not apply, the configuration cannot be had, or make fails before
            there is something to compile.
    """

    def make(staging: Path) -> None:
        (staging / _RESULT).write_text(json.dumps(asdict(_compile(task, ui)), indent=1))

    return _read(made(cache_dir("matrix") / task.key, make) / _RESULT)


def _read(path: Path) -> Side:
    fields = json.loads(path.read_text())
    messages = tuple(CompilerMessage(**message) for message in fields["messages"])
    return Side(tuple(fields["objects"]), tuple(fields["failed"]), messages)


def _compile(task: MatrixTask, ui: Ui) -> Side:
    trees = cache_dir("trees", f"{task.source.base}-{task.source.digest[:8]}")
    output = trees / f"matrix-{task.configuration.name}-{task.side}"
    with locked(output), _sources(task, trees / "matrix-sources") as tree:
        output.mkdir(exist_ok=True)
        with ui.bar(f"compiling {task.configuration.name}, {task.side}", None):
            log, objects = _make_all(task.configuration, tree, output, task.touched)
        failed = {match["target"] for match in _GIVEN_UP.finditer(log)}
        return Side(
            objects,
            tuple(name for name in objects if name in failed),
            read_messages(log, tree, output),
        )


@contextlib.contextmanager
def _sources(task: MatrixTask, patched: Path) -> Iterator[Path]:
    """Give the tree to compile: stock's pristine one, or the one that all configurations share.

    Nobody else gives the latter another series meanwhile.
    """
    if not task.series.patches:
        yield task.source.path
        return
    with locked(patched):
        follow_series(patched, task.source, task.series.patches)
        yield patched


def _make_all(
    configuration: MatrixConfiguration, tree: Path, output: Path, touched: tuple[str, ...]
) -> tuple[str, tuple[str, ...]]:
    """Configure, prepare and compile; return what was printed, and the objects."""
    make = _make_command(configuration, tree, output)
    asked = dict(configuration.options)
    kconfig.configure(output, configuration.arch, asked, make, configuration.start)
    prepare = process.run(
        [*make, f"-j{os.cpu_count()}", "W=1", "prepare"],
        purpose=f"prepare the configuration {configuration.name}",
        cwd=output,
        limit_seconds=_LIMIT_SECONDS,
        next_step=f"see kconfig/matrix/{configuration.name}.config",
    )
    objects = objects_to_compile(touched, tree, output)
    log = process.run(
        [*make, f"-j{os.cpu_count()}", "--keep-going", "W=1", "C=1", *objects],
        purpose=f"compile under the configuration {configuration.name}",
        cwd=output,
        limit_seconds=_LIMIT_SECONDS,
        ok=(0, 2),
    )
    return prepare + log, objects


def _make_command(configuration: MatrixConfiguration, tree: Path, output: Path) -> list[str]:
    compiler = f"{configuration.cross}gcc"
    command = ["make", "-C", str(tree), f"O={output}", f"ARCH={configuration.arch}"]
    if configuration.cross:
        command.append(f"CROSS_COMPILE={configuration.cross}")
    if shutil.which("ccache"):
        command.append(f"CC=ccache {compiler}")
    return command
