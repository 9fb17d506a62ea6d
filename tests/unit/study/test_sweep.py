# SPDX-License-Identifier: GPL-2.0-only
"""Sweeps: what varies, the file that grows and is gone on with, tables, curves, whole sweeps."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest

from mglru.core.errors import ExitCode, LabError, UsageError
from mglru.core.sizes import Size
from mglru.experiment.settings import read_settings
from mglru.report.charts.palette import Palette
from mglru.report.charts.sweep import sweep_charts, sweep_plot
from mglru.results import result_file
from mglru.results.model import BootRecord
from mglru.results.timeline import Timeline
from mglru.run.jobs import parallel_boots
from mglru.study.sweep import file as sweep_file
from mglru.study.sweep import tables as sweep_tables
from mglru.study.sweep.boots import SweepPlan, check_same_sweep, known_boots, load_points
from mglru.study.sweep.file import Sweep, SweepFile
from mglru.study.sweep.points import Settings, Value, axis_of, combinations, parse_vary
from support import sweep_tools
from support.command_line import run
from support.sweep_tools import IDS, KERNELS, VARY, info, record


@pytest.mark.parametrize(
    ("text", "points", "values"),
    [
        ("limit=64M..512M", 4, ["64M", "128M", "256M", "512M"]),
        ("limit=8M..64M", 7, ["8M", "11M", "16M", "23M", "32M", "45M", "64M"]),
        ("limit=1G..4G", 3, ["1G", "2G", "4G"]),
        ("limit=512M..2G", 3, ["512M", "1G", "2G"]),
        ("limit=65536K..256m", 2, ["64M", "256M"]),
        ("trace.operations=1000..100000", 3, [1000, 10000, 100000]),
        ("threads=1..4", 9, [1, 2, 3, 4]),
        ("zipf=0.5..2", 3, [0.5, 1.0, 2]),
        ("zipf = 0.8, 0.99,1.2", 5, [0.8, 0.99, 1.2]),
        ("disk.preset=nvme,hdd", 5, ["nvme", "hdd"]),
        ("limit=64M,1G", 5, ["64M", "1G"]),
    ],
)
def test_values_are_ranges_or_lists(text: str, points: int, values: list[Value]) -> None:
    (read,) = parse_vary([text], points).values()
    assert [str(each) if isinstance(each, Size) else each for each in read] == values


def test_a_size_is_a_number_with_its_text() -> None:
    vary = parse_vary(["limit=65536K,1G", "scan=65536K,128m"], 2)
    assert vary == {"limit": [64 << 20, 1 << 30], "scan": [64 << 20, 128 << 20]}
    # Only of files of a memory cgroup one text is as good as another.
    assert [str(each) for each in vary["limit"]] == ["64M", "1G"]
    assert [str(each) for each in vary["scan"]] == ["65536K", "128m"]


def test_a_range_rises_by_the_same_factor() -> None:
    (values,) = parse_vary(["limit=10M..700M"], 30).values()
    sizes = [int(str(value)[:-1]) * (1 if str(value)[-1] == "M" else 1 / 1024) for value in values]
    factors = [after / before for before, after in itertools.pairwise(sizes)]
    wanted = 70 ** (1 / 29)
    assert all(abs(factor / wanted - 1) < 0.1 for factor in factors)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("limit", "not key=values"),
        # Neither does the kernel take a part of a unit, or MB.
        ("limit=1.5G,2G", "1.5G is no size"),
        ("limit=64MB..128MB", "'64MB' is neither a number nor a size"),
        ("limit=", "not key=values"),
        ("=1..2", "not key=values"),
        ("limit=512M..64M", "reversed"),
        ("limit=64M..64M", "both ends are the same"),
        ("limit=1024M..1G", "both ends are the same"),
        ("limit=64M..512", "512 has none"),
        ("limit=64..512M", "64 has none"),
        ("limit=64M,512", "512 has no unit"),
        ("limit=64M,64Q", "64Q is no size"),
        ("limit=64M..512Q", "'512Q' is neither a number nor a size"),
        ("limit=64M", "one value only"),
        ("zipf=0.99,", "an empty value"),
        ("zipf=1,1", "a value twice"),
        ("limit=1G,1024M", "a value twice"),
        ("zipf=0..2", "above 0"),
        ("zipf=nan..2", "'nan' is neither"),
        ("zipf=1..2..3", "'2..3' is neither"),
    ],
)
def test_values_that_are_none_are_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)) as caught:
        parse_vary([text], 5)
    assert caught.value.next_step


def test_a_key_is_varied_once_whatever_it_is_called() -> None:
    with pytest.raises(UsageError, match="varied twice"):
        parse_vary(["limit=8M,16M", "memcg.memory.max=8M,16M"], 5)


def test_several_keys_make_the_product() -> None:
    assert combinations(VARY) == [
        {"limit": Size(8 << 20), "zipf": 0.8},
        {"limit": Size(8 << 20), "zipf": 1.2},
        {"limit": Size(32 << 20), "zipf": 0.8},
        {"limit": Size(32 << 20), "zipf": 1.2},
    ]


def plan(
    *vary: str, experiment: str = "ycsb-b", fixed: tuple[str, ...] = (), seed: int = 1
) -> SweepPlan:
    return SweepPlan(experiment, parse_vary(vary, 3), read_settings(fixed), IDS, None, seed)


def test_every_point_is_an_experiment_with_its_settings() -> None:
    points = load_points(plan("limit=64M..256M", "zipf=0.8,1.2", fixed=("threads=4",)))
    assert [str(experiment.memcg["memory.max"]) for _at, experiment in points] == [
        *("64M", "64M", "128M", "128M", "256M", "256M")
    ]
    assert [experiment.trace and experiment.trace.theta for _at, experiment in points] == [
        *(0.8, 1.2, 0.8, 1.2, 0.8, 1.2)
    ]
    assert {experiment.parameters["threads"] for _at, experiment in points} == {4}
    assert len({experiment.sha256 for _at, experiment in points}) == 6


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (plan("limit=64M..256M", experiment="nosuch"), "no experiment 'nosuch'"),
        (plan("trace.thetta=1,2"), "trace.thetta"),
        (plan("nosuch=1,2"), "nosuch"),
        (plan("threads=1,2", fixed=("threads=3",)), "both set and varied"),
        (plan("limit=8M,16M", fixed=("memcg.memory.max=3M",)), "both set and varied"),
        (plan("guest.memory_mb=64M..128M"), "guest.memory_mb"),
        (plan("disk.preset=nvme,tape"), "disk.preset"),
    ],
)
def test_points_that_cannot_be_are_refused_before_any_boot(bad: SweepPlan, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_points(bad)


def test_real_time_has_one_boot_at_a_time() -> None:
    points = load_points(plan("groups=100,200", experiment="memcg-create"))
    assert [parallel_boots(experiment) for _at, experiment in points] == [1, 1]


def test_a_file_says_what_was_swept_and_is_read_to_the_bit(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    whole = sweep_tools.sweep()
    sweep_file.save(whole, path)
    document = json.loads(path.read_text())
    assert set(document) == {"format", "kind", "experiment", "vary", "kernels", "points"}
    assert (document["format"], document["kind"]) == (1, "sweep")
    assert document["vary"] == {"limit": ["8M", "32M"], "zipf": [0.8, 1.2]}
    assert document["points"][3]["settings"] == {"limit": "32M", "zipf": 1.2}
    # A point is a result by itself.
    (tmp_path / "run.json").write_text(json.dumps(document["points"][0]["run"]))
    assert result_file.load(tmp_path / "run.json") == [whole.points[0].run]
    assert sweep_file.load(path) == whole


def test_boots_come_in_any_order_and_are_in_the_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    points = combinations(VARY)
    made = [(points[1], record("6.12+next", 1)), (points[0], record("6.12+next", 2, 1))]
    made += [(points[0], record("6.12", 3)), (points[0], record("6.12+next", 4))]
    with SweepFile(path, "ycsb-b", VARY, KERNELS) as file:
        for settings in points:
            file.begin(settings, info(settings, boots=2))
        assert not path.exists()
        for count, (settings, boot) in enumerate(made, start=1):
            file.add(settings, boot)
            assert sum(len(point.run.raw) for point in sweep_file.load(path).points) == count
    first, second = sweep_file.load(path).points
    assert [(r.kernel, r.boot) for r in first.run.raw] == [
        ("6.12", 0), ("6.12+next", 0), ("6.12+next", 1)
    ]  # fmt: skip
    assert second.settings == points[1]
    assert [entry.name for entry in tmp_path.iterdir()] == ["s.json"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is empty"),
        ('{"format": 1, "kind": "sweep", "exp', "cut off"),
        ('{"format": 1, "kind": "bound"}', "it is a bound"),
        ('{"format": 1, "experiment": "x"}', "it is a result of a run"),
        ('{"format": 2, "kind": "sweep"}', "has format 2"),
        ('{"format": 1, "kind": "sweep", "points": 3}', "no list of points"),
        ('{"format": 1, "kind": "sweep", "points": []}', "experiment: Field required"),
        ('{"format": 1, "kind": "sweep", "points": [{}]}', "it has no 'format'"),
        ("[]", "it has no 'format'"),
    ],
)
def test_a_file_that_is_no_sweep_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "s.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        sweep_file.load(path)


def test_a_sweep_is_no_result_of_a_run(tmp_path: Path) -> None:
    sweep_file.save(sweep_tools.sweep(), tmp_path / "s.json")
    with pytest.raises(UsageError, match="it is a sweep"):
        result_file.load(tmp_path / "s.json")


def test_what_a_file_has_is_not_made_again() -> None:
    old = sweep_tools.sweep()
    check_same_sweep(old, SweepPlan("ycsb-b", VARY, (), IDS, None, 1), "s.json")
    for point in old.points:
        assert known_boots(old, point.settings, info(point.settings), "s.json") == point.run.raw
    del old.points[1:]
    other: Settings = {"limit": Size(32 << 20), "zipf": 0.8}
    assert known_boots(old, other, info(other), "s.json") == []


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (SweepPlan("ycsb-a", VARY, (), IDS, None, 1), "experiment was ycsb-b, is now ycsb-a"),
        (SweepPlan("ycsb-b", VARY, (), IDS[:1], None, 1), "--kernels was 6.12,6.12+next"),
        (
            SweepPlan("ycsb-b", parse_vary(["limit=8M,9M"], 2), (), IDS, None, 1),
            "--vary was limit=8M,32M",
        ),
    ],
)
def test_a_file_of_other_arguments_is_refused(other: SweepPlan, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)) as caught:
        check_same_sweep(sweep_tools.sweep(), other, "s.json")
    assert "--anew" in caught.value.next_step


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 2}, "--seed was 1, is now 2"),
        ({"boots": 5}, "--boots was 1, is now 5"),
        ({"sha256": "f" * 64}, "the experiment's file was eeeeeeeeeeee, is now ffffffffffff"),
        ({"build": "fedcba987654"}, "the build of 6.12+next was 0123456789ab, is now fedcba98"),
        ({"dataset_sha256": "d" * 64}, "the data set was None, is now dddd"),
    ],
)
def test_boots_of_something_else_are_not_mixed(change: dict[str, object], message: str) -> None:
    settings = combinations(VARY)[0]
    now = info(settings, **{k: v for k, v in change.items() if k in ("seed", "boots")})
    made_by = now.provenance
    if "sha256" in change:
        made_by = made_by.model_copy(
            update={"experiment": made_by.experiment.model_copy(update=change)}
        )
    if "build" in change:
        kernels = dict(made_by.kernels)
        kernels["6.12+next"] = kernels["6.12+next"].model_copy(update=change)
        made_by = made_by.model_copy(update={"kernels": kernels})
    if "dataset_sha256" in change:
        made_by = made_by.model_copy(update=change)
    now = now.model_copy(update={"provenance": made_by})
    with pytest.raises(UsageError, match=re.escape(message)):
        known_boots(sweep_tools.sweep(), settings, now, "s.json")


def test_tables_have_points_as_rows_and_kernels_as_columns() -> None:
    text = sweep_tables.render(sweep_tools.sweep(), "markdown", baseline="6.12")
    assert "**ops/s ↑**" in text
    # Refaults are shown, though they are no headline of this experiment.
    table = text.split("**workingset_refault_file ↓**")[1].strip().splitlines()
    assert table[0] == "| limit | zipf | 6.12 (baseline) | 6.12+next |"
    assert table[2:6] == [
        "| 8M | 0.8 | 1,000 | 500 (0.50x) |",
        "| 8M | 1.2 | 500 | 250 (0.50x) |",
        "| 32M | 0.8 | 250 | 125 (0.50x) |",
        "| 32M | 1.2 | 125 | 62 (0.50x) |",
    ]
    plain = sweep_tables.render(sweep_tools.sweep(), "table", baseline="6.12+next")
    assert re.search(r"32M +1.2 +125 +2.02x +62\n", plain)


def test_a_boot_that_went_wrong_is_marked_and_named() -> None:
    whole = sweep_tools.sweep()
    first = whole.points[0]
    run = first.run.model_copy(
        update={"raw": [record("6.12", 7, 0, "was killed"), first.run.raw[1]]}
    )
    whole.points[0] = first.model_copy(update={"run": run})
    text = sweep_tables.render(whole, "table", baseline="6.12")
    assert re.search(r"8M +0.8 +7 ! +500", text)
    assert "note: limit=8M zipf=0.8: 6.12 boot 0: was killed" in text


def drawn(whole: Sweep) -> str:
    drawing = sweep_plot(whole)
    assert drawing
    return drawing


def test_curves_are_over_memory_with_a_panel_for_each_other_value() -> None:
    vary: dict[str, list[Value]] = {"zipf": [0.8, 1.2], "limit": ["512K", "16M", "2G"]}
    whole = sweep_tools.sweep(vary)
    assert axis_of(whole.vary) == "limit"
    svg = drawn(whole)
    for text in (*KERNELS, "zipf=0.8", "zipf=1.2", "512K", "16M", "2G", "ops/s ↑"):
        assert f">{text}</text>" in svg
    charts = sweep_charts(whole, Palette(KERNELS), "key")
    assert [chart.title for chart in charts][:2] == ["ops/s ↑, zipf 0.8", "ops/s ↑, zipf 1.2"]
    rows = charts[2].spec["data"]["values"]
    assert rows[0] == {
        "x": 512 << 10, "l": "512K", "k": "6.12", "p": "zipf=0.8",
        "y": 1000, "lo": 1000, "hi": 1000, "w": False,
    }  # fmt: skip
    assert len(rows) == 6


def test_a_boot_that_went_wrong_is_hollow_and_ranges_are_over_boots() -> None:
    whole = sweep_tools.sweep()
    assert "hollow: a boot went wrong" not in drawn(whole)
    first = whole.points[0]
    boots = [record("6.12", 7, 0, "was killed"), record("6.12", 9, 1), first.run.raw[1]]
    run = first.run.model_copy(update={"raw": boots})
    whole.points[0] = first.model_copy(update={"run": run})
    assert "hollow: a boot went wrong" in drawn(whole)
    chart = sweep_charts(whole, Palette(KERNELS), "key")[2]
    assert chart.note == "Hollow: a boot went wrong."
    row = chart.spec["data"]["values"][0]
    assert (row["lo"], row["y"], row["hi"], row["w"]) == (7, 8, 9, True)


def test_words_are_an_axis_too() -> None:
    vary: dict[str, list[Value]] = {"disk.preset": ["nvme", "hdd"]}
    svg = drawn(sweep_tools.sweep(vary))
    # In the order asked for.
    assert 0 < svg.index(">nvme</text>") < svg.index(">hdd</text>")


def test_without_figures_there_is_no_plot_and_a_table_of_notes() -> None:
    whole = sweep_tools.sweep()
    lost = BootRecord(kernel="6.12", boot=0, seed=1, metrics={}, problems=["was killed"])
    run = whole.points[0].run.model_copy(update={"raw": [lost]})
    whole.points[:] = [whole.points[0].model_copy(update={"run": run})]
    assert sweep_plot(whole) is None
    assert "6.12 boot 0: was killed" in sweep_tables.render(whole, "table", baseline="6.12")


def test_one_sweep_gives_one_plot() -> None:
    whole = sweep_tools.sweep()
    assert drawn(whole) == drawn(whole)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nosuch", "--vary", "limit=8M,16M"], "no experiment 'nosuch'"),
        (["ycsb-b"], "Missing option '--vary'"),
        (["ycsb-b", "--vary", "limit=64M"], "one value only"),
        (["ycsb-b", "--vary", "limit=8M..16M", "--points", "1"], "1 is not in the range"),
        (["ycsb-b", "--vary", "limit=8M,16M", "--kernels", "6.11"], "no kernel '6.11'"),
        (["ycsb-b", "--vary", "limit=8M,16M", "--plot", "a.png"], "ends in .svg"),
        (["ycsb-b", "--vary", "limit=8M,16M", "--plot", "/nosuch/a.svg"], "no such directory"),
        (["ycsb-b", "--vary", "limit=8M,16M", "--scheduler", "there"], "not the address"),
        (
            ["ycsb-b", "--vary", "limit=8M,16M", "--scheduler", "a:1", "--source", "/usr"],
            "--source is a tree of this machine",
        ),
    ],
)
def test_bad_input_is_one_message_before_anything_is_made(
    capsys: pytest.CaptureFixture[str], cache: Path, arguments: list[str], message: str
) -> None:
    code, out, err = run(capsys, "sweep", *arguments)
    assert code == ExitCode.USAGE
    assert message in err
    assert out == ""
    assert not (cache / "sources").exists()


@pytest.mark.parametrize("content", ["not JSON", '{"format": 1, "experiment": "ycsb-b"}'])
def test_a_file_of_another_kind_is_not_lost(
    capsys: pytest.CaptureFixture[str], cache: Path, tmp_path: Path, content: str
) -> None:
    path = tmp_path / "s.json"
    path.write_text(content)
    code, _out, err = run(capsys, "sweep", "ycsb-b", "--vary", "limit=8M,9M", "--json", str(path))
    assert code == ExitCode.USAGE
    assert "--anew" in err
    assert path.read_text() == content


def test_the_file_of_another_sweep_is_not_lost(
    capsys: pytest.CaptureFixture[str], cache: Path, tmp_path: Path
) -> None:
    path = tmp_path / "s.json"
    sweep_file.save(sweep_tools.sweep(), path)
    before = path.read_text()
    code, _out, err = run(capsys, "sweep", "ycsb-b", "--vary", "limit=8M,9M", "--json", str(path))
    assert code == ExitCode.USAGE
    assert "made with something else" in err
    assert "--anew" in err
    assert path.read_text() == before


def test_a_file_that_cannot_be_written_is_said_before_the_first_boot(cache: Path) -> None:
    with pytest.raises(LabError, match="cannot be written"):
        SweepFile("/proc/sys/s.json", "ycsb-b", VARY, KERNELS)


def test_stdout_gets_one_document_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    settings = combinations(VARY)[0]
    with SweepFile("-", "ycsb-b", VARY, KERNELS) as file:
        file.begin(settings, info(settings))
        file.add(settings, record("6.12", 1))
        assert capsys.readouterr().out == ""
    assert len(json.loads(capsys.readouterr().out)["points"]) == 1


def test_what_was_sampled_over_time_is_left_out(tmp_path: Path) -> None:
    settings = combinations(VARY)[0]
    boot = record("6.12", 1).model_copy(
        update={"timeline": Timeline(seconds=[0], figures={"nr_dirty": [1]})}
    )
    with SweepFile(tmp_path / "s.json", "ycsb-b", VARY, KERNELS) as file:
        file.begin(settings, info(settings))
        file.add(settings, boot)
    assert sweep_file.load(tmp_path / "s.json").points[0].run.raw == [record("6.12", 1)]
