# SPDX-License-Identifier: GPL-2.0-only
"""guest/drivers/patterns.c: patterns of access put together from actors."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.guest import channel
from mglru.guest.places import guest_path
from support.guests import memcg, program_step, run_plan

pytestmark = pytest.mark.guest
FILE_MB = 2
PAGES = FILE_MB << 8


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "file"
    path.write_bytes(bytes(FILE_MB << 20))
    return guest_path(path)


def patterns(tmp_path: Path, *arguments: str) -> channel.GuestReport:
    """Run it in a guest."""
    return run_plan(tmp_path, *memcg("64M"), program_step("patterns", *arguments))


def figures(tmp_path: Path, *arguments: str) -> dict[str, float]:
    """Run it in a guest, in the cgroup, and return its metrics."""
    report = patterns(tmp_path, "--join", *arguments)
    assert report.problems == ()
    return dict(channel.metrics_of(report))


def test_phases_and_what_each_kind_reports(tmp_path: Path, file: str) -> None:
    metrics = figures(
        tmp_path,
        f"scan name=before file={file} mb={FILE_MB}",
        "--then",
        "scan anon=heap mb=4",
        "--begin",
        f"random name=read file={file} mb={FILE_MB} theta=0.9 threads=3 ops=200 think_us=1000",
        "random name=touch anon=heap mb=4 think_us=500",
        "shell name=beside -- sleep 0.1",
        "--then",
        "scan name=written file=/mnt/new how=write mb=1 think_us=10 rounds=2",
    )
    assert metrics["before_ops"] == FILE_MB << 3
    assert metrics["read_ops"] == 600
    # A page every ms, then the endless one is stopped.
    assert 0.2 <= metrics["read_seconds"] <= 0.21
    assert 390 <= metrics["touch_ops"] <= 410
    assert 0.1 <= metrics["beside_seconds"] <= 0.11
    assert metrics["written_ops"] == 16
    assert 0.2 <= metrics["elapsed_seconds"] <= 0.22
    assert metrics["anon"] >= 4 << 20


def test_a_scan_stays_behind_another(tmp_path: Path) -> None:
    metrics = figures(
        tmp_path,
        "scan file=/mnt/warm how=write mb=1",
        "--begin",
        "scan name=append file=/mnt/log how=write mb=4 think_us=1000",
        "scan name=consume file=/mnt/log mb=4 think_us=10 behind=append lag_mb=2",
    )
    # 32 blocks, one a ms; what is behind ends right after it.
    assert 0.032 <= metrics["append_seconds"] <= metrics["consume_seconds"] <= 0.036
    assert metrics["consume_ops"] == 32


@pytest.mark.parametrize("how", ["map", "text"])
def test_a_mapped_file_is_read_through_page_tables(tmp_path: Path, file: str, how: str) -> None:
    scan = f"scan name=use file={file} how={how} mb={FILE_MB} rounds=2 think_us=1000"
    stays = f"random file={file} how={how} mb={FILE_MB} think_us=100000"
    metrics = figures(tmp_path, f"scan file={file} mb={FILE_MB}", "--begin", scan, stays)
    assert metrics["use_ops"] == 2 * FILE_MB << 3
    assert metrics["pgpgin"] <= 4 * PAGES


def test_skew_sets_and_shifts_decide_how_much_is_used(tmp_path: Path, file: str) -> None:
    """How much of the memory is touched tells which pages were."""

    def anon_mb(keys: str) -> float:
        used = f"random name=use anon=heap mb=32 ops=4000 batch=100 {keys}"
        metrics = figures(tmp_path, f"scan file={file} mb={FILE_MB}", "--begin", used)
        return metrics["anon"] / (1 << 20)

    uniform, skewed = anon_mb("theta=0"), anon_mb("theta=0.99")
    half, shifted = anon_mb("sets=2 turn=4000"), anon_mb("theta=0.99 shift=500")
    assert skewed < 0.7 * uniform
    assert half < 0.9 * uniform
    assert skewed * 1.1 < shifted < uniform


def test_the_seed_decides_what_is_drawn(tmp_path: Path, file: str) -> None:
    def anon(seed: int) -> float:
        actors = [f"scan file={file} mb={FILE_MB}", "--begin"]
        actors += ["random name=use anon=heap mb=32 ops=2000 batch=100"]
        return figures(tmp_path, "--seed", str(seed), *actors)["anon"]

    assert anon(1) == anon(1)


READ = "random file=/dev/zero mb=2 ops=1"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "a phase without actors"),
        ([READ, "--then"], "a phase without actors"),
        ([READ, "--begin", READ, "--begin", READ], "more than one --begin"),
        ([READ, "--nonsense"], "unknown option --nonsense"),
        ([READ, "--seed"], "no value for --seed"),
        (["walk file=/dev/zero mb=2"], "no actor is called walk"),
        ([" "], "an actor without a kind"),
        (["random file=/dev/zero mb"], "not KEY=VALUE: mb"),
        (["random file=/dev/zero mb="], "not KEY=VALUE: mb="),
        (["random file=/dev/zero mb=2 nonsense=1"], "unknown key nonsense"),
        (["random file=/dev/zero mb=2x ops=1"], "'2x' is not a number"),
        (["random file=/dev/zero mb=2 how=fast ops=1"], "not fast"),
        (["random file=/dev/zero mb=2 theta=1 ops=1"], "theta is from 0 to 0.99, not 1"),
        (["random mb=2 ops=1"], "either file= or anon="),
        (["random file=/dev/zero anon=heap mb=2 ops=1"], "either file= or anon="),
        (["random file=/dev/zero ops=1"], "needs mb="),
        (["random file=/dev/zero mb=2 block_kb=3 ops=1"], "blocks of 4 kB"),
        (["random file=/dev/zero mb=2 threads=0 ops=1"], "threads= is 1 to 256"),
        (["random file=/dev/zero mb=2 think_us=0 ops=1"], "think_us= must not be 0"),
        (["random file=/dev/zero mb=2 sets=2 ops=1"], "sets= and turn= go together"),
        (["random file=/dev/zero mb=2 advice=good ops=1"], "advice= is normal"),
        (["scan file=/dev/zero mb=2 threads=16"], "less than two blocks"),
        (["random file=/dev/zero mb=2"], "a phase in which nothing ends"),
        (["random name=use file=/dev/zero mb=2 ops=9999999"], "too many accesses to measure: use"),
        (["scan file=/dev/zero mb=2 behind=nobody"], "needs two scans of one thread and one phase"),
        (["shell name=none"], "has a command after"),
        (["scan file=/dev/zero mb=2 -- true"], "has a command after"),
        (["shell -- exit 7"], "ended with status 7"),
        (["scan file=/no/such/file mb=2"], "cannot open /no/such/file"),
        (["scan anon=a mb=2", "--then", "scan anon=a mb=4"], "has to have all of it"),
    ],
)
def test_what_it_cannot_do_it_says(tmp_path: Path, arguments: list[str], message: str) -> None:
    report = patterns(tmp_path, *arguments)
    assert any(message in error for error in report.errors)
    assert report.steps[0].status != 0


def test_a_file_that_is_too_small_is_refused(tmp_path: Path, file: str) -> None:
    report = patterns(tmp_path, f"scan file={file} mb={FILE_MB + 1}")
    assert any(f"has less than {FILE_MB + 1} MB" in error for error in report.errors)
