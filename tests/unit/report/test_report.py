# SPDX-License-Identifier: GPL-2.0-only
"""The report: which files it takes, what its figures and charts are, what the page says."""

from __future__ import annotations

import json
import math
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import vl_convert
from click.testing import CliRunner

from mglru.cli import cli
from mglru.core.errors import LabError, UsageError
from mglru.core.figures import factor
from mglru.core.paths import REPO, RESULTS
from mglru.guest.latency import Histogram
from mglru.report import page as pages
from mglru.report.charts import palette, thin
from mglru.report.charts.bound import distances
from mglru.report.charts.latency import latency_charts
from mglru.report.charts.palette import Palette
from mglru.report.charts.ratio import ratio_chart
from mglru.report.charts.sweep import sweep_charts
from mglru.report.charts.time import generation_charts, time_charts, tracks
from mglru.report.charts.vega import VEGA_LITE, Chart
from mglru.report.commands import command_of
from mglru.report.inputs import ReportInputs, load_inputs
from mglru.report.picture import digest, picture, picture_dots
from mglru.report.summary import summarise
from mglru.results.compare import Named, compare
from mglru.results.marks import Mark
from mglru.results.model import RunResult
from mglru.results.result_file import save
from mglru.study.sweep import file as sweep_file
from mglru.study.waterfall.waterfall import make_waterfall
from support import report_inputs


@pytest.fixture(scope="module")
def everything() -> pages.Page:
    return pages.make_page(report_inputs.all_inputs(), title="a title")


def page_of(*runs: RunResult) -> pages.Page:
    inputs = ReportInputs(runs=[Named(f"file{at}", run) for at, run in enumerate(runs)])
    return pages.make_page(inputs, title="a title")


def data_of(chart: Chart) -> list[dict[str, Any]]:
    values: list[dict[str, Any]] = chart.spec["data"]["values"]
    return values


# -- files


def test_a_file_is_told_by_its_content(tmp_path: Path) -> None:
    save(report_inputs.ordinary_run(), tmp_path / "a.json")
    save([report_inputs.waterfall_run(), report_inputs.ordinary_run()], tmp_path / "b.json")
    sweep_file.save(report_inputs.make_sweep(), tmp_path / "c.json")
    (tmp_path / "d.json").write_text(json.dumps(report_inputs.bound_document()))
    inputs = load_inputs([tmp_path / f"{name}.json" for name in "abcd"])
    assert [named.name for named in inputs.runs] == ["a", "b"]
    assert [named.name for named in inputs.waterfalls] == ["b"]
    assert [len(each.points) for each in inputs.sweeps] == [6]
    assert [each.policies["Belady"].refaults for each in inputs.bounds] == [2000]
    assert inputs.experiments() == ["ycsb-b"]


BAD_FILES = {
    "not JSON": "nonsense",
    "empty": "",
    "cut off": '{"format": 1, "experiment": "x"',
    "another program's": '{"name": "something else"}',
    "a list of numbers": "[1, 2]",
    "a later format": '{"format": 99, "kind": "sweep"}',
    "an unknown kind": '{"format": 1, "kind": "poem"}',
    "a sweep of nothing": '{"format": 1, "kind": "sweep", "experiment": "x", "vary": {}}',
    "a sweep without runs": '{"format": 1, "kind": "sweep", "experiment": "x", "kernels": ["6.12"],'
    ' "vary": {"limit": ["64M"]}, "points": [{"settings": {}, "run": {"raw": 3}}]}',
    "a bound without policies": '{"format": 1, "kind": "bound", "experiment": "x", "seed": 1,'
    ' "accesses": 1, "pages": 1, "capacity_pages": 1, "policies": {}}',
    "a bound without the optimum": json.dumps(
        report_inputs.bound_document() | {"policies": {"LRU": {"misses": 1, "refaults": 1}}}
    ),
    "an infinite figure": '{"format": 1, "kind": "bound", "experiment": "x", "seed": 1,'
    ' "accesses": 1, "pages": 1, "capacity_pages": 1,'
    ' "policies": {"LRU": {"misses": Infinity, "refaults": 1}}}',
}


