# SPDX-License-Identifier: GPL-2.0-only
"""The environment: what pip is told reaches uv, and the lists are those of pyproject.toml."""

from __future__ import annotations

import http.server
import os
import re
import subprocess
import sys
import threading
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from mglru.core import environment
from mglru.core.environment import DEVELOPERS, PROJECT, USERS, uv_settings

CONFIG = """\
:env:.extra-index-url='https://b.example/simple'
global.cert='/etc/ssl/mine.crt'
global.extra-index-url='https://a.example/simple'
global.index-url='https://mirror.example/simple'
global.trusted-host='one.example\\ntwo.example'
install.find-links='/wheels https://c.example/'
list.format='columns'
"""


def test_what_pip_is_told_is_told_to_uv() -> None:
    assert uv_settings(CONFIG, {}) == {
        "UV_DEFAULT_INDEX": "https://mirror.example/simple",
        "UV_INDEX": "https://b.example/simple",
        "UV_FIND_LINKS": "/wheels,https://c.example/",
        "UV_INSECURE_HOST": "one.example two.example",
        "SSL_CERT_FILE": "/etc/ssl/mine.crt",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
    }


@pytest.mark.parametrize("name", ["UV_DEFAULT_INDEX", "UV_INDEX_URL"])
def test_what_uv_is_told_stands(name: str) -> None:
    assert "UV_DEFAULT_INDEX" not in uv_settings(CONFIG, {name: "https://mine.example"})


def test_no_configuration_is_uvs_own() -> None:
    assert uv_settings("", {}) == {"UV_INDEX_STRATEGY": "unsafe-best-match"}


ASKED: list[str] = []


class _Index(http.server.BaseHTTPRequestHandler):
    """An index that has nothing."""

    def do_GET(self) -> None:
        ASKED.append(self.path)
        self.send_error(404)

    def log_message(self, *_arguments: object) -> None:
        pass


def test_uv_asks_the_index_of_pips_configuration(tmp_path: Path) -> None:
    ASKED.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Index) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        said = f"global.index-url='http://127.0.0.1:{server.server_port}/simple'\n"
        done = subprocess.run(
            [sys.executable, "-m", "uv", "pip", "install", "--no-cache", "--target", tmp_path, "x"],
            env={**_without_uv(), **uv_settings(said, {})},
            capture_output=True,
            check=False,
        )
        server.shutdown()
    assert done.returncode
    assert ASKED == ["/simple/x/"]


def _without_uv() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("UV_")}


def _pinned(packages: Path) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", packages.read_text(), re.MULTILINE))


def test_the_lists_pin_what_the_project_names() -> None:
    project = tomllib.loads(PROJECT.read_text())
    users, developers = _pinned(USERS), _pinned(DEVELOPERS)
    for names, pinned in (
        (project["project"]["dependencies"], users),
        (project["dependency-groups"]["dev"], developers),
    ):
        for name in map(Requirement, names):
            assert name.specifier.contains(pinned[canonicalize_name(name.name)])
    assert users.items() <= developers.items()
    assert not developers.keys() & {"boto3", "pybind11"}


@pytest.mark.parametrize("packages", [USERS, DEVELOPERS])
def test_the_lists_have_digests_and_no_place_to_fetch_from(packages: Path) -> None:
    text = packages.read_text()
    assert "://" not in text
    for block in re.split(r"^(?=[a-z])", text, flags=re.MULTILINE)[1:]:
        assert "--hash=sha256:" in block


def test_an_environment_that_cannot_be_made_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    assert environment.main(["make", str(tmp_path / "venv")]) == 1
    assert list(tmp_path.iterdir()) == []
