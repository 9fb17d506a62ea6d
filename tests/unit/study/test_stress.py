# SPDX-License-Identifier: GPL-2.0-only
"""`./mglru stress`: its settings, its progress, and short runs of the stress itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from mglru.build.build import find_build
from mglru.build.recipe import make_recipe
from mglru.checks.ci import STRESS_KERNEL
from mglru.cli import cli
from mglru.core.errors import UsageError
from mglru.core.ui import Ui
from mglru.debian.userland import get_userland
from mglru.disk.images import dataset_image
from mglru.experiment.load import load_experiment
from mglru.machine.registry import MACHINES, SMP, THREADS
from mglru.results.model import BootRecord
from mglru.run.boots import run_jobs
from mglru.run.jobs import make_jobs
from mglru.source.kernel_id import KernelId
from mglru.source.trees import cached
from mglru.study.stress import ALONE, Watcher, action_counts, disagreements, stress_experiment

KERNEL = STRESS_KERNEL


def record(**metrics: float) -> BootRecord:
    return BootRecord(
        kernel=KERNEL, boot=0, seed=1, metrics=metrics, problems=[], release="", build="",
        real_seconds=1,
    )  # fmt: skip


def test_a_stress_has_the_time_that_it_needs() -> None:
    experiment = MACHINES[THREADS].fit(stress_experiment(1800, 4, 2))
    assert (experiment.guest.cpus, experiment.guest.nodes) == (4, 2)
    assert experiment.parameters["seconds"] == 1800
    assert 1800 < experiment.limit_seconds < 2 * 1800 + 900


def test_the_stress_is_the_same_with_and_without_stress_ng() -> None:
    with_it, alone = stress_experiment(60, 4, 2), stress_experiment(60, 4, 2, ALONE)
    assert with_it.userland
    assert with_it.userland.packages == ("stress-ng",)
    assert alone.userland is None
    assert (with_it.steps, with_it.expects) == (alone.steps, alone.expects)
    assert alone.parameters == {**with_it.parameters, "stress_ng": "none"}


def test_counts_of_actions_and_of_what_was_refused() -> None:
    counts = action_counts({"done_mlock": 3, "failed_mlock": 1, "done_punch": 2, "other": 5})
    assert [(each.name, each.done, each.refused) for each in counts] == [
        ("mlock", 3, 1),
        ("punch", 2, 0),
    ]


def test_counters_that_are_not_0_disagree() -> None:
    fine = record(left_file=0, zone_drift_active_file=0, groups_left=4, actions=9)
    assert disagreements(fine) == {}
    assert disagreements(record(left_file=1, lru_gen_drift_anon=-2, actions=9)) == {
        "left_file": 1,
        "lru_gen_drift_anon": -2,
    }


def test_progress_comes_from_the_console_and_names_reports(tmp_path: Path) -> None:
    told: list[tuple[float, str]] = []
    watcher = Watcher(lambda seconds, text: told.append((seconds, text)))
    log = tmp_path / "console.log"
    log.write_text("Linux version\nstress: 5 of 60 s, 10 actions\nstress: 10 of 60 s, 25 acti")
    watcher(log)
    assert told == [(5, "10 actions")]
    with log.open("a") as file:
        file.write("ons\n[   12.0] Memory cgroup out of memory: Killed process 7\n")
    watcher(log)
    assert told[-1] == (10, "25 actions")
    with log.open("a") as file:
        file.write("[   14.0] WARNING: CPU: 1 PID: 9 at mm/vmscan.c:1 f+0x1\n")
        file.write("stress: 15 of 60 s, 30 actions\n")
    watcher(log)
    watcher(log)
    assert told[-1] == (15, "30 actions, 1 REPORTS")
    other = tmp_path / "other.log"
    other.write_text("stress: 5 of 60 s, 1 actions\n")
    watcher(other)
    assert told[-1] == (5, "1 actions")


@pytest.mark.parametrize(
    "arguments", [["--cpus", "5"], ["--nodes", "0"], ["--minutes", "0"], ["--seed", "-1"]]
)
def test_bad_sizes_are_refused(arguments: list[str]) -> None:
    assert CliRunner().invoke(cli, ["stress", *arguments]).exit_code == 2


@pytest.mark.qemu
def test_stress_on_several_processors_and_nodes(quiet: Ui) -> None:
    kernel = KernelId.parse(KERNEL)
    source = cached(kernel.base)
    build = source and find_build(make_recipe(kernel, source, SMP))
    assert build, "run ./mglru test --machine qemu"
    experiment = stress_experiment(40, 4, 2)
    assert experiment.dataset
    image = dataset_image(experiment.dataset, note=quiet.note)  # type: ignore[arg-type]
    assert experiment.userland
    userland = get_userland(experiment.userland.packages, quiet)
    jobs = make_jobs(
        *(experiment, {kernel: build}, image),
        boots=1,
        seed=1,
        userland=userland,
        machine=THREADS,
    )
    records: list[BootRecord] = []
    run_jobs(jobs, quiet, records.append, 1)
    metrics = records[0].metrics
    assert records[0].problems == []
    assert metrics["nodes"] == 2
    assert metrics["done_cpuset_mems"] > 0
    assert any(each.done for each in action_counts(metrics) if each.name.startswith("ng_"))
    assert disagreements(records[0]) == {}


def test_a_machine_has_no_more_processors_than_it_can() -> None:
    with pytest.raises(UsageError, match="the machine uml has at most 1 cpus, not 4"):
        MACHINES["uml"].fit(load_experiment("read-twice", ["guest.cpus=4"]))
    with pytest.raises(UsageError, match="at most 4 nodes"):
        MACHINES[SMP].fit(load_experiment("read-twice", ["guest.nodes=5"]))
    for name, time in ((SMP, "instructions"), (THREADS, "real")):
        usual = MACHINES[name].fit(load_experiment("read-twice"))
        assert (usual.guest.cpus, usual.guest.nodes, usual.time) == (4, 2, time)


def test_what_is_left_to_the_machine_does_not_change_an_experiment() -> None:
    plain = load_experiment("read-twice")
    assert plain.sha256 != load_experiment("read-twice", ["guest.cpus=2"]).sha256
    assert MACHINES["uml"].fit(plain).guest.cpus == 1