@pytest.mark.parametrize("text", BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_file_is_named_and_the_page_from_before_stays(tmp_path: Path, text: str) -> None:
    bad, output = tmp_path / "bad.json", tmp_path / "page.html"
    bad.write_text(text)
    output.write_text("before")
    with pytest.raises(UsageError, match=re.escape(str(bad))):
        load_inputs([bad])
    result = CliRunner().invoke(cli, ["report", str(bad), "-o", str(output)])
    assert isinstance(result.exception, UsageError)
    assert output.read_text() == "before"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["{dir}/none.json"], "cannot be read"),
        (["{run}", "-o", "{dir}"], "is a directory"),
        (["{run}", "-o", "{dir}/no/such/page.html"], "cannot be written"),
        (["{run}", "--baseline", "5.4"], "no kernel '5.4'"),
        (["{alone}", "--picture", "{dir}/p.svg"], "no ratios"),
    ],
)
def test_bad_arguments_leave_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], error: str
) -> None:
    monkeypatch.chdir(tmp_path)
    save(report_inputs.ordinary_run(), tmp_path / "run.json")
    save(report_inputs.make_run({"6.12": {"ops_per_second": 1}}), tmp_path / "alone.json")
    before = sorted(tmp_path.iterdir())
    places = {name: str(tmp_path / f"{name}.json") for name in ("run", "alone")}
    words = [word.format(dir=tmp_path, **places) for word in arguments]
    result = CliRunner().invoke(cli, ["report", *words])
    assert isinstance(result.exception, LabError)
    assert error in result.exception.what
    assert sorted(tmp_path.iterdir()) == before


def test_the_command_writes_page_and_picture(tmp_path: Path) -> None:
    save(report_inputs.ordinary_run(), tmp_path / "run.json")
    output, drawing = tmp_path / "page.html", tmp_path / "picture.svg"
    words = ["report", str(tmp_path / "run.json"), "-o", str(output), "--picture", str(drawing)]
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 0, result.output
    assert output.read_text().startswith("<!DOCTYPE html>")
    assert "<svg" in drawing.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "page.html",
        "picture.svg",
        "run.json",
    ]


# -- figures


def test_thinning_keeps_ends_and_peaks() -> None:
    values = [math.sin(at / 50) for at in range(10_000)]
    values[7777], values[123] = 50.0, -50.0
    kept = thin.extremes(values, 100)
    assert {0, 123, 7777, 9999} <= set(kept)
    assert len(kept) <= 102
    assert kept == sorted(set(kept))
    assert thin.extremes([1, 2], 100) == [0, 1]
    assert thin.evenly(1000, 10)[0] == 0
    assert thin.evenly(1000, 10)[-1] == 999
    assert thin.evenly(3, 10) == [0, 1, 2]


@pytest.mark.parametrize(
    ("better", "ratio", "expected"),
    [
        ("higher", 2.0, 2.0),
        ("lower", 0.5, 2.0),
        ("lower", 4.0, 0.25),
        ("lower", 0.0, math.inf),
        ("higher", 0.0, 0.0),
        ("lower", None, None),
        (None, 2.0, None),
    ],
)
def test_half_as_many_refaults_are_twice_as_good(
    better: str | None, ratio: float | None, expected: float | None
) -> None:
    assert factor(better, ratio) == expected


def test_the_summary_counts_better_same_and_worse() -> None:
    run = report_inputs.make_run(
        {
            "6.12": {"ops_per_second": 100, "workingset_refault_file": 100},
            "6.12+next": {"ops_per_second": 110, "workingset_refault_file": 100.1},
            "7.3": {"ops_per_second": 90, "workingset_refault_file": 120},
        },
        boots=5,
    )
    summary = summarise(compare([Named("x", run)], baseline="6.12"))
    assert summary.baseline == "6.12"
    scores = {each.kernel: (each.better, each.same, each.worse) for each in summary.scores}
    assert scores == {"6.12+next": (1, 1, 0), "7.3": (0, 0, 2)}


def test_the_usual_baseline_is_stock_where_there_is_one() -> None:
    other = report_inputs.make_run(
        {"7.3@classic": {"ops_per_second": 1}, "7.3": {"ops_per_second": 2}}, experiment="other"
    )
    page = page_of(report_inputs.ordinary_run(), other)
    bases = [
        each.comparison.columns[each.comparison.baseline].label
        for section in page.sections
        for each in section.measured
    ]
    assert bases == ["6.12", "7.3@classic"]
    assert page.summary.baseline is None


