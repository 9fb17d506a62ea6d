# SPDX-License-Identifier: GPL-2.0-only
"""The result of a sweep, a run for each point, and the file that keeps it.

The file grows boot by boot, and a sweep that was interrupted goes on with what is in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetPydanticSchema,
    ValidatorFunctionWrapHandler,
)
from pydantic_core import core_schema

from mglru.core.sizes import Size, size_with_unit
from mglru.results import recording
from mglru.results.json_file import FileKind, shown
from mglru.results.model import BootRecord, RunInfo, RunResult, in_order, series_of
from mglru.results.output_file import OutputFile, json_text
from mglru.results.result_file import from_document, to_document
from mglru.study.sweep.points import Value

FORMAT = 1
KIND = FileKind("sweep", "./mglru sweep EXPERIMENT --vary KEY=A..B --json FILE", FORMAT)


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def _read(value: object, check: ValidatorFunctionWrapHandler) -> Value:
    if isinstance(value, Size):
        return value
    plain: Value = check(value)
    # A number is one in the file; of text only sizes are taken for more.
    size = size_with_unit(plain) if isinstance(plain, str) else None
    return plain if size is None else size


def _plain(value: Value) -> Value:
    return str(value) if isinstance(value, Size) else value


# A size is text in a file.
_Kept = Annotated[
    Value,
    GetPydanticSchema(
        lambda _source, handler: core_schema.no_info_wrap_validator_function(
            _read,
            handler(str | int | float),
            serialization=core_schema.plain_serializer_function_ser_schema(_plain),
        )
    ),
]


class SweepPoint(_Model):
    """One point of a sweep.

    Attributes:
        settings: the value of each key that the sweep varies.
        run: all kernels there, complete or not.
    """

    settings: dict[str, _Kept]
    run: RunResult


class Sweep(_Model):
    """One experiment at many points.

    Attributes:
        experiment: its name.
        vary: every key with its values, in order; in the file sizes are text (`64M`).
        kernels: ids, in the order asked for; the first is the baseline.
        points: those that have boots, in the order of `vary`, the last key changing fastest.
    """

    experiment: str
    vary: dict[str, list[_Kept]] = Field(min_length=1)
    kernels: list[str] = Field(min_length=1)
    points: list[SweepPoint] = []


def _point_text(point: SweepPoint, path: Path) -> str:
    settings = point.model_dump(mode="json", include={"settings"})
    return json_text({**settings, "run": to_document(point.run, path)}).rstrip()


def _joined(sweep: Sweep, points: Sequence[str]) -> str:
    """Return the file's text from those of its points."""
    fields = sweep.model_dump(mode="json", exclude={"points"})
    head = json.dumps(KIND.document(fields), indent=1)
    listed = ",\n".join(points)
    return head.removesuffix("\n}") + f',\n "points": [\n{listed}\n ]\n}}\n'


def load(path: str | Path) -> Sweep:
    """Read a sweep; `-` is stdin.

    Raises:
        UsageError: it cannot be read, is cut off, is not a sweep, or has another format.
    """
    name = shown(path)
    fields = KIND.fields(path)
    points = fields.get("points")
    if not isinstance(points, list) or not all(isinstance(point, dict) for point in points):
        raise KIND.refuse(name, "it has no list of points")
    read = [{**point, "run": from_document(point.get("run"), name)} for point in points]
    return KIND.validate(Sweep, {**fields, "points": read}, name)


def save(sweep: Sweep, path: str | Path) -> None:
    """Write a sweep to a file, or to stdout for `-`.

    Raises:
        UsageError: the path is a directory.
        LabError: the file cannot be written.
    """
    with SweepFile(path, sweep.experiment, sweep.vary, sweep.kernels) as file:
        for point in sweep.points:
            file.begin(point.settings, point.run)
            file.keep(point.run.raw)
        file.write()


class SweepFile(OutputFile):
    """A file of a sweep, written boot by boot (see OutputFile).

    Boots may come in any order, as several are made at once; in the file they are in the order
    of a run.

    Usage:
        with SweepFile(path, "ycsb-b", vary, kernels) as file:
            file.begin(settings, info)   # every point, in order
            file.keep(known)             # its boots from before, if there are any
            file.add(settings, record)
    """

    def __init__(
        self,
        path: str | Path,
        experiment: str,
        vary: Mapping[str, Sequence[Value]],
        kernels: Sequence[str],
    ) -> None:
        self._experiment, self._kernels = experiment, list(kernels)
        self._vary = {key: list(values) for key, values in vary.items()}
        self._points: list[SweepPoint] = []
        # A sweep of hundreds of boots is megabytes, of which each boot changes one point.
        self._texts: list[str] = []
        super().__init__(path)

    @property
    def sweep(self) -> Sweep:
        """The sweep as it stands: the points that have boots."""
        return Sweep(
            experiment=self._experiment,
            vary=self._vary,
            kernels=self._kernels,
            points=[point for point in self._points if point.run.raw],
        )

    def text(self) -> str:
        """Return the sweep as JSON; nothing as long as there is no boot."""
        texts = [
            text for text, point in zip(self._texts, self._points, strict=True) if point.run.raw
        ]
        return _joined(self.sweep, texts) if texts else ""

    def begin(self, settings: Mapping[str, Value], info: RunInfo) -> None:
        """Add a point, without boots."""
        recording.check_state(self.path, series_of(info))
        run = RunResult.from_boots(info, [])
        self._points.append(SweepPoint(settings=dict(settings), run=run))
        self._texts.append("")

    def keep(self, records: Sequence[BootRecord]) -> None:
        """Give the point that was added last the boots that it already has."""
        self._put(len(self._points) - 1, records)

    def add(self, settings: Mapping[str, Value], record: BootRecord) -> None:
        """Add a boot to a point and write the file.

        Raises:
            LabError: the file cannot be written.
        """
        at = next(i for i, point in enumerate(self._points) if point.settings == settings)
        self._put(at, [record])
        self.write()

    def _put(self, at: int, records: Sequence[BootRecord]) -> None:
        # What was sampled over time is many times as large as all the rest.
        slim = [record.model_copy(update={"timeline": None}) for record in records]
        settings, run = self._points[at].settings, self._points[at].run
        boots = in_order(run, [*run.raw, *slim])
        point = SweepPoint(settings=settings, run=RunResult.from_boots(run, boots))
        self._points[at] = point
        self._texts[at] = _point_text(point, self.path)
