# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru try` without a guest: words, directories, sizes, verdicts, bad input."""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from mglru import cli
from mglru.core.cache import use
from mglru.core.errors import ExitCode, LabError, UsageError
from mglru.core.paths import cache_dir, locked
from mglru.core.sizes import MB, Size, parse_size, shown
from mglru.disk import user_files
from mglru.disk.images import dataset_image
from mglru.disk.user_files import Content
from mglru.experiment.dataset import DirectoryDataset
from mglru.experiment.spec import Swap
from mglru.results.model import BootRecord
from mglru.study.try_ import ending
from mglru.study.try_ import experiment as trial
from mglru.study.try_ import output as program_output
from mglru.study.try_.command import Command, resolve
from mglru.study.try_.experiment import TryOptions, make_experiment, parse_environment, parse_swap
from mglru.study.try_.guest_files import WORK_DIRECTORY, Places, visible

COMMAND = Command(shown="true", program="/bin/true", arguments=("true",), search_path="/bin")
OPTIONS = TryOptions(limit=64 * MB)
# What guest/tools/command.c reports of a command that did well.
GOOD = {
    "exit_status": 0.0,
    "exit_signal": 0.0,
    "timed_out": 0.0,
    "oom_kill": 0.0,
    "left_processes": 0.0,
    "output_bytes": 3.0,
    "disk_free_mb": 500.0,
    "memory_peak_mb": 67.0,
    "elapsed_seconds": 1.0,
}


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """A data directory beside the one that the user is in."""
    here, data = tmp_path / "here", tmp_path / "data"
    here.mkdir()
    data.mkdir()
    (data / "app.db").write_text("data")
    (here / "script.py").write_text("print(1)\n")
    return Places(here, data, os.environ["PATH"])


def script(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


# --- sizes


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [("256M", 256 << 20), ("1g", 1 << 30), ("512KiB", 512 << 10), ("8192", 8192)],
)
def test_sizes_are_powers_of_1024(text: str, bytes_: int) -> None:
    assert parse_size(text, "--limit") == bytes_


@pytest.mark.parametrize("text", ["", "M", "-1M", "1.5G", "256 X", "0", "12", "99999T", "256M B"])
def test_what_is_no_size_is_refused_by_the_options_name(text: str) -> None:
    with pytest.raises(UsageError, match="--limit"):
        parse_size(text, "--limit")


def test_sizes_are_shown_as_they_are_written() -> None:
    sizes = (24 * MB, 1023 * MB, 3 << 29, 512 << 10, 100)
    assert [shown(size) for size in sizes] == ["24M", "1023M", "1.5G", "512K", "100"]


# --- words


def test_a_program_is_found_as_the_user_would_find_it(places: Places) -> None:
    command = resolve(["ls", "-l", "nowhere"], places)
    assert command.program.endswith("/ls")
    assert command.arguments == ("ls", "-l", "nowhere")
    assert command.shown == "ls -l nowhere"
    assert command.notes == command.warnings == ()


def test_one_word_with_shell_characters_is_a_line_for_the_shell(places: Places) -> None:
    command = resolve(["sort app.db | head -1"], places)
    assert command.program == "/bin/sh"
    assert command.arguments[1:] == ("-c", "sort app.db | head -1")
    assert "one line for a shell" in command.notes[0]


def test_files_of_the_data_keep_their_names_others_become_host_paths(places: Places) -> None:
    script_file = places.here / "script.py"
    command = resolve(["cat", "app.db", "script.py", f"--file={script_file}", "new.txt"], places)
    seen = f"/run/host{script_file}"
    assert command.arguments == ("cat", "app.db", seen, f"--file={seen}", "new.txt")
    assert "script.py is the host's file, read-only" in command.notes[0]


def test_the_datas_own_path_means_the_copy(places: Places) -> None:
    assert places.data
    command = resolve(["cat", str(places.data / "app.db"), "../data/app.db"], places)
    assert command.arguments[1:] == (f"{WORK_DIRECTORY}/app.db",) * 2


