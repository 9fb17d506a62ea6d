# SPDX-License-Identifier: GPL-2.0-only
"""A group of commands whose modules are imported when they are called, not before."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click


class LazyGroup(click.Group):
    """A group whose help is known without its commands.

    Args:
        commands_by_group: by a group's heading, by a command's name: its module below
            `mglru.cli`, where it is an attribute of that name (`try_` for `try`), and its help.
        options: of click's group.
    """

    def __init__(
        self, *, commands_by_group: Mapping[str, Mapping[str, tuple[str, str]]], **options: Any
    ) -> None:
        super().__init__(**options)
        self._groups = commands_by_group
        self._modules = {
            name: module
            for group in commands_by_group.values()
            for name, (module, _help) in group.items()
        }

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in the order of the help."""
        del ctx
        return list(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None if there is none of that name."""
        del ctx
        if cmd_name not in self._modules:
            return None
        module = importlib.import_module(f"mglru.cli.{self._modules[cmd_name]}")
        name = cmd_name if hasattr(module, cmd_name) else f"{cmd_name}_"
        found = getattr(module, name)
        assert isinstance(found, click.Command)  # noqa: S101
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by group, each with all of its line."""
        del ctx
        for heading, commands in self._groups.items():
            with formatter.section(heading):
                formatter.write_dl([(name, text) for name, (_module, text) in commands.items()])