def test_waterfall_steps_are_in_order_and_each_against_the_one_before() -> None:
    waterfall = make_waterfall(report_inputs.waterfall_run())
    assert [step.numbers for step in waterfall.steps][:2] == ["1", "2-3"]
    assert waterfall.steps[-1].numbers.startswith("4-")
    assert [len(step.subjects) for step in waterfall.steps][:2] == [1, 2]
    assert waterfall.steps[0].part.startswith("part 1")
    assert waterfall.notes == ()
    first_metric = [step.effects[0] for step in waterfall.steps]
    assert [round(effect.to_before or 0, 6) for effect in first_metric if effect] == [1.1] * 3
    assert [round(effect.to_stock or 0, 6) for effect in first_metric if effect] == [
        1.1,
        1.21,
        1.331,
    ]
    assert {effect.mark for effect in first_metric if effect} == {Mark.BETTER}


def test_patches_of_another_series_are_not_named() -> None:
    waterfall = make_waterfall(report_inputs.waterfall_run(measured=False))
    assert all(not step.subjects for step in waterfall.steps)
    assert waterfall.steps[-1].numbers == "4 on"
    assert "changed" in waterfall.notes[0]


def test_a_page_of_a_waterfall_alone_has_no_empty_summary() -> None:
    inputs = ReportInputs(waterfalls=[Named("steps", report_inputs.waterfall_run())])
    text = pages.render(pages.make_page(inputs, title="steps"))
    assert "The effect of every patch" in text
    assert 'id="summary"' not in text
    assert "#summary" not in text


def test_distances_are_to_the_optimum() -> None:
    found = distances(report_inputs.make_bound())
    assert [(each.name, each.way) for each in found] == [
        ("Belady", 0),
        ("6.12+next", pytest.approx(1 / 3)),
        ("S3-FIFO", pytest.approx(22 / 30)),
        ("ARC", pytest.approx(23 / 30)),
        ("6.12", pytest.approx(29 / 30)),
        ("LRU", 1),
    ]
    assert found[1].ratio == pytest.approx(93 / 92)


# -- charts


def test_a_kernel_has_one_colour_whatever_is_beside_it() -> None:
    one = Palette(["7.3", "6.12+next", "6.12"])
    other = Palette(["6.12%LRU_GEN=n", "6.12", "6.12@classic", "7.3", "6.12+next"])
    for kernel in ("6.12", "7.3", "6.12+next"):
        assert one.look(kernel) == other.look(kernel)
    looks = [other.look(kernel).colour for kernel in (*report_inputs.KERNELS, "6.12%LRU_GEN=n")]
    assert len(set(looks)) == len(looks)