def test_words_that_only_look_like_files_stay(places: Places) -> None:
    (places.here / "tests").mkdir()
    words = ["grep", "tests", "", "/tmp", "/dev/null", "-e", "x\ny", "/proc/meminfo"]
    assert resolve(words, places).arguments == tuple(words)


def test_a_script_whose_interpreter_is_hidden_is_started_by_that(places: Places) -> None:
    interpreter = script(places.here / "shell", Path("/bin/true").read_bytes().decode("latin1"))
    interpreter.write_bytes(Path("/bin/true").read_bytes())
    assert places.data
    script(places.data / "run", f"#!{interpreter} -x\n")
    command = resolve(["./run", "7"], places)
    seen = f"/run/host{interpreter}"
    assert command.program == seen
    assert command.arguments == (seen, "-x", f"{WORK_DIRECTORY}/run", "7")


def test_a_program_can_be_named_as_the_guest_has_it(places: Places) -> None:
    program = script(places.here / "run", "#!/bin/sh\n")
    seen = f"/run/host{program}"
    assert resolve([seen], places).program == seen
    assert resolve(["sh", seen], places).arguments == ("sh", seen)
    assert resolve([f"{seen} -x; true"], places).warnings == ()


def test_a_link_to_a_program_stays_a_link(tmp_path: Path) -> None:
    # A virtual environment's Python finds its libraries by its own place.
    link = tmp_path / "python"
    link.symlink_to("/bin/sh")
    assert visible(link) == f"/run/host{link}"
    assert visible("/bin/sh") == "/bin/sh"
    target = script(tmp_path / "program", "")
    link.unlink()
    link.symlink_to(target)
    assert visible(link) == f"/run/host{target}"


def test_the_guests_path_is_the_hosts_as_the_guest_sees_it(tmp_path: Path) -> None:
    places = Places(tmp_path, None, f"{tmp_path}:/bin:relative:/bin:")
    assert places.search_path() == f"/run/host{tmp_path}:/bin"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no command"),
        ([" "], "no command"),
        (["no-such-program"], "no program 'no-such-program'"),
        (["no-such-program | cat"], "no program 'no-such-program'"),
        (["sh", "-c", "no-such-program x"], "no program 'no-such-program'"),
        (["./no-such-program"], "./no-such-program does not exist"),
        (["./no-such-program; true"], "./no-such-program does not exist"),
        (["script.py"], "no program 'script.py' in"),
        (["./script.py"], "./script.py is not executable"),
        (["/"], "/ is a directory"),
        (["python3", "missing.py"], "no script missing.py"),
        (["sh", "missing.sh"], "no script missing.sh"),
        (["if true; then"], "the shell does not understand"),
        (["bash", "-c", "for x in"], "the shell does not understand"),
        (["./text"], "neither a binary nor a script"),
        (["./bare"], "wants the interpreter"),
        (["./env"], "no program 'no-such-interpreter'"),
    ],
)
def test_what_cannot_be_started_is_said_before_anything_boots(
    places: Places, words: list[str], message: str
) -> None:
    script(places.here / "text", "just text\n")
    script(places.here / "bare", "#!/no/such/interpreter\n")
    script(places.here / "env", "#!/usr/bin/env no-such-interpreter\n")
    with pytest.raises(UsageError, match=message) as caught:
        resolve(words, places)
    assert caught.value.next_step


def test_a_shell_line_that_names_what_the_guest_does_not_see_is_warned_of(places: Places) -> None:
    hidden = places.here / "script.py"
    line = f"cat {hidden} script.py app.db /tmp >/dev/null; echo over"
    absolute, relative = resolve(["sh", "-c", line], places).warnings
    assert f"{hidden} exists here, but the guest has it at /run/host{hidden} only" in absolute
    assert "script.py exists here, but the guest's working directory is a copy of" in relative


# --- directories


def fill(root: Path, names: list[str]) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.fsencode(name))
    for path in [*root.rglob("*")]:
        os.utime(path, (1_600_000_000, 1_600_000_000))


