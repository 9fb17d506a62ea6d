# SPDX-License-Identifier: GPL-2.0-only
"""The JSON schema of an experiment's file, for editors and for other programs that write one."""

from __future__ import annotations

from typing import Any

from mglru.experiment.spec import DISK_PRESETS, Experiment

DIALECT = "https://json-schema.org/draft/2020-12/schema"
# Not in the file: where it lies says it.
_FROM_PATH = "folder"
# May be in the file, but where it lies says that, too.
_OPTIONAL = "name"
# In the file, but gone when the experiment is checked.
_EXTENDS = {
    "description": "The name of an experiment whose keys this one starts from.",
    "type": "string",
}


def file_schema() -> dict[str, Any]:
    """Return the schema of `experiments/SUITE/NAME.toml`.

    It says what `load_experiment` takes, but for what takes several keys to judge. Of a file that
    extends another one only the names of keys are checked: what they lack is in the other one.
    """
    schema = Experiment.model_json_schema()
    definitions = schema.pop("$defs")
    # Every preset has what is not there.
    given = set.intersection(*map(set, DISK_PRESETS.values()))
    disk = definitions["Disk"]
    disk["required"] = [key for key in disk["required"] if key not in given]
    keys = {key: of for key, of in schema["properties"].items() if key != _FROM_PATH}
    required = [key for key in schema["required"] if key != _OPTIONAL]
    return {
        "$schema": DIALECT,
        "title": "An experiment of mglru-next",
        "description": "docs/use/experiments.md",
        "type": "object",
        "propertyNames": {"enum": ["extends", *keys]},
        "if": {"required": ["extends"]},
        "then": {"properties": {"extends": _EXTENDS}},
        "else": {"properties": keys, "required": required},
        "$defs": definitions,
    }
