# SPDX-License-Identifier: GPL-2.0-only
"""Step 1 of a report: files, told apart by what they hold."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from mglru.bound_file import Bound
from mglru.compare import Named, load_named
from mglru.errors import UsageError
from mglru.kernel_id import KernelId
from mglru.report.documents import Sweep
from mglru.results import FORMAT, RunResult
from mglru.simulate import LRU, OPTIMUM

# From so many prefixes of the series on, a run shows the effect of single patches.
PREFIXES_OF_A_WATERFALL = 2

M = TypeVar("M", bound=BaseModel)


@dataclass
class Inputs:
    """What the files of a report hold, each kind in the order of the files."""

    runs: list[Named] = field(default_factory=list)
    waterfalls: list[Named] = field(default_factory=list)
    sweeps: list[Sweep] = field(default_factory=list)
    bounds: list[Bound] = field(default_factory=list)

    def experiments(self) -> list[str]:
        """Return the names of all experiments, each once, in the order of the files."""
        named = [each.run.experiment for each in (*self.runs, *self.waterfalls)]
        named += [each.experiment for each in self.sweeps]
        named += [each.experiment for each in self.bounds]
        return list(dict.fromkeys(named))


def load_inputs(paths: Sequence[str | Path]) -> Inputs:
    """Read result files of any kind: runs, waterfalls, sweeps, bounds.

    Raises:
        UsageError: a file cannot be read, or is none of these.
    """
    inputs = Inputs()
    for path in paths:
        document = _with_a_kind(path)
        if document is None:
            for named in load_named([path]):
                target = inputs.waterfalls if is_waterfall(named.run) else inputs.runs
                target.append(named)
        else:
            _add(inputs, document, str(path))
    return inputs


def is_waterfall(run: RunResult) -> bool:
    """Whether a run's kernels are prefixes of the series."""
    prefixes = [name for name in run.kernels if KernelId.parse(name).upto is not None]
    return len(prefixes) >= PREFIXES_OF_A_WATERFALL


def _with_a_kind(path: str | Path) -> dict[str, Any] | None:
    """Return the document of a file that names its kind; None for runs, and for bad files.

    Those are left to the reader of runs, which knows all that can be wrong with them.
    """
    with contextlib.suppress(OSError, ValueError, RecursionError):
        document = json.loads(Path(path).read_text(encoding="utf-8"))
        if isinstance(document, dict) and document.get("kind", "run") != "run":
            return document
    return None


def _add(inputs: Inputs, document: dict[str, Any], shown: str) -> None:
    readers: dict[object, Callable[[], None]] = {
        "sweep": lambda: inputs.sweeps.append(_parse(Sweep, _without_derived(document), shown)),
        "bound": lambda: inputs.bounds.append(_bound(document, shown)),
    }
    kind = document["kind"]
    if kind not in readers:
        raise UsageError(
            f"{shown} is of the kind '{kind}', which a report does not show",
            next_step=f"name results of a run, or of the kinds {' and '.join(map(str, readers))}",
        )
    if document.get("format") != FORMAT:
        raise UsageError(
            f"{shown} has format {document.get('format')}; this lab reads format {FORMAT}",
            next_step="read it with the lab that wrote it, or make it again",
        )
    readers[kind]()


def _bound(document: dict[str, Any], shown: str) -> Bound:
    bound = _parse(Bound, document, shown)
    if missing := {OPTIMUM, LRU} - bound.policies.keys():
        raise UsageError(
            f"{shown} is not a bound of this lab: it lacks {', '.join(sorted(missing))}",
            next_step="make it again",
        )
    return bound


def _without_derived(document: dict[str, Any]) -> dict[str, Any]:
    """Leave out what the runs in a sweep repeat for their readers (see `results`)."""
    derived = {"format", *RunResult.model_computed_fields}
    points = document.get("points")
    if not isinstance(points, list):
        return document
    kept = [
        {**point, "run": {k: v for k, v in point["run"].items() if k not in derived}}
        if isinstance(point, dict) and isinstance(point.get("run"), dict)
        else point
        for point in points
    ]
    return {**document, "points": kept}


def _parse(model: type[M], document: dict[str, Any], shown: str) -> M:
    try:
        return model.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(
            f"{shown} is not a {document['kind']} of this lab: {where}: {first['msg']}",
            next_step="make it again",
        ) from error