NAMES = ["b", "a/two words", 'a/"quoted"', "a/deep/er/x", "ünï", os.fsdecode(b"not utf-8 \xff")]


def test_the_digest_is_of_the_content_not_of_how_it_came(tmp_path: Path) -> None:
    one, other = tmp_path / "1", tmp_path / "2"
    fill(one, NAMES)
    fill(other, NAMES[::-1])
    assert user_files.read(one, MB) == user_files.read(other, MB)
    seen = {user_files.read(one, MB).digest}
    (other / "b").chmod(0o755)
    seen.add(user_files.read(other, MB).digest)
    os.utime(other / "b", (1_600_000_001, 1_600_000_001))
    seen.add(user_files.read(other, MB).digest)
    (other / "link").symlink_to("b")
    seen.add(user_files.read(other, MB).digest)
    assert len(seen) == 4


def test_images_of_directories_keep_their_names(tmp_path: Path) -> None:
    """Their keys are of this digest, and what is kept in the cache shall be found again."""
    (tmp_path / "a").mkdir()
    fill(tmp_path, ["a/b"])
    (tmp_path / "a" / "b").chmod(0o640)
    (tmp_path / "a").chmod(0o755)
    assert user_files.read(tmp_path, MB).digest == (
        "65abe41e9544360469fcda5567a325ea27c25ad8b7eec9c11bfd73e1430a0b04"
    )


def directory(path: Path | None, content: Content, size_mb: int = 16) -> DirectoryDataset:
    return DirectoryDataset(
        kind="directory",
        path=str(path) if path else None,
        digest=content.digest,
        content_bytes=content.bytes,
        inodes=1000,
        size_mb=size_mb,
    )


def debugfs(image: Path, command: str) -> str:
    return subprocess.run(
        ["debugfs", "-R", command, image], check=True, capture_output=True, text=True
    ).stdout


def test_the_image_holds_the_copy_and_the_users_files_stay_as_they_are(
    tmp_path: Path, cache: Path
) -> None:
    one, other = tmp_path / "1", tmp_path / "2"
    fill(one, NAMES)
    fill(other, NAMES[::-1])
    for root in (one, other):
        (root / "b").chmod(0o751)
        (root / "a").chmod(0o555)
        (root / "link").symlink_to("b")
        os.utime(root / "link", (1_600_000_000, 1_600_000_000), follow_symlinks=False)
        os.utime(root / "a", (1_600_000_000, 1_600_000_000))
    first = dataset_image(directory(one, user_files.read(one, MB)))
    digest = hashlib.sha256(first.read_bytes()).hexdigest()
    first.unlink()
    first.parent.rmdir()
    image = dataset_image(directory(other, user_files.read(other, MB)))
    assert hashlib.sha256(image.read_bytes()).hexdigest() == digest
    assert "Mode:  0751" in debugfs(image, "stat /work/b")
    assert "mtime: 0x5f5e1000" in debugfs(image, 'stat "/work/a/two words"')
    assert "User:     0" in debugfs(image, 'stat "/work/a/""quoted"""')
    assert 'Fast link dest: "b"' in debugfs(image, "stat /work/link")
    assert "Mode:  01777" in debugfs(image, "stat /tmp")
    assert (one / "b").stat().st_mtime == 1_600_000_000
    (one / "a").chmod(0o755)
    (other / "a").chmod(0o755)


def test_without_data_the_working_directory_is_empty(cache: Path) -> None:
    image = dataset_image(directory(None, user_files.EMPTY))
    listing = debugfs(image, "ls -p /work").split("\n")
    assert [line.split("/")[5] for line in listing if line] == [".", ".."]


def test_a_directory_that_changes_meanwhile_is_not_kept(tmp_path: Path, cache: Path) -> None:
    root = tmp_path / "data"
    fill(root, ["a"])
    content = user_files.read(root, MB)
    (root / "a").write_text("b")
    with pytest.raises(LabError, match="has changed while it was copied"):
        dataset_image(directory(root, content))
    assert not [path for path in (cache / "datasets").iterdir() if path.suffix != ".lock"]


