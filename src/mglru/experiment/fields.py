# SPDX-License-Identifier: GPL-2.0-only
"""Fields of an experiment that are values of the lab's own; in a file and in JSON they are text."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, PlainSerializer, PlainValidator, WithJsonSchema
from pydantic_core import PydanticKnownError

from mglru.core.sizes import Size
from mglru.experiment import memcg
from mglru.source.kernel_id import KernelId

_AS_TEXT = (PlainSerializer(str, return_type=str), WithJsonSchema({"type": "string"}))


def _kernel(value: object) -> KernelId:
    if isinstance(value, KernelId):
        return value
    if not isinstance(value, str):
        raise PydanticKnownError("string_type")
    return KernelId.parse(value)


def _check_kernels(kernels: tuple[KernelId, ...]) -> tuple[KernelId, ...]:
    if not kernels:
        raise ValueError("there is none")
    if len(set(kernels)) != len(kernels):
        raise ValueError(f"'{','.join(map(str, kernels))}' names a kernel twice")
    return kernels


Kernels = Annotated[
    tuple[Annotated[KernelId, PlainValidator(_kernel), *_AS_TEXT], ...],
    AfterValidator(_check_kernels),
]


def _memcg_value(value: object) -> memcg.Value:
    # A plain number is none: what it would be a number of depends on the file.
    if not isinstance(value, Size | str):
        raise PydanticKnownError("string_type")
    return value


Memcg = Annotated[
    dict[str, Annotated[memcg.Value, PlainValidator(_memcg_value), *_AS_TEXT]],
    AfterValidator(memcg.checked),
]
"""Values of a memory cgroup's files."""