def luminance(colour: str) -> float:
    """WCAG's relative luminance."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("scheme", [palette.LIGHT, palette.DARK], ids=["light", "dark"])
def test_colours_have_enough_contrast(scheme: dict[str, str]) -> None:
    for text in ("ink", "muted", "link", "better", "worse"):
        assert contrast(scheme[text], scheme["page"]) >= 4.5, text
        assert contrast(scheme[text], scheme["panel"]) >= 4.5, text
    assert contrast(scheme["better"], scheme["better-soft"]) >= 4.5
    assert contrast(scheme["worse"], scheme["worse-soft"]) >= 4.5
    for kernel in ("classic", "stock", "newest", "ours", *palette.EXTRAS):
        assert contrast(scheme[kernel], scheme["page"]) >= 3, kernel


def test_light_and_dark_name_the_same_colours() -> None:
    assert palette.LIGHT.keys() == palette.DARK.keys()


def test_every_chart_is_one_that_the_library_understands(everything: pages.Page) -> None:
    kinds = ("summary", "ratios", "latency", "time", "generations", "waterfall", "sweep", "bound")
    keys = [chart.key for chart in everything.charts]
    assert all(any(kind in key for key in keys) for kind in kinds)
    for chart in everything.charts:
        compiled = vl_convert.vegalite_to_vega(chart.spec, vl_version=VEGA_LITE)
        assert compiled["marks"], chart.key
    assert len(set(keys)) == len(keys)


def test_ratio_bars_have_ratio_interval_and_published() -> None:
    (comparison,) = compare([Named("x", report_inputs.ordinary_run())], baseline="6.12")
    chart = ratio_chart(comparison, Palette(), "key")
    assert chart is not None
    bars = {(bar["m"], bar["k"]): bar for bar in data_of(chart)}
    assert bars["ops_per_second ↑", "6.12+next"]["r"] == pytest.approx(130 / 110, abs=1e-3)
    assert bars["ops_per_second ↑", "published"]["t"] == "1.28x"
    assert ("workingset_refault_file ↓", "published") not in bars
    assert not any(bar["k"] == "6.12" for bar in bars.values())


def test_latency_curves_end_at_the_slowest_operation() -> None:
    run = report_inputs.ordinary_run()
    (chart,) = latency_charts([Named("x", run)], Palette(), "key")
    curve = next(curve for curve in data_of(chart) if curve["k"] == "6.12")
    slowest = Histogram.decode(run.boots_of("6.12")[0].latency["latency"]).at(100)
    assert curve["y"][-1] >= slowest
    assert curve["y"] == sorted(curve["y"])
    assert curve["x"][-1] == 3000  # three boots of a thousand operations


def test_latencies_that_are_all_zero_are_no_chart() -> None:
    run = report_inputs.ordinary_run()
    nothing = Histogram([(0, 100)]).encode()
    boots = [boot.model_copy(update={"latency": {"touch": nothing}}) for boot in run.raw]
    assert not latency_charts([Named("x", RunResult.from_boots(run, boots))], Palette(), "key")


def test_time_lines_are_of_the_first_boot_in_the_units_of_their_titles() -> None:
    found = tracks([Named("x", report_inputs.ordinary_run())])
    assert [track.kernel for track in found] == list(report_inputs.KERNELS)
    charts = {chart.title: chart for chart in time_charts(found, Palette(), "key")}
    memory = data_of(charts["Memory of the cgroup (MB)"])[0]
    assert set(memory["y"]) == {160.0}
    waiting = data_of(charts["Memory pressure: some, so far (s)"])[0]
    assert (waiting["x"][-1], waiting["y"][-1]) == (3.98, 0.597)
    assert "Swapped in, so far (pages)" not in charts
    ages = generation_charts(found, "key")
    assert [chart.title for chart in ages] == [
        "6.12: file pages (MB)",
        "7.3: file pages (MB)",
        "6.12+next: file pages (MB)",
    ]


def test_a_sweep_has_a_panel_for_each_other_value_and_metric() -> None:
    charts = sweep_charts(report_inputs.make_sweep(), Palette(), "key")
    assert [chart.title for chart in charts] == [
        "ops_per_second ↑, zipf 0.8",
        "ops_per_second ↑, zipf 0.99",
        "workingset_refault_file ↓, zipf 0.8",
        "workingset_refault_file ↓, zipf 0.99",
    ]
    points = {(p["k"], p["l"]): (p["x"], p["y"]) for p in data_of(charts[0])}
    assert points["6.12", "128M"] == (2.0**27, 80)
    assert len(points) == 12


# -- page


class Outline(HTMLParser):
    """Headings, links, images and charts of a page, and what it would fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.levels: list[int] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.fetched: list[str] = []
        self.unnamed: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if re.fullmatch(r"h[1-6]", tag):
            self.levels.append(int(tag[1]))
        if given.get("id"):
            self.anchors.add(str(given["id"]))
        if tag == "a":
            self.links.append(str(given.get("href")))
        address = given.get("src") or (given.get("href") if tag == "link" else None)
        if address and not address.startswith("data:"):
            self.fetched.append(address)
        if given.get("role") in {"img", "region"} and not given.get("aria-label"):
            self.unnamed.append(str(given))


