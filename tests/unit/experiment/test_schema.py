# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru experiments --schema`: the schema of an experiment's file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner

from mglru.cli import cli
from mglru.core.paths import EXPERIMENTS
from mglru.experiment.schema import file_schema

Table = dict[str, Any]
# What is not meant by one of several schemas.
OTHER = "of another kind"
FILES = sorted(EXPERIMENTS.rglob("*.toml"))


def wrong_keys(value: Any, schema: Table, definitions: Table) -> list[str]:
    """Keys that a schema does not know or misses; of several schemas, for the one that fits best.

    Enough of JSON Schema for that; values are not looked at, but those of `kind`.
    """
    if "$ref" in schema:
        return wrong_keys(value, definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        found = (wrong_keys(value, one, definitions) for one in choices)
        return min(found, key=lambda wrong: (OTHER in wrong, len(wrong)))
    if isinstance(value, list):
        return [
            key for one in value for key in wrong_keys(one, schema.get("items", {}), definitions)
        ]
    if schema.get("const", value) != value or schema.get("type") == "null":
        return [OTHER]
    return list(_of_table(value, schema, definitions)) if isinstance(value, dict) else []


def _of_table(table: Table, schema: Table, definitions: Table) -> Iterator[str]:
    known = schema.get("properties", {})
    yield from (key for key in schema.get("required", ()) if key not in table)
    for key, value in table.items():
        if key in known:
            yield from wrong_keys(value, known[key], definitions)
        elif not schema.get("additionalProperties", "properties" not in schema):
            yield key


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_experiment_is_as_the_schema_says(path: Any) -> None:
    schema, table = file_schema(), tomllib.loads(path.read_text())
    assert set(table) <= set(schema["propertyNames"]["enum"])
    if "extends" not in table:
        assert wrong_keys(table, schema["else"], schema["$defs"]) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ('summary = "x"', ["steps"]),
        ('summary = "x"\nsteps = [{ label = "a" }]', ["argv"]),
        ('summary = "x"\nsteps = []\ndisk = { preset = "hdd", mpbs = 5 }', ["mpbs"]),
        (
            'summary = "x"\nsteps = []\ndataset = { kind = "file", size_mb = 64, records = 1 }',
            ["file_mb", "records"],
        ),
    ],
)
def test_the_schema_knows_what_is_missing_and_what_is_no_key(text: str, wrong: list[str]) -> None:
    schema = file_schema()
    assert wrong_keys(tomllib.loads(text), schema["else"], schema["$defs"]) == wrong


def test_kernels_are_names_in_it() -> None:
    kernels = file_schema()["else"]["properties"]["kernels"]
    assert kernels["items"] == {"type": "string"}
    assert kernels["default"] == ["6.12", "6.12+next"]


def test_the_command_prints_it() -> None:
    outcome = CliRunner().invoke(cli, ["experiments", "--schema"])
    assert outcome.exit_code == 0
    printed = json.loads(outcome.stdout)
    assert printed == file_schema()
    assert "folder" not in printed["propertyNames"]["enum"]