def test_sockets_and_pipes_are_left_out_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    root = tmp_path / "data"
    fill(root, ["a"])
    os.mkfifo(root / "pipe")
    monkeypatch.chdir(root)  # a socket's path has to be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        content = user_files.read(root, MB)
        assert content.skipped == ("pipe", "socket")
        assert content.entries == 1
        assert "pipe" not in debugfs(dataset_image(directory(root, content)), "ls /work")


def test_a_directory_that_cannot_be_copied_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        user_files.read(tmp_path / "none", MB)
    file = tmp_path / "file"
    file.write_bytes(bytes(2 * MB))
    with pytest.raises(UsageError, match="is no directory"):
        user_files.read(file, MB)
    with pytest.raises(UsageError, match="more than 1M"):
        user_files.read(tmp_path, MB)
    (tmp_path / "line\nbreak").touch()
    with pytest.raises(UsageError, match="line break"):
        user_files.read(tmp_path, 1 << 30)


@pytest.fixture
def copies(cache: Path) -> Path:
    """Seven images of directories, six of them old, the first the least."""
    home = cache_dir("datasets")
    for age, name in enumerate("abcdef"):
        path = home / f"directory-{name}"
        path.mkdir()
        os.utime(path, (1_600_000_000 - age, 1_600_000_000 - age))
    (home / "directory-new").mkdir()
    return home


def left_of(copies: Path) -> list[str]:
    return sorted(
        path.name.removeprefix("directory-") for path in copies.iterdir() if path.is_dir()
    )


def test_old_copies_are_forgotten_recent_ones_are_not(copies: Path) -> None:
    user_files.forget_old(copies, "directory-*")
    assert left_of(copies) == ["a", "b", "new"]


def test_old_copies_that_are_in_use_or_being_made_stay(copies: Path) -> None:
    used = copies / "directory-f"
    use(used)
    # As one that is read for days.
    os.utime(used, (1_500_000_000, 1_500_000_000))
    with locked(copies / "directory-e"):
        user_files.forget_old(copies, "directory-*")
    assert left_of(copies) == ["a", "b", "e", "f", "new"]
    user_files.forget_old(copies, "directory-*")
    assert left_of(copies) == ["a", "b", "f", "new"]


# --- the experiment


def test_the_guest_has_the_memory_that_disk_limit_and_swap_need(cache: Path) -> None:
    content = Content(digest="x", bytes=1000 * MB, entries=10)
    options = TryOptions(limit=64 * MB, swap=Swap(zram_mb=128), disk="hdd")
    experiment = make_experiment(COMMAND, options, Path("/data"), content)
    assert experiment.dataset
    assert experiment.dataset.size_mb > 2 * 1000
    assert experiment.guest.memory_mb >= experiment.dataset.size_mb + 64 + 128
    assert experiment.disk.completion_us == 8000
    assert experiment.memcg == {"memory.max": Size(64 << 20)}


