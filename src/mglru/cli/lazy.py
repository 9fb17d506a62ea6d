# SPDX-License-Identifier: GPL-2.0-only
"""Groups of commands: help that is not cut, and modules that are imported when called."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click

WHOLE = 1000  # letters


class Group(click.Group):
    """A group that shows all of the first sentence of each command, on several lines if need be.

    click cuts it where the line ends. cloup does so too, and rich-click takes rich to start with,
    and every command to show the help of a group.
    """

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, each with its first sentence."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, command.get_short_help_str(WHOLE)) for name, command in commands if command]
            )


class LazyGroup(Group):
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