def test_the_page_is_complete_in_itself(everything: pages.Page) -> None:
    text = pages.render(everything)
    outline = Outline(text)
    assert outline.fetched == []
    assert outline.unnamed == []
    assert {link[1:] for link in outline.links} <= outline.anchors
    assert outline.levels[0] == 1
    assert outline.levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(outline.levels))
    style = text[text.index("<style>") : text.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style


def test_the_page_has_tables_provenance_and_the_way_to_repeat_it(everything: pages.Page) -> None:
    text = pages.render(everything)
    assert "a title" in text
    command = "./mglru run ycsb-b --kernels 6.12@classic,6.12,7.3,6.12+next --boots 3 --seed 1"
    assert command in text
    for part in ("e" * 64, "c" * 64, "1 to 3, one a boot", "gcc 12.2.0", "times the optimum"):
        assert part in text
    assert "docs/lab/methodology.md" in text
    assert "YCSB B" in text  # what the experiment's file says


def test_settings_are_part_of_the_command_that_repeats_a_run() -> None:
    run = report_inputs.ordinary_run(parameters={"limit": "200M", "x": "a b"})
    text = pages.render(page_of(run))
    assert "--set limit=200M --set &#39;x=a b&#39;" in text


def test_sweeps_bounds_and_tried_programs_can_be_repeated_too(everything: pages.Page) -> None:
    text = pages.render(everything)
    assert "./mglru sweep ycsb-b --vary limit=64M,128M,256M --vary zipf=0.8,0.99" in text
    assert "./mglru bound ycsb-b --kernels 6.12,6.12+next --seed 1" in text
    tried = report_inputs.ordinary_run(
        experiment="try", parameters={"limit": "256M", "command": "sqlite3 app.db"}
    )
    command = command_of(tried)
    assert command.startswith("./mglru try --kernels 6.12@classic,6.12,7.3,6.12+next --boots 3")
    assert command.endswith("--limit 256M -- sqlite3 app.db")


def test_the_optimum_stands_beside_the_refaults(everything: pages.Page) -> None:
    text = re.sub(r"<[^>]*>", " ", pages.render(everything))
    assert re.search(r"2,000\s+0.41x of 6.12", text)


def test_runs_with_other_settings_have_a_table_of_their_own() -> None:
    changed = report_inputs.ordinary_run(parameters={"limit": "200M"})
    (section,) = page_of(report_inputs.ordinary_run(), changed).sections
    assert [each.settings for each in section.measured] == ["", "--set limit=200M"]


def test_names_are_text_not_markup() -> None:
    run = report_inputs.ordinary_run(experiment="</script><img src=x onerror=alert(1)>")
    text = pages.render(page_of(run))
    assert "<img src=x" not in text
    assert "&lt;img src=x" in text
    assert text.count("</script>") == 4


def test_a_page_in_the_repository_links_to_its_documents(everything: pages.Page) -> None:
    inside = pages.render(everything, REPO / "docs" / "report.html")
    assert 'href="lab/methodology.md"' in inside
    assert 'href="lab' not in pages.render(everything, Path("/tmp/report.html"))


def test_a_run_without_boots_is_a_page_too() -> None:
    run = report_inputs.ordinary_run()
    text = pages.render(page_of(RunResult.from_boots(run, [])))
    assert "0 of 3 boots" in text


def test_the_picture_knows_light_and_dark() -> None:
    page = page_of(report_inputs.ordinary_run())
    drawing = picture(page)
    assert "prefers-color-scheme: dark" in drawing
    assert palette.LIGHT["ours"] in drawing
    assert palette.DARK["ours"] in drawing
    assert "var(--" not in drawing
    assert "ycsb-b · ops_per_second" in drawing


# -- what is committed


@pytest.fixture(scope="module")
def committed() -> pages.Page:
    folders = [RESULTS / name for name in ("bound", "sweep", "waterfall")]
    return pages.make_page(load_inputs([RESULTS, *folders]), title="results")


COMMAND = (
    "./mglru report results results/{bound,sweep,waterfall} "
    "-o report.html --picture docs/use/results.svg"
)


def test_the_committed_picture_shows_the_committed_results(committed: pages.Page) -> None:
    drawing = (REPO / "docs" / "use" / "results.svg").read_text()
    assert f"figures: {digest(picture_dots(committed))} " in drawing, COMMAND
    assert COMMAND in (REPO / "docs" / "lab" / "report.md").read_text()


def test_the_page_of_all_results_is_small(committed: pages.Page) -> None:
    assert len(pages.render(committed).encode()) < 4_000_000
