# SPDX-License-Identifier: GPL-2.0-only
"""The experiments that come with the lab: each can be read, planned, and varied."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.core.errors import UsageError
from mglru.experiment.load import load_experiment, names
from mglru.experiment.spec import Experiment, Step
from mglru.guest.plan import PlanInputs, make_plan
from mglru.guest.programs import programs
from mglru.guest.steps import to_text

INPUTS = PlanInputs(
    program=lambda name: Path("/cache") / name,
    image=Path("/cache/image"),
    trace=Path("/cache/trace"),
    seed=1,
    symbols=(),
    classic=False,
)


def lines(experiment: Experiment) -> list[str]:
    """The plan as the guest reads it."""
    return to_text(make_plan(experiment, INPUTS)).removesuffix("\n").split("\n")


@pytest.mark.parametrize("name", names())
def test_every_experiment_can_be_planned(name: str) -> None:
    experiment = load_experiment(name)
    assert experiment.name == name
    assert set(experiment.programs) <= programs().keys()
    assert make_plan(experiment, INPUTS)
    assert experiment.metrics


@pytest.mark.parametrize("name", names())
def test_every_scaled_experiment_says_how_near_it_is(name: str) -> None:
    experiment = load_experiment(name)
    assert "to be written" not in str(experiment.profile.get("notes", ""))
    if any(metric.published for metric in experiment.metrics):
        assert experiment.published["setup"]


@pytest.mark.parametrize("workload", list("abcdef"))
def test_the_ycsb_experiments_differ_in_what_they_do_alone(workload: str) -> None:
    experiment, base = load_experiment(f"ycsb-{workload}"), load_experiment("ycsb-c")
    assert experiment.trace
    assert experiment.trace.workload == workload
    # Only B has published figures.
    published = [metric.name for metric in experiment.metrics if metric.published]
    assert bool(published) == bool(experiment.published) == (workload == "b")
    assert (experiment.dataset, experiment.memcg, experiment.steps, experiment.disk) == (
        base.dataset,
        base.memcg,
        base.steps,
        base.disk,
    )


def test_the_trace_has_the_records_that_the_database_has() -> None:
    for name in names():
        experiment = load_experiment(name)
        if experiment.trace:
            assert experiment.dataset
            assert getattr(experiment.dataset, "records", None) == experiment.trace.records


def test_parameters_reach_the_driver() -> None:
    experiment = load_experiment("ycsb-b", ["cache_mb=8", "threads=16", "limit=200M"])
    plan = lines(experiment)
    driver = next(line for line in plan if "ycsb_wiredtiger" in line).split("\t")
    assert driver[driver.index("--cache-mb") + 1] == "8"
    assert driver[driver.index("--threads") + 1] == "16"
    assert any(line.endswith("memory.max\t200M") for line in plan)


@pytest.mark.parametrize(
    "setting",
    ["cache_mbb=8", "cache_mb", "trace.thetta=1", "dataset.kind=tape", "dataset.records=0"],
)
def test_a_setting_that_does_not_fit_is_refused(setting: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_experiment("ycsb-b", [setting])
    assert caught.value.next_step


def test_an_argument_of_several_lines_is_one_argument() -> None:
    step = Step(label="x", argv=("/bin/sh", "-c", "one\ntwo"), join="none")
    plan = lines(load_experiment("read-twice").model_copy(update={"steps": (step,)}))
    assert "step\tx\t-\t/bin/sh\t-c\tone\vtwo" in plan
    broken = step.model_copy(update={"argv": ("/bin/sh", "-c", "one\ttwo")})
    many = step.model_copy(update={"argv": ("/bin/echo", *"x" * 61)})
    with pytest.raises(UsageError, match="'x' has 65 words"):
        lines(load_experiment("read-twice").model_copy(update={"steps": (many,)}))
    with pytest.raises(UsageError, match="a tab in the argv of 'x'"):
        make_plan(load_experiment("read-twice").model_copy(update={"steps": (broken,)}), INPUTS)


def test_an_experiment_that_extends_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('extends = "b"\n')
    (tmp_path / "b.toml").write_text('extends = "a"\n')
    with pytest.raises(UsageError, match="extends itself"):
        load_experiment("a", directory=tmp_path)


MACHINE = """
summary = "all that a machine can have"
cgroup_version = 1
[disk]
write_delay_ms = 1000
[dataset]
kind = "empty"
size_mb = 64
[swap]
zram_mb = 32
[sample]
interval_ms = 5
memory_stat = ["file", "file_dirty"]
vmstat = ["nr_dirty"]
[memcg]
"memory.limit_in_bytes" = "16M"
[[steps]]
label = "server"
argv = ["/bin/sleep", "1000"]
background = true
[[steps]]
label = "load"
join = "none"
argv = ["/bin/sleep", "900"]
background = true
[[steps]]
label = "client"
argv = ["/bin/true"]
"""


def machine(tmp_path: Path, change: tuple[str, str] = ("", "")) -> list[str]:
    (tmp_path / "m.toml").write_text(MACHINE.replace(*change))
    return lines(load_experiment("m", directory=tmp_path))


def test_a_plan_sets_up_the_machine_before_the_cgroup(tmp_path: Path) -> None:
    plan = [line.replace("\t", " ") for line in machine(tmp_path)]
    wanted = [
        "cgroup 1",
        "delay slow /dev/data 0 1000",
        "mount ext4 /dev/mapper/slow /mnt/data",
        "write /sys/block/zram0/disksize 32M",
        "swap /dev/zram0",
        "mkdir /sys/fs/cgroup/work",
        "write /sys/fs/cgroup/work/memory.limit_in_bytes 16M",
        "counters begin",
        "spawn sampler - /run/host/cache/sampler 5.0 nr_dirty file,file_dirty",
        "spawn server /sys/fs/cgroup/work /bin/sleep 1000",
        "spawn load - /bin/sleep 900",
        "step client /sys/fs/cgroup/work /bin/true",
        "stop load",
        "stop server",
        "stop sampler",
        "counters end",
    ]
    assert [line for line in plan if line in wanted] == wanted


def test_swap_on_a_disk_has_its_memory_before_it_is_used(tmp_path: Path) -> None:
    plan = machine(tmp_path, ("zram_mb = 32", "disk_mb = 48\ncompletion_us = 20"))
    at = next(number for number, line in enumerate(plan) if line.startswith("disk\tswap"))
    assert {"size=48", "memory_backed=1", "completion_nsec=20000"} <= set(plan[at].split("\t"))
    assert plan[at + 1 : at + 3] == ["fill\t/dev/swap", "swap\t/dev/swap"]


def test_a_limit_means_the_same_on_cgroup_v1() -> None:
    wanted = "write\t/sys/fs/cgroup/work/memory.limit_in_bytes\t8M"
    assert wanted in lines(load_experiment("read-twice", ["limit=8M", "cgroup_version=1"]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("write_delay_ms = 1000", "write_delay_ms = 20"), "at least 50"),
        (("interval_ms = 5", "interval_ms = 0"), "sample.interval_ms"),
        (("zram_mb = 32", "zram_mb = 0"), "swap.zram_mb"),
        (("zram_mb = 32", "zram_mb = 32\ndisk_mb = 32"), "either zram_mb or disk_mb"),
        (("zram_mb = 32", "completion_us = 80"), "either zram_mb or disk_mb"),
        (("cgroup_version = 1", "cgroup_version = 3"), "cgroup_version"),
        (('label = "client"', 'label = "client"\nbackground = true'), "in the background"),
        (("background = true", 'background = true\nmetric = "x"'), "no metric"),
        (('label = "client"', 'label = "server"'), "a label of its own"),
        (('label = "client"', 'label = "sampler"'), "a label of its own"),
    ],
)
def test_a_machine_that_cannot_be_is_refused(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        machine(tmp_path, change)
