# SPDX-License-Identifier: GPL-2.0-only
"""The command line on bad input: one clear message, the right exit code, nothing begun."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import click
import pytest

from mglru import cli
from mglru.core.errors import ExitCode
from mglru.core.paths import REPO
from support.command_line import run


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nosuch"], "No such command 'nosuch'"),
        (["run"], "nothing to run"),
        (["run", "nosuch"], "no experiment 'nosuch'"),
        (["run", "--suite", "nosuch"], "nosuch"),
        (["run", "--suite", "harm", "ycsb-b"], "--suite and the experiments ycsb-b"),
        (["run", "--suite", "harm", "--all"], "--all is not for a suite"),
        (["run", "--suite", "harm", "--anew", "--renew"], "--renew only what changed"),
        (["run", "ycsb-b", "--quick", "--leave-out", "x"], "--quick, --leave-out goes with"),
        (["run", "ycsb-b", "--renew"], "nothing to renew"),
        (["run", "../pyproject"], "no experiment"),
        (["run", "ycsb-b", "--kernels", "6.11"], "no kernel '6.11'"),
        (["run", "ycsb-b", "--kernels", "6.12,6.12"], "twice"),
        (["run", "ycsb-b", "--nosuch"], "No such option"),
        (["run", "ycsb-b", "--boots", "0"], "0 is not in the range"),
        (["run", "ycsb-b", "--machine", "vax"], "'vax'"),
        (["run", "ycsb-b", "--set", "limit"], "'limit' is not key=value"),
        (["run", "ycsb-b", "--set", "nosuch.key=1"], "nosuch"),
        (["run", "ycsb-b", "--set", "memcg=1"], "'memcg' is a table"),
        (["run", "ycsb-b", "--json", "/nonexistent/file.json"], "/nonexistent/file.json"),
        (["bound", "nosuch"], "no experiment 'nosuch'"),
        (["bound", "memcg-create"], "no disk"),
        (["bound", "ycsb-b", "--capacity", "3"], "3 is not in the range"),
        (["bound", "ycsb-b", "--json", "/nonexistent/file.json"], "/nonexistent/file.json"),
        (["bound", "--models"], "one experiment or several"),
        (["bound", "--models", "ycsb-b", "--kernels", "7.3"], "kernel 7.3 has no model"),
        (["run", "ycsb-b:nosuch"], "it has none"),
        (["kernel", "build", "6.12+next:99"], "6.12+next:99"),
        (["compare", "/nonexistent.json"], "/nonexistent.json"),
        (["kernel", "tree", "bsd"], "'bsd' is not a kernel's name"),
        (["series", "check", "--only", "i386"], "--only and --json belong to --matrix"),
        (["series", "check", "--matrix", "--only", "nosuch"], "no configuration 'nosuch'"),
        (["series", "check", "--matrix", "6.12", "6.12"], "one base at a time"),
        (["series", "check", "--matrix", "--json", "/nonexistent/m.json"], "/nonexistent/m.json"),
    ],
)
def test_bad_input_is_one_message_and_the_usage_exit_code(
    capsys: pytest.CaptureFixture[str],
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.setenv("MGLRU_NO_INSTALL", "1")
    code, out, err = run(capsys, *arguments)
    assert message in err
    assert "Traceback" not in err
    assert "downloading" not in err
    assert out == ""
    assert code == ExitCode.USAGE


def test_without_arguments_the_help_shows_where_to_begin(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, _out, err = run(capsys)
    assert code == ExitCode.USAGE
    assert "./mglru demo" in err


def test_every_command_has_a_help_text(capsys: pytest.CaptureFixture[str]) -> None:
    context = click.Context(cli.cli)
    names = cli.cli.list_commands(context)
    assert "demo" in names
    for name in names:
        code, out, _err = run(capsys, name, "--help")
        command = cli.cli.get_command(context, name)
        assert code == ExitCode.OK
        assert command
        assert command.help
        assert "Usage: mglru" in out


def test_missing_packages_are_listed_with_the_command_that_installs_them(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # A dpkg-query that has never heard of anything stands for a bare machine.
    query = tmp_path / "dpkg-query"
    query.write_text("#!/bin/sh\nexit 1\n")
    query.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("MGLRU_NO_INSTALL", "1")
    code, _out, err = run(capsys, "kernel", "fetch")
    assert code == ExitCode.INFRASTRUCTURE
    assert "flex" in err
    assert "apt-get install" in err


def test_a_cache_that_cannot_be_written_ends_in_one_message() -> None:
    # /proc takes no new files, also not from root.
    outcome = subprocess.run(
        [REPO / "mglru", "experiments"],
        env={**os.environ, "MGLRU_CACHE": "/proc/sys/mglru"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == ExitCode.INFRASTRUCTURE
    assert "cannot be written" in outcome.stderr
    assert "next: make it writable, or set MGLRU_CACHE" in outcome.stderr


def test_every_command_of_the_help_is_there_and_is_told_in_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, _err = run(capsys, "--help")
    assert code == 0
    for group in cli.COMMANDS.values():
        for name, (_module, text) in group.items():
            found = cli.cli.get_command(click.Context(cli.cli), name)
            assert found is not None
            assert found.name == name
            assert f"{name} " in out
            assert text in out
    assert out.count("...") == 1, "only that of the usage"


@pytest.mark.parametrize("group", ["kernel", "series", "cluster"])
def test_the_help_of_a_group_tells_all_of_each_first_sentence(
    capsys: pytest.CaptureFixture[str], group: str
) -> None:
    code, out, _err = run(capsys, group, "--help")
    assert code == ExitCode.OK
    assert out.count("...") == 1, "only that of the usage"
    commands = cli.cli.get_command(click.Context(cli.cli), group)
    assert isinstance(commands, click.Group)
    for name, command in commands.commands.items():
        assert f"{name} " in out
        assert command.get_short_help_str(1000) in " ".join(out.split())
