# SPDX-License-Identifier: GPL-2.0-only
"""Settings: however one is written, it is the same run."""

from __future__ import annotations

import pytest

from mglru.core.errors import UsageError
from mglru.core.paths import RESULTS
from mglru.core.sizes import Size
from mglru.experiment.load import load_experiment
from mglru.experiment.settings import Setting, from_record, read_settings, recorded
from mglru.experiment.spec import Experiment
from mglru.results.folders import result_files
from mglru.results.result_file import load

SAME = (
    ("limit=24M", "memcg.memory.max=24M", " limit =24M"),
    ("limit=64M", "limit=65536K", "limit=67108864", "limit=64m", "limit=64MiB", "limit= 64M"),
    ("memcg.memory.low=1024M", "memcg.memory.low=1G"),
    ("retain=1", "memcg_optional.memory.retain=1"),
    ("zipf=0.7", "trace.theta=0.7", "zipf=0.70", "zipf=.7"),
    ("zipf=2", "zipf=2.0", "zipf=2.", "zipf=+2"),
    ("disk.mbps=1700", "disk.mbps=1700.0", "disk.mbps=1.7e3", "disk.mbps= 1700"),
    ("sysctl.vm.swappiness=60", "sysctl.vm.swappiness= 60", "sysctl.vm.swappiness=60 "),
    ("retain=2", "retain= 2"),
    ("threads=3", "parameters.threads=3", "threads= 3"),
)


@pytest.mark.parametrize("texts", SAME)
def test_one_setting_is_one_record_and_one_digest(texts: tuple[str, ...]) -> None:
    settings = [Setting.parse(text) for text in texts]
    assert len(set(settings)) == 1
    assert len(recorded(settings)) == 1
    assert len({load_experiment("ycsb-b", [text]).sha256 for text in texts}) == 1


def test_of_two_settings_of_one_key_the_last_counts() -> None:
    settings = read_settings(["limit=8M", "memcg.memory.max=16M"])
    assert recorded(settings) == {"limit": "16M"}
    assert load_experiment("ycsb-b", settings).memcg["memory.max"] == Size(16 << 20)


def test_what_a_result_keeps_gives_the_settings_again() -> None:
    kept = {"memcg.memory.max": "8M", "guest.cpus": "2"}
    assert recorded(from_record(kept)) == {"limit": "8M", "guest.cpus": "2"}
    settings = read_settings(["zipf=1.2", "disk.preset=hdd"])
    assert from_record(recorded(settings)) == settings


def test_a_value_is_taken_as_written() -> None:
    assert Setting.parse("swappiness= swappiness=0") == Setting("swappiness", " swappiness=0")
    point = load_experiment("proactive:swappiness-0")
    assert point.parameters["swappiness"] == " swappiness=0"


def test_a_number_of_a_parameter_is_taken_as_written() -> None:
    assert Setting.parse("threads=2.0").text == "2.0"
    assert Setting.parse("threads=.5").text == ".5"


def test_a_number_in_quotes_is_a_text() -> None:
    assert Setting.parse('dataset.path="02"').text == '"02"'


def test_a_size_is_a_number_here_and_text_in_json() -> None:
    experiment = load_experiment("ycsb-b", ["limit=65536K"])
    assert experiment.memcg["memory.max"] == 64 << 20
    assert experiment.model_dump(mode="json")["memcg"]["memory.max"] == "64M"
    assert Experiment.model_validate_json(experiment.model_dump_json()) == experiment


@pytest.mark.parametrize("limit", ["much", "64Q", "010M", "-1", "", "1.5G"])
def test_a_limit_that_is_no_size_is_refused(limit: str) -> None:
    with pytest.raises(UsageError, match=r"memory\.max.* is no size"):
        load_experiment("ycsb-b", [f"limit={limit}"])


@pytest.mark.parametrize("limit", ["max", "0"])
def test_a_limit_need_have_no_unit(limit: str) -> None:
    assert str(load_experiment("ycsb-b", [f"limit={limit}"]).memcg["memory.max"]) == limit


def test_only_sizes_are_taken_as_sizes() -> None:
    assert Setting.parse("memcg_optional.memory.retain=1024").text == "1024"
    assert Setting.parse("sysctl.vm.overcommit_kbytes=1024").text == "1024"
    assert Setting.parse("name=65536K").text == "65536K"


def test_a_text_that_is_no_setting_is_refused() -> None:
    for text in ("limit", "=8M", ""):
        with pytest.raises(UsageError, match="is not key=value"):
            Setting.parse(text)


def test_recorded_results_are_of_the_experiments_that_there_are() -> None:
    """A change of what a digest is made of would make all of them results of something else."""
    runs = [run for path in result_files([RESULTS]) for run in load(path)]
    same = [
        run
        for run in runs
        if run.provenance.experiment.sha256
        == load_experiment(run.experiment, from_record(run.provenance.experiment.parameters)).sha256
    ]
    assert len(same) > len(runs) / 2