def test_the_same_command_is_the_same_experiment_wherever_the_data_lies(cache: Path) -> None:
    content = Content(digest="x", bytes=MB, entries=1)
    experiments = [make_experiment(COMMAND, OPTIONS, Path(p), content) for p in ("/a", "/b")]
    assert experiments[0].sha256 == experiments[1].sha256
    other = make_experiment(COMMAND, TryOptions(limit=64 * MB, environment={"A": "1"}), None)
    assert other.sha256 != experiments[0].sha256


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (TryOptions(limit=100 << 10), "too small to start any program"),
        (TryOptions(limit=MB, disk_size=8 * MB), "--disk-size: 8M is too small"),
        (TryOptions(limit=MB, memory=64 * MB), "--memory: 64M is too small"),
        (TryOptions(limit=MB, disk_size=1 << 40), "at most 64G"),
        (TryOptions(limit=1 << 40), "at most 64G"),
    ],
)
def test_sizes_that_do_not_fit_together_are_refused(
    cache: Path, options: TryOptions, message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        make_experiment(COMMAND, options, None, Content(digest="x", bytes=10 * MB, entries=1))
    assert caught.value.next_step


def test_swap_is_read() -> None:
    assert parse_swap("none") is None
    assert parse_swap("zram:512M") == Swap(zram_mb=512)
    assert parse_swap("disk:1G") == Swap(disk_mb=1024)


@pytest.mark.parametrize("text", ["", "zram", "zram:", "512M", "tape:1G", "zram:x", "disk:99999G"])
def test_what_is_no_swap_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--swap"):
        parse_swap(text)


def test_variables_are_given_or_taken_over() -> None:
    assert parse_environment(("A=1", "B", "C="), {"B": "2"}) == {"A": "1", "B": "2", "C": ""}
    for word in ("D", "=1"):
        with pytest.raises(UsageError, match="--env"):
            parse_environment((word,), {"B": "2"})


# --- verdicts


def record(metrics: Mapping[str, float] | None = None, *problems: str) -> BootRecord:
    figures = {} if problems else {**GOOD, **(metrics or {})}
    return BootRecord(kernel="6.12", boot=0, seed=1, metrics=figures, problems=[*problems])


def test_of_a_command_that_did_well_nothing_is_said() -> None:
    assert ending.judge(record(), b"one", OPTIONS) == []
    assert ending.general([record()], OPTIONS) == []


KILLED = "the guest was killed after its limit of 300 s of real time"


@pytest.mark.parametrize(
    ("metrics", "output", "words"),
    [
        ({"exit_status": 3}, b"x", ["returned 3"]),
        ({"exit_status": 127}, b"x", ["returned 127", "does not find"]),
        ({"exit_status": 126}, b"x", ["returned 126", "cannot start"]),
        ({"exit_status": 139}, b"x", ["returned 139", "SIGSEGV", "docs/use/try.md"]),
        ({"exit_status": 139, "exit_signal": 11}, b"x", ["killed by SIGSEGV", "docs/use/try.md"]),
        ({"exit_status": 168, "exit_signal": 40}, b"x", ["killed by signal 40"]),
        ({"exit_status": 127, "exec_errno": 12}, b"", ["could not be started", "memory"]),
        ({"exit_status": 137, "timed_out": 1}, b"", ["1200 s of virtual time", "server"]),
        (
            {"exit_status": 137, "exit_signal": 9, "oom_kill": 1},
            b"x",
            ["want of memory (limit 64M)", "larger --limit", "--swap"],
        ),
        (
            {"exit_status": 137, "exit_signal": 9, "oom_kill": 1, "output_bytes": 0},
            b"",
            ["before it printed anything", "too small even to start"],
        ),
        ({"exit_status": 1, "oom_kill": 2}, b"x", ["returned 1", "killed 2 of its processes"]),
        ({"exit_status": 1}, b"dd: No space left on device\n", ["disk was full", "--disk-size"]),
        ({"exit_status": 1, "disk_free_mb": 0.0}, b"x", ["disk was full"]),
    ],
)
def test_how_a_command_failed_is_said_with_what_to_do(
    metrics: Mapping[str, float], output: bytes, words: list[str]
) -> None:
    (found,) = ending.judge(record(metrics), output, OPTIONS)
    assert found.failed
    assert [word for word in words if word not in str(found)] == []


def test_a_command_that_hangs_in_virtual_time_may_spin() -> None:
    hung = record(None, KILLED, "missing done")
    (found,) = ending.judge(hung, b"", OPTIONS)
    assert found.failed
    for word in ("300 s of real time", "--timeout", "--time real", "--no-spin", "--limit 64M"):
        assert word in str(found)
    busy = hung.model_copy(update={"metrics": {"reached_seconds": 40.0}})
    (found,) = ending.judge(busy, b"", OPTIONS)
    assert "the guest's clock: 40 s" in str(found)
    assert "spins" not in str(found)
    (found,) = ending.judge(hung, b"", TryOptions(limit=64 * MB, time="real"))
    assert "--time real" not in str(found)


def test_a_guest_that_died_is_said_as_it_is() -> None:
    (found,) = ending.judge(record(None, "console: panic"), b"", OPTIONS)
    assert found.failed
    assert "console: panic" in str(found)


@pytest.mark.parametrize(
    ("metrics", "text"),
    [
        ({"output_bytes": 0}, "printed nothing"),
        ({"left_processes": 1}, "left 1 process running"),
        ({"oom_kill": 1}, "the kernel killed 1 of its processes"),
        ({"output_bytes": trial.OUTPUT_LIMIT + 1}, "printed more than 16M"),
    ],
)
def test_what_is_odd_but_no_failure_is_remarked(metrics: Mapping[str, float], text: str) -> None:
    (found,) = ending.judge(record(metrics), b"x", OPTIONS)
    assert not found.failed
    assert text in str(found)


def test_why_kernels_may_not_differ_is_noted() -> None:
    (note,) = ending.general([record({"elapsed_seconds": 0.002})], OPTIONS)
    assert "computing takes none" in note
    real = TryOptions(limit=64 * MB, time="real")
    assert ending.general([record({"elapsed_seconds": 0.002})], real) == []
    (note,) = ending.general([record({"memory_peak_mb": 20.0})], OPTIONS)
    assert "never reached (at most 19.1M of 64M)" in note


# --- output


def test_output_is_shown_once_where_it_is_the_same() -> None:
    text = program_output.render({"6.12": b"one\n", "7.3": b"two", "6.12+next": b"one\n", "x": b""})
    assert text == "--- printed on 6.12 and 6.12+next:\none\n--- printed on 7.3:\ntwo\n"


def test_of_long_output_both_ends_are_shown() -> None:
    lines = [f"line {number}" for number in range(200)]
    text = program_output.shorten("\n".join(lines).encode() + b"\n\xff", lines=4)
    assert text.splitlines() == [
        *lines[:2],
        "[197 lines left out; --output DIR keeps all]",
        *lines[199:],
        "\ufffd",
    ]


# --- the command line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing option '--limit'"),
        (["--limit", "64M"], "no command"),
        (["--limit", "much", "--", "true"], "--limit: 'much' is not a size"),
        (["--limit", "64", "--", "true"], "--limit: 64 is less than a page"),
        (["--limit", "64K", "--", "true"], "too small to start any program"),
        (["--limit", "64M", "--", "no-such-program"], "no program 'no-such-program'"),
        (["--limit", "64M", "--data", "/nonexistent", "--", "true"], "/nonexistent does not exist"),
        (["--limit", "64M", "--swap", "512M", "--", "true"], "--swap: '512M' is no swap"),
        (["--limit", "64M", "--disk", "tape", "--", "true"], "'tape'"),
        (["--limit", "64M", "--time", "gone", "--", "true"], "'gone'"),
        (["--limit", "64M", "--timeout", "0", "--", "true"], "--timeout"),
        (["--limit", "64M", "--boots", "0", "--", "true"], "--boots"),
        (["--limit", "64M", "--kernels", "5.10", "--", "true"], "no kernel '5.10'"),
        (["--limit", "64M", "--stdin", "/nonexistent", "--", "true"], "no file /nonexistent"),
        (["--limit", "64M", "--name", "a/b", "--", "true"], "--name"),
        (["--limit", "64M", "--env", "NO_SUCH_VARIABLE", "--", "true"], "--env"),
        (["--limit", "64M", "--output", "/dev/null", "--", "true"], "--output"),
        (["--limit", "60G", "--", "true"], "this machine has"),
        (["--limit", "64M", "--nonsense", "true"], "No such option"),
    ],
)
def test_bad_input_is_one_message_before_anything_is_built(
    capsys: pytest.CaptureFixture[str],
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.setattr("mglru.study.try_.trial.available_bytes", lambda: 4 << 30)
    monkeypatch.setenv("MGLRU_NO_INSTALL", "1")
    with pytest.raises(SystemExit) as caught:
        cli.main(["try", *arguments])
    output = capsys.readouterr()
    assert caught.value.code == ExitCode.USAGE
    assert message in output.err
    assert "Traceback" not in output.err
    assert output.out == ""
