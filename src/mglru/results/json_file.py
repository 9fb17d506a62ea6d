# SPDX-License-Identifier: GPL-2.0-only
"""Reading the lab's own JSON files: what is wrong with one that is not, in one sentence."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from mglru.core.errors import UsageError
from mglru.results.output_file import STDOUT

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class FileKind:
    """A kind of file that the lab writes.

    Attributes:
        name: what messages call it.
        made_by: the command that makes one.
        format: the number that this lab writes and reads.
    """

    name: str
    made_by: str
    format: int

    def refuse(self, shown: str, reason: str) -> UsageError:
        """Return the error for a file that is not of this kind."""
        return UsageError(
            f"{shown} is not a {self.name} of this lab: {reason}",
            next_step=f"make one with `{self.made_by}`",
        )

    def read(self, path: str | Path) -> Any:
        """Read JSON from a file; `-` is stdin.

        Raises:
            UsageError: it cannot be read, is no text, is cut off, or is not JSON.
        """
        name = shown(path)
        try:
            stdin = str(path) == STDOUT
            text = sys.stdin.read() if stdin else Path(path).read_text(encoding="utf-8")
            return json.loads(text)
        except OSError as error:
            raise UsageError(f"{name} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise self.refuse(name, "it is not text") from error
        except json.JSONDecodeError as error:
            raise self.refuse(name, _reason(text, error)) from error
        except RecursionError as error:
            raise self.refuse(name, "it is nested too deeply") from error

    def document(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a file of this kind holds: its format, its kind, and the fields."""
        return {"format": self.format, "kind": self.name, **fields}

    def check_format(self, document: object, name: str) -> dict[str, Any]:
        """Return the document if it is an object in the format that this lab reads.

        Raises:
            UsageError: it is not.
        """
        if not isinstance(document, dict) or "format" not in document:
            raise self.refuse(name, "it has no 'format'")
        if document["format"] != self.format:
            raise UsageError(
                f"{name} has format {document['format']}; this lab reads format {self.format}",
                next_step="read it with the lab that wrote it, or run the experiment again",
            )
        return document

    def fields(self, path: str | Path) -> dict[str, Any]:
        """Read a file that names its kind, and return its fields but for format and kind.

        Raises:
            UsageError: it cannot be read, is cut off, is of another kind, or has another format.
        """
        name = shown(path)
        document = self.check_format(self.read(path), name)
        if document.get("kind") != self.name:
            raise self.refuse(name, f"it is a {document.get('kind', 'result of a run')}")
        return {key: value for key, value in document.items() if key not in {"format", "kind"}}

    def validate(self, model: type[M], fields: Mapping[str, Any], name: str) -> M:
        """Make a value of a document's fields.

        Raises:
            UsageError: a field is missing, unknown, or not of its type.
        """
        try:
            return model.model_validate(fields)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            raise self.refuse(name, f"{where}: {first['msg']}") from error


def shown(path: str | Path) -> str:
    """Return what messages call a file."""
    return "standard input" if str(path) == STDOUT else str(path)


def _reason(text: str, error: json.JSONDecodeError) -> str:
    end = text.rstrip()
    if not end:
        return "it is empty"
    if error.pos >= len(end) or not end.endswith(("}", "]")):
        return f"it is cut off in line {error.lineno}"
    return f"line {error.lineno} is not JSON ({error.msg})"
