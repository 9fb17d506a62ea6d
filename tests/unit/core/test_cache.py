# SPDX-License-Identifier: GPL-2.0-only
"""The cache: what is made once, who uses it, and what `kernel clean` takes and leaves."""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mglru.core import cache as the_cache
from mglru.core.cache import in_use, made, made_file, scratch, use
from mglru.core.cleaning import KINDS, clean, entries, unknown
from mglru.core.files import digest, write_whole
from mglru.core.keys import key_of
from mglru.core.paths import REPO, cache_dir, locked
from support.command_line import run

USER = """
import sys
from pathlib import Path
from mglru.core.cache import use
for path in sys.argv[1:]:
    use(Path(path))
print("ready", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def used_by_another(*paths: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that uses something in the cache."""
    environment = {**os.environ, "PYTHONPATH": str(REPO / "src")}
    with subprocess.Popen(
        [sys.executable, "-c", USER, *map(str, paths)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def fill(kind: str) -> Path:
    """Something of a kind, a MB large."""
    pattern = next(each.pattern for each in KINDS if each.name == kind)
    directory = cache_dir(*Path(pattern.replace("*", "one")).parts)
    (directory / "content").write_bytes(b"x" * (1 << 20))
    return directory


def make_old(path: Path, days: float) -> None:
    at = time.time() - days * 86_400
    os.utime(path, (at, at))


def test_what_is_there_is_not_made_again(cache: Path) -> None:
    calls: list[Path] = []

    def make(staging: Path) -> None:
        calls.append(staging)
        (staging / "x").write_text("made")

    target = cache / "guest" / "one"
    target.parent.mkdir(parents=True)
    for _ in range(2):
        assert (made(target, make) / "x").read_text() == "made"
    assert len(calls) == 1


def test_two_that_want_one_thing_make_it_once(cache: Path) -> None:
    calls: list[int] = []
    target = cache_dir("traces") / "one"

    def make(new: Path) -> None:
        calls.append(1)
        time.sleep(0.1)
        new.write_text("made")

    threads = [threading.Thread(target=made_file, args=(target, make)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == [1]
    assert target.read_text() == "made"


def test_what_fails_leaves_nothing(cache: Path) -> None:
    def make(staging: Path) -> None:
        (staging / "x").write_text("half")
        raise ValueError("no")

    target = cache_dir("guest") / "one"
    with pytest.raises(ValueError, match="no"):
        made(target, make)
    assert [path.suffix for path in target.parent.iterdir()] == [".lock"]


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    file = tmp_path / "file"
    for content in ("one", b"two"):
        write_whole(file, content)
    assert file.read_text() == "two"
    assert list(tmp_path.iterdir()) == [file]
    with pytest.raises(OSError, match="No such file"):
        write_whole(tmp_path / "nowhere" / "file", "x")
    assert len(digest(file)) == 64


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_what_is_in_use_is_never_removed(cache: Path, kind: str) -> None:
    path = fill(kind)
    make_old(path, 100)
    with used_by_another(path):
        make_old(path, 100)
        cleaned = clean(everything=True, days=0)
        assert (path / "content").exists()
        assert next(each for each in KINDS if each.name == kind).keep or path in cleaned.in_use
    clean(everything=True, days=0)
    assert path.exists() == (kind == "git")
    assert in_use() == set()


def test_what_is_being_made_is_not_removed(cache: Path) -> None:
    tree, source = fill("trees"), fill("sources")
    with locked(tree), locked(source.parent):
        assert set(clean(everything=True, days=0).in_use) == {tree, source}
    assert (tree / "content").exists()
    assert clean(everything=True, days=0).in_use == ()
    assert not tree.exists()


def test_what_a_dead_process_used_is_in_use_no_more(cache: Path) -> None:
    path = fill("builds")
    with used_by_another(path) as process:
        assert path in in_use()
        process.kill()
        process.wait()
        assert in_use() == set()
    assert not list((cache / the_cache.LEASES).iterdir())


def test_a_process_that_ends_takes_its_lease_along(cache: Path) -> None:
    path = fill("builds")
    with used_by_another(path) as process:
        assert len(list((cache / the_cache.LEASES).iterdir())) == 1
        process.communicate("")
        assert not list((cache / the_cache.LEASES).iterdir())


def test_only_what_is_old_goes_by_itself(cache: Path) -> None:
    old, new, dear = fill("builds"), fill("datasets"), fill("sources")
    for path in (old, dear):
        make_old(path, 15)
    cleaned = clean(everything=False, days=14)
    assert (old.exists(), new.exists(), dear.exists()) == (False, True, True)
    assert 1 << 20 <= cleaned.bytes < 2 << 20


def test_a_use_makes_it_young(cache: Path) -> None:
    path = fill("builds")
    make_old(path, 100)
    use(path)
    assert next(entries()).age < 60


def test_a_scratch_directory_is_in_use_and_goes(cache: Path) -> None:
    with scratch("boot") as directory:
        assert directory in in_use()
    assert not directory.exists()


def test_all_that_the_lab_keeps_is_known(cache: Path) -> None:
    for kind in KINDS:
        fill(kind.name)
    cache_dir("somebody's")
    use(fill("builds"))
    assert unknown() == [cache / "somebody's"]
    assert {entry.kind for entry in entries()} == set(KINDS)


def test_the_command_lists_and_frees(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, work = fill("builds"), fill("git")
    status, out, _ = run(capsys, "kernel", "clean", "--list")
    assert status == 0
    assert "kernels" in out
    assert "1M" in out
    assert path.exists()
    with used_by_another(path):
        status, _, said = run(capsys, "kernel", "clean", "--all")
        assert (status, said) == (0, f"in use: {path}\n")
    assert run(capsys, "kernel", "clean", "--all")[1].startswith("freed 1")
    assert (path.exists(), work.exists()) == (False, True)


def test_a_key_is_the_begin_of_a_digest_that_stays_as_it_is() -> None:
    """Another one for the same content would lose all that the cache has."""
    assert key_of("6.12\n", b"series") == key_of("6.12\nseries") == "cd39c82109cf"
    assert key_of("é", length=16) == hashlib.sha256("é".encode()).hexdigest()[:16]
