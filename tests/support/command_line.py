# SPDX-License-Identifier: GPL-2.0-only
"""The command line, called in this process."""

from __future__ import annotations

import pytest

from mglru import cli


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    output = capsys.readouterr()
    return int(caught.value.code or 0), output.out, output.err
