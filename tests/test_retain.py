# SPDX-License-Identifier: GPL-2.0-only
"""memory.retain, part 5 of the series: what a cgroup drops stays while there is room for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.experiment import load_experiment
from mglru.plan import Inputs, make_plan
from mglru.results import BootRecord
from mglru.ui import Ui
from test_run import run

SMALL = ("dataset.size_mb=64", "dataset.file_mb=32", "limit=4M", "guest.memory_mb=512")
FILE, LIMIT = 32 << 8, 4 << 8  # pages
# Pages that are elsewhere for a moment: read ahead, being isolated, not yet on a list.
SOME = 256
INPUTS = Inputs(
    program=lambda name: Path("/guest") / name, image=Path("/disk.img"), trace=None, seed=1,
    symbols=(), classic=False,
)  # fmt: skip


def patched(name: str, quiet: Ui, *settings: str) -> BootRecord:
    """The record of one boot of the patched kernel; the stock one has to run as well."""
    records = run(load_experiment(name, settings), quiet)
    stock, ours = sorted(records, key=lambda record: len(str(record.kernel)))
    assert "pgretain" not in stock.metrics
    return ours


def test_a_file_that_not_every_kernel_has_is_written_where_it_is() -> None:
    wanted = "write_if_there\t/sys/fs/cgroup/work/memory.retain\t"
    plan = make_plan(load_experiment("read-twice"), INPUTS)
    assert plan.index("write\t/sys/fs/cgroup/work/memory.max\t10M") < plan.index(wanted + "1")
    assert wanted + "0" in make_plan(load_experiment("read-twice", ["retain=0"]), INPUTS)
    plain = make_plan(load_experiment("retain-stress"), INPUTS)
    assert not any(line.startswith("write_if_there") for line in plain)


@pytest.mark.guest
def test_the_second_reading_needs_no_disk(quiet: Ui) -> None:
    metrics = patched("read-twice", quiet, *SMALL).metrics
    assert metrics["pgpgin"] <= (FILE + SOME) * 4
    assert FILE - LIMIT - SOME <= metrics["pgretain_reuse"] <= FILE
    assert 2 * (FILE - LIMIT - SOME) <= metrics["pgretain"] <= 2 * FILE
    assert metrics["first_pass_seconds"] >= 39 * metrics["second_pass_seconds"]
    assert metrics["workingset_refault_file"] == 0


@pytest.mark.guest
def test_switched_off_nothing_is_kept(quiet: Ui) -> None:
    metrics = patched("read-twice", quiet, *SMALL, "retain=0").metrics
    assert (metrics["pgretain"], metrics["pgretain_reuse"], metrics["nr_retained"]) == (0, 0, 0)
    assert metrics["pgpgin"] >= 2 * FILE * 4 - LIMIT * 4


@pytest.mark.guest
def test_another_cgroup_is_charged_for_what_it_finds(quiet: Ui) -> None:
    metrics = patched("retain-shared", quiet, *SMALL).metrics
    assert metrics["pgpgin"] <= (FILE + SOME) * 4
    # By the first when it comes again: all but what is still charged to it or to the other one.
    assert metrics["pgretain_reuse"] >= FILE - 2 * LIMIT - 2 * SOME
    assert metrics["first_pass_seconds"] >= 39 * metrics["other_pass_seconds"]


@pytest.mark.guest
def test_nothing_is_left_of_a_stress(quiet: Ui) -> None:
    metrics = patched("retain-stress", quiet, "workers=3", "rounds=6").metrics
    assert metrics["retained_pages"] > 0
    assert metrics["reused_pages"] > 0
    assert metrics["charged_peak_share"] <= 1
    left = {name: value for name, value in metrics.items() if name.startswith("left_")}
    assert left == dict.fromkeys(left, 0)
    assert metrics["retained_left"] == metrics["wrong_pages"] == metrics["workers_failed"] == 0
