# SPDX-License-Identifier: GPL-2.0-only
"""A user's command, as a guest can run it: which program, and what its words stand for there.

Whatever can be known before anything boots is checked here.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mglru.core import process
from mglru.core.errors import LabError, UsageError
from mglru.study.try_.guest_files import COVERED, WORK_DIRECTORY, Places, is_covered, visible

SHELL = "/bin/sh"
# A single word with one of these is a line for the shell.
SHELL_CHARACTERS = frozenset(" \t\n|&;<>()$`\"'*?[]#~=%!{}\\")
SHELLS = frozenset({"sh", "bash", "dash", "ksh", "zsh"})
INTERPRETERS = re.compile(r"(python|perl|ruby|node|lua|php)[0-9.]*|sh|bash|dash|ksh|zsh")
# What a word of a shell line may be to be looked up as a program or a file.
PLAIN = re.compile(r"[\w./+-]+")
HEAD_BYTES = 256


@dataclass(frozen=True)
class Command:
    """What is started in the guest.

    Attributes:
        shown: as the user wrote it.
        program: its path in the guest.
        arguments: its own name first.
        search_path: $PATH in the guest.
        binary_bytes: size of the binary that is loaded first: the program, or its interpreter.
        notes: what words were taken for, one sentence each.
        warnings: what may not be found in the guest.
    """

    shown: str
    program: str
    arguments: tuple[str, ...]
    search_path: str
    binary_bytes: int = 0
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass
class _Said:
    """What the user is told on the way."""

    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def resolve(words: Sequence[str], places: Places) -> Command:
    """Return a command as the guest runs it.

    Args:
        words: the program and its arguments, or one line for the shell.
        places: where words are looked up.

    Raises:
        UsageError: no such program or script, it cannot be executed, or the line is not a shell's.
    """
    if not words or not words[0].strip():
        raise UsageError("no command", next_step="give one after --: ./mglru try ... -- COMMAND...")
    said = _Said()
    text = words[0] if len(words) == 1 else shlex.join(words)
    # What is not UTF-8 arrives in the guest as it is, but results are text.
    shown = text.encode(errors="replace").decode()
    if len(words) == 1 and _is_shell_line(words[0], places):
        said.notes.append(f"the command is one line for a shell: {SHELL} -c {shlex.quote(shown)}")
        words = [SHELL, "-c", words[0]]
    argv, binary = _program(words[0], places)
    if Path(words[0]).name in SHELLS and len(words) > 2 and words[1] == "-c":
        _check_shell_line(words[0], words[2], places, said)
        argv += [*words[1:]]
    else:
        _check_script(words, places)
        argv += [_argument(word, places, said) for word in words[1:]]
    return Command(
        shown=shown,
        program=argv[0],
        arguments=tuple(argv[1:]),
        search_path=places.search_path(),
        binary_bytes=binary.stat().st_size,
        notes=tuple(said.notes),
        warnings=tuple(said.warnings),
    )


def _is_shell_line(word: str, places: Places) -> bool:
    return bool(SHELL_CHARACTERS & set(word)) and places.host_file(word) is None


def _program(word: str, places: Places) -> tuple[list[str], Path]:
    """Return the path to start in the guest with the words up to the program's own name.

    With it comes the binary on the host that is loaded first.
    """
    file = _find_program(word, places)
    if not file.is_file():
        problem = "is a directory" if file.is_dir() else "does not exist"
        raise UsageError(f"the program {word} {problem}", next_step="check its path")
    if not os.access(file, os.X_OK):
        raise UsageError(
            f"{word} is not executable",
            next_step=f"chmod +x {shlex.quote(word)}, or name its interpreter: -- sh {word}",
        )
    in_guest = places.in_guest(file)
    interpreter = _interpreter(file, places)
    if not interpreter:
        return [in_guest, in_guest if "/" in word else word], file
    seen = visible(interpreter[0])
    if seen == interpreter[0]:
        return [in_guest, in_guest if "/" in word else word], Path(seen)
    # The kernel would look for it at its own path.
    return [seen, seen, *interpreter[1:], in_guest], Path(interpreter[0])


def _find_program(word: str, places: Places) -> Path:
    if "/" in word:
        return places.host_file(word) or Path(word)
    found = shutil.which(word, path=places.path + process.ADMINISTRATORS_PATH)
    if found:
        return Path(found)
    if places.host_file(word):
        raise UsageError(f"there is no program '{word}' in $PATH", next_step=f"write ./{word}")
    raise UsageError(
        f"there is no program '{word}' on this machine, whose programs the guest runs",
        next_step="install it here, or give its path",
    )


def _interpreter(file: Path, places: Places) -> list[str]:
    """Return a script's interpreter, with its argument if it has one; of a binary nothing.

    Raises:
        UsageError: neither a binary nor a script, or there is no such interpreter.
    """
    try:
        with file.open("rb") as opened:
            head = opened.read(HEAD_BYTES)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    if head.startswith(b"\x7fELF"):
        return []
    if not head.startswith(b"#!"):
        raise UsageError(
            f"{file} is neither a binary nor a script that begins with #!",
            next_step=f"name its interpreter: -- sh {file}",
        )
    words = head[2:].split(b"\n")[0].decode(errors="replace").strip().split(None, 1)
    if not words or not Path(words[0]).is_file():
        raise UsageError(
            f"{file} wants the interpreter {words[0] if words else '(none)'}, which does not exist",
            next_step="install it, or name another one: -- INTERPRETER SCRIPT",
        )
    if Path(words[0]).name == "env" and len(words) > 1 and PLAIN.fullmatch(words[1]):
        _find_program(words[1], places)
    return words


def _check_script(words: Sequence[str], places: Places) -> None:
    """Make sure that the script exists whose interpreter was named."""
    if not INTERPRETERS.fullmatch(Path(words[0]).name) or len(words) < 2:
        return
    script = words[1]
    if script.startswith("-") or script in ("/dev/stdin", "") or places.host_file(script):
        return
    raise UsageError(
        f"there is no script {script}, neither here nor in --data",
        next_step="check its path",
    )


def _argument(word: str, places: Places, said: _Said) -> str:
    """Return an argument for the guest: words that name files of the host become their paths."""
    if not word or "\0" in word or len(word) > 4096:
        return word
    option, equals, value = word.partition("=")
    for before, name in (("", word), (f"{option}=", value if equals else "")):
        found = _path(name, places)
        if found and found != name:
            said.notes.append(_explain(name, found))
            return before + found
        if found:
            return word
    return word


def _path(name: str, places: Places) -> str | None:
    """Return where the guest has a file of the host, None if the name is none."""
    if not name or name.startswith("-") or name in COVERED:
        return None
    if name.startswith("/"):
        if not os.path.lexists(name):
            return None
        return places.in_work(Path(name)) or (visible(name) if _hidden(name) else name)
    if places.data and ".." not in Path(name).parts and os.path.lexists(places.data / name):
        return name
    here = places.here / name
    if not os.path.lexists(here):
        return None
    # A word like `test` is more often a word than a directory.
    return places.in_work(here) or (visible(here) if here.is_file() else None)


def _hidden(path: str) -> bool:
    return path not in COVERED and (is_covered(path) or is_covered(os.path.realpath(path)))


def _explain(name: str, found: str) -> str:
    if found.startswith(WORK_DIRECTORY):
        return f"{name} is in the data: {found} in the guest"
    return (
        f"{name} is the host's file, read-only and without a disk's time ({found} in the guest); "
        "what --data names is copied to the guest's disk"
    )


def _check_shell_line(shell: str, line: str, places: Places, said: _Said) -> None:
    """Find syntax errors and a missing program; warn of files that the guest does not see.

    Raises:
        UsageError: the line is not a shell's, or its first program does not exist.
    """
    try:
        process.run([shell, "-n", "-c", line], purpose="read the command", limit_seconds=10)
    except LabError as error:
        problem = error.log_tail[-1] if error.log_tail else error.what
        raise UsageError(
            f"the shell does not understand the command: {problem}",
            next_step="quote it for your own shell, as in -- sh -c 'sort file | head'",
        ) from error
    words = list(_shell_words(line))
    if words and PLAIN.fullmatch(words[0]):
        _check_first(shell, words[0], places)
    for word in dict.fromkeys(words):
        if unseen := _unseen(word, places):
            said.warnings.append(unseen)


def _shell_words(line: str) -> Iterator[str]:
    """Return a line's words, as far as they can be told without running it."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        yield from (word for word in lexer if word)
    except ValueError:
        return


def _check_first(shell: str, word: str, places: Places) -> None:
    if "/" in word:
        if not places.host_file(word):
            raise UsageError(f"the program {word} does not exist", next_step="check its path")
        return
    # It knows its own words, too: `for`, `cd`.
    script = 'command -v -- "$1"'
    try:
        process.run([shell, "-c", script, shell, word], purpose="find it", limit_seconds=10)
    except LabError:
        _find_program(word, places)


def _unseen(word: str, places: Places) -> str | None:
    """Say of a word of a shell line that the guest does not see the file that it names here."""
    if not PLAIN.fullmatch(word) or word in COVERED:
        return None
    if word.startswith("/"):
        if not os.path.lexists(word) or not _hidden(word):
            return None
        seen = places.in_guest(Path(word))
        return f"{word} exists here, but the guest has it at {seen} only"
    here = places.here / word
    if not here.is_file() or (places.data and os.path.lexists(places.data / word)):
        return None
    return (
        f"{word} exists here, but the guest's working directory is "
        + (f"a copy of {places.data}" if places.data else "empty (--data DIR copies one)")
        + f"; the guest has this file at {places.in_guest(here)}"
    )
