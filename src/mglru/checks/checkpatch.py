# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own style checker, run on one patch."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from mglru.core import process
from mglru.core.errors import LabError
from mglru.series.listing import Patch

SCRIPT = Path("scripts/checkpatch.pl")
_OPTIONS = ("--no-signoff", "--strict", "--terse", "--show-types", "--color=never")
_FINDING = re.compile(
    r".*?:(?P<line>\d+): (?P<level>ERROR|WARNING|CHECK):(?P<type>\w+): (?P<text>.*)"
)


@dataclass(frozen=True)
class CheckpatchFinding:
    """One complaint.

    Attributes:
        line: in the patch file.
        level: `ERROR`, `WARNING` or `CHECK`.
        type: checkpatch's name for it, as in `--ignore`.
        text: the complaint.
    """

    line: int
    level: str
    type: str
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.level}:{self.type}: {self.text}"


def checkpatch(patch: Patch, source: Path) -> tuple[CheckpatchFinding, ...]:
    """Run the source's own checkpatch.pl --strict on a patch.

    Nothing is ignored here: a finding that has to stay is allowed in `series`, with its reason.

    Raises:
        LabError: the source has no checkpatch.pl, or it did not run to its end.
    """
    script = source / SCRIPT
    if not script.is_file():
        raise LabError(f"{source} has no {SCRIPT}", next_step="use a complete kernel source")
    # checkpatch leaves a cache in its working directory, and reads settings there and at home.
    with tempfile.TemporaryDirectory(prefix="mglru-checkpatch-") as scratch:
        output = process.run(
            ["perl", script, *_OPTIONS, f"--root={source}", patch.path],
            purpose=f"run checkpatch on {patch.name}",
            cwd=Path(scratch),
            env={"HOME": scratch, "GIT_DIR": f"{scratch}/none"},
            ok=(0, 1),
            next_step="sudo apt-get install perl",
        )
    return parse_output(output, patch.name)


def parse_output(output: str, name: str) -> tuple[CheckpatchFinding, ...]:
    """Read what `checkpatch.pl --terse --show-types` printed.

    Raises:
        LabError: it complained in a way that this function does not understand.
    """
    lines = output.splitlines()
    findings = tuple(
        CheckpatchFinding(int(match["line"]), match["level"], match["type"], match["text"])
        for line in lines
        if (match := _FINDING.fullmatch(line))
    )
    if output.strip() and not findings:
        raise LabError(
            f"checkpatch said something unexpected about {name}",
            log_tail=lines[-process.TAIL_LINES :],
            next_step="run scripts/checkpatch.pl of the source by hand",
        )
    return findings
