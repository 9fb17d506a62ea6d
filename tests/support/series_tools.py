# SPDX-License-Identifier: GPL-2.0-only
"""A small kernel source and real patches for it, made by real git."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mglru.core.git import git, identity

VMSCAN = "".join(f"line {number}\n" for number in range(1, 61))
FILES = {
    "Makefile": "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 99\nEXTRAVERSION =\n",
    ".gitignore": "*.o\n\n# ignore everything\n/*\n!/debian/\n",
    "mm/vmscan.c": VMSCAN,
    "mm/old.c": "int old;\n",
    "mm/tool.sh": "#!/bin/sh\nexit 0\n",
    "mm/empty.h": "",
    "include/linux/mmzone.h": "".join(f"field {number}\n" for number in range(1, 31)),
}
EXECUTABLE = "mm/tool.sh"
# A checkpatch.pl that knows two rules.
CHECKPATCH = r"""
my $file = $ARGV[-1];
my $failed = 0;
open(my $in, '<', $file) or die "cannot read $file";
while (<$in>) {
    my %found = (
        "ERROR:CODE_INDENT: use tabs" => scalar(/^\+ {8}/),
        "CHECK:CAMELCASE: Avoid CamelCase" => scalar(/^\+[^+]*[a-z][A-Z]/),
    );
    for (sort keys %found) {
        next unless $found{$_};
        print "$file:$.: $_\n";
        $failed = 1;
    }
}
exit $failed;
"""


def write_files(root: Path, files: Mapping[str, str | None]) -> Path:
    """Write files below `root`; None removes one."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            path.unlink()
        else:
            path.write_text(text)
            path.chmod(0o755 if name == EXECUTABLE else 0o644)
    return root


def snapshot(root: Path) -> dict[str, bytes]:
    """Return every file below `root`, git's own apart."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(root).parts
    }


class Forge:
    """A repository in which patches are made."""

    def __init__(self, root: Path, files: Mapping[str, str] = FILES) -> None:
        self.root = write_files(root, files)
        self.seconds = 1_700_000_000
        self.run("init", "--quiet", "--template=")
        self.commit("files", {})
        self.run("tag", "base")

    def run(self, *arguments: str | Path) -> str:
        who = identity("Ada Lovelace", "ada@example.org", f"@{self.seconds} +0100")
        return git(*arguments, cwd=self.root, purpose="prepare a test", env=who)

    def commit(
        self, subject: str, changes: Mapping[str, str | None], body: str = "It was wrong."
    ) -> None:
        self.seconds += 60
        write_files(self.root, changes)
        self.run("add", "--all", "--force")
        self.run(
            "commit",
            "--quiet",
            "--allow-empty",
            "--cleanup=verbatim",
            "-m",
            f"{subject}\n\n{body}\n",
        )

    def replace(self, subject: str, old: str, new: str, file: str = "mm/vmscan.c") -> None:
        """Commit a change of one line of a file."""
        text = (self.root / file).read_text()
        assert f"{old}\n" in text
        self.commit(subject, {file: text.replace(f"{old}\n", f"{new}\n", 1)})

    def export(self, directory: Path, listing: str | None = None) -> Path:
        """Write all commits as patches, with a `series` file (`listing`, or just the names)."""
        directory.mkdir(parents=True, exist_ok=True)
        options = ("--quiet", "--no-signature", "--zero-commit", "--full-index", "--no-numbered")
        self.run("format-patch", *options, "-o", directory, "base..HEAD")
        names = sorted(path.name for path in directory.glob("*.patch"))
        text = "".join(f"{name}\n" for name in names) if listing is None else listing
        (directory / "series").write_text(text)
        return directory
