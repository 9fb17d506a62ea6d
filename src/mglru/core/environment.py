# SPDX-License-Identifier: GPL-2.0-only
"""The Python environment: a list of pinned packages in, an environment made by uv out.

`./mglru` runs this as a program, before there is an environment: it takes the standard library
alone. `lock` makes the lists anew from pyproject.toml.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

Run = Callable[..., str]
REPO = Path(__file__).resolve().parents[3]
PROJECT = REPO / "pyproject.toml"
USERS = REPO / "requirements.txt"
DEVELOPERS = REPO / "requirements-dev.txt"
HEADER = """\
# SPDX-License-Identifier: GPL-2.0-only
# {what}, pinned; made from pyproject.toml by
# python -m mglru.core.environment lock
"""
# pip's sections, the strongest last.
_SECTIONS = ("global", "install", ":env:")
# What pip calls a setting, and uv, or the library that both ask the network with; where that takes
# several values, what stands between them.
_NAMES = {
    "index-url": ("UV_DEFAULT_INDEX", None),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "no-index": ("UV_NO_INDEX", None),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "proxy": ("ALL_PROXY", None),
    "cert": ("SSL_CERT_FILE", None),
    "client-cert": ("SSL_CLIENT_CERT", None),
    "timeout": ("UV_HTTP_TIMEOUT", None),
    "default-timeout": ("UV_HTTP_TIMEOUT", None),
}
# Older names of uv's, which a user may have set.
_OLDER = {"UV_DEFAULT_INDEX": "UV_INDEX_URL", "UV_INDEX": "UV_EXTRA_INDEX_URL"}


def uv_settings(pip_config: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables that tell uv what pip is configured to do.

    uv does not read pip's configuration, and a machine that has its packages from a mirror often
    says so there alone.

    Args:
        pip_config: what `pip config list` prints.
        environment: what is set in it for uv stands.
    """
    said = _pip_settings(pip_config)
    # pip takes the best version of all indexes, and what it may be is pinned by digest.
    found = {"UV_INDEX_STRATEGY": "unsafe-best-match"}
    for name, (variable, joined) in _NAMES.items():
        if value := said.get(name):
            found[variable] = joined.join(value.split()) if joined else value
    return {
        name: value
        for name, value in found.items()
        if not environment.keys() & {name, _OLDER.get(name, name)}
    }


def _pip_settings(pip_config: str) -> dict[str, str]:
    found: dict[str, dict[str, str]] = {section: {} for section in _SECTIONS}
    for line in pip_config.splitlines():
        name, _, value = line.partition("=")
        section, _, key = name.rpartition(".")
        if section in found:
            found[section][key] = ast.literal_eval(value)
    return {key: value for section in _SECTIONS for key, value in found[section].items()}


def install(environment: Path, packages: Path, *, anew: bool) -> None:
    """Make an environment that has exactly the packages of a list, or change one so that it has.

    Args:
        environment: its directory.
        packages: pinned, with digests.
        anew: whether to make it first.

    Raises:
        subprocess.CalledProcessError: pip or uv failed, and has said why.
    """
    with _uv(environment.with_name(f"{environment.name}.uv")) as uv:
        if anew:
            shutil.rmtree(environment, ignore_errors=True)
            uv("venv", "--quiet", "--python", sys.executable, environment)
        uv(
            *("pip", "sync", "--quiet", "--require-hashes", "--compile-bytecode"),
            *("--python", environment / "bin" / "python", packages),
        )


def lock() -> None:
    """Pin what pyproject.toml names, in the versions that are pinned already where those fit.

    Raises:
        subprocess.CalledProcessError: pip or uv failed, and has said why.
    """
    with tempfile.TemporaryDirectory() as scratch, _uv(Path(scratch) / "uv") as uv:
        _compile(uv, USERS, "What ./mglru imports")
        # One version of a package for both.
        more = ("--group", "dev", "--constraint", USERS)
        _compile(uv, DEVELOPERS, "That, and what ./mglru test takes", *more)


def _compile(uv: Run, target: Path, what: str, *more: str | Path) -> None:
    uv(
        *("pip", "compile", "--quiet", "--universal", "--generate-hashes", "--no-annotate"),
        *("--no-emit-index-url", "--no-header", "--output-file", target, PROJECT, *more),
    )
    target.write_text(HEADER.format(what=what) + target.read_text())


@contextlib.contextmanager
def _uv(scratch: Path) -> Iterator[Run]:
    """Give what runs uv, installed by pip for the time of the block.

    uv and what it downloads are of no use afterwards. The directory is to be beside the
    environment that it makes, so that its files become those of the environment by links.
    """
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        venv.create(scratch, with_pip=True)
        pip = (scratch / "bin" / "python", "-m", "pip", "--disable-pip-version-check")
        only_uv = scratch / "requirements.txt"
        only_uv.write_text(_pinned("uv", DEVELOPERS.read_text()))
        _run(*pip, "install", "--quiet", "--require-hashes", "--requirement", only_uv)
        said = _run(*pip, "config", "list", capture=True)
        variables = {"UV_CACHE_DIR": str(scratch / "cache"), **os.environ}
        variables |= uv_settings(said, os.environ)
        yield lambda *words: _run(scratch / "bin" / "uv", *words, variables=variables)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _pinned(name: str, packages: str) -> str:
    """Return the lines of one package; pip takes digests from a list that it installs only."""
    found = re.search(rf"^{name}==(.*\\\n)*.*\n", packages, re.MULTILINE)
    return found[0] if found else name


def _run(
    *command: str | Path, capture: bool = False, variables: Mapping[str, str] | None = None
) -> str:
    # What they say is for the user, and not what the lab's command prints.
    output = subprocess.PIPE if capture else sys.stderr
    done = subprocess.run(command, check=True, stdout=output, env=variables, text=True)
    return done.stdout or ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what `./mglru` asks for; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    what = parser.add_subparsers(dest="what", required=True)
    for name in ("make", "add"):
        parser_of_one = what.add_parser(name)
        parser_of_one.add_argument("environment", type=Path)
    what.add_parser("lock")
    given = parser.parse_args(arguments)
    try:
        if given.what == "lock":
            lock()
        elif given.what == "make":
            install(given.environment, USERS, anew=True)
        else:
            install(given.environment, DEVELOPERS, anew=False)
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"mglru: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
