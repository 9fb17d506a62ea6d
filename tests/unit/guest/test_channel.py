# SPDX-License-Identifier: GPL-2.0-only
"""The result channel: recorded reports of real guests, cut, damaged and whole."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from mglru.core.paths import GUEST
from mglru.guest.channel import GuestReport, ProblemKind, metrics_of, parse
from mglru.guest.counters import is_memory_stat_event, is_vmstat_event
from mglru.guest.latency import HIGHEST, Histogram
from support import places


def recorded(name: str) -> bytes:
    return places.recorded(f"{name}.jsonl")


def kinds(report: GuestReport) -> list[ProblemKind]:
    return [problem.kind for problem in report.problems]


def line(**event: object) -> str:
    return json.dumps(event) + "\n"


def snapshot(phase: str, clock_ns: int = 0, **files: dict[str, int]) -> str:
    given = {name.replace("_", "."): figures for name, figures in files.items()}
    event = {"event": "counters", "phase": phase, "clock_ns": clock_ns, "vmstat": {}, **given}
    return json.dumps(event) + "\n"


def whole(*lines: str) -> str:
    """A report with nothing missing, and these lines in it."""
    return "".join([snapshot("begin"), *lines, snapshot("end"), line(event="done")])


def test_a_good_report() -> None:
    report = parse(recorded("good"))
    assert report.problems == ()
    assert report.done
    assert report.kernel is not None
    assert report.kernel.release.startswith("6.12.")
    assert report.lru_gen == "0x0001"
    assert report.symbols == {"lru_gen_look_around": True, "no_such_symbol": False}
    assert [step.label for step in report.steps] == ["first_pass", "write", "second_pass"]
    assert not any(step.failed for step in report.steps)


@pytest.mark.parametrize("name", ["good", "good-7.3"])
def test_figures_of_a_good_report_agree_with_what_the_guest_did(name: str) -> None:
    """It read a file of 60 MiB twice under a limit of 20 MiB, and wrote 8 MiB to disk."""
    report = parse(recorded(name))
    assert report.problems == ()
    metrics = metrics_of(report)
    assert metrics["pgpgin"] == pytest.approx(2 * 60 * 1024, rel=0.01)
    assert metrics["pgpgout"] == pytest.approx(8 * 1024, rel=0.01)
    assert metrics["workingset_refault_file"] == pytest.approx(60 * 256, rel=0.01)
    assert metrics["file"] <= 20 * 2**20
    assert metrics["oom_kill"] == 0
    steps = sum(metrics[f"{label}_seconds"] for label in ("first_pass", "write", "second_pass"))
    assert steps <= metrics["elapsed_seconds"] <= steps * 1.01


def test_an_oom_killed_step_is_a_result_not_a_problem() -> None:
    report = parse(recorded("memcg-oom"))
    assert report.problems == ()
    (step,) = report.steps
    assert (step.failed, step.signal) == (True, 9)
    assert metrics_of(report)["oom_kill"] == 1


def test_a_guest_that_gave_up() -> None:
    report = parse(recorded("guest-error"))
    assert kinds(report) == [
        ProblemKind.GUEST_ERROR,
        ProblemKind.MISSING_COUNTERS,
        ProblemKind.MISSING_DONE,
    ]
    assert report.errors == ("cannot open /sys/no/such/file: No such file or directory",)


def test_a_guest_that_was_killed() -> None:
    report = parse(recorded("killed"))
    assert kinds(report) == [ProblemKind.MISSING_COUNTERS, ProblemKind.MISSING_DONE]
    assert "phase end" in str(report.problems[0])
    assert "elapsed_seconds" not in metrics_of(report)


def test_a_report_cut_at_any_byte_is_read_and_never_taken_for_whole() -> None:
    whole_report = recorded("good")
    lines = whole_report.splitlines(keepends=True)
    end_of_done = len(whole_report.rstrip())
    starts = [sum(map(len, lines[:n])) for n in range(len(lines))]
    # Every byte of the short lines, a few of the long ones.
    cuts = {s + at for s, text in zip(starts, lines, strict=True) for at in range(len(text))[:200]}
    for cut in sorted(cuts):
        report = parse(whole_report[:cut])
        metrics_of(report)
        if cut < end_of_done:
            assert ProblemKind.MISSING_DONE in kinds(report), cut
        half_a_line = cut not in starts and whole_report[cut : cut + 1] != b"\n"
        assert (ProblemKind.TRUNCATED in kinds(report)) == half_a_line, cut


def test_nuls_and_carriage_returns_are_no_problem() -> None:
    raw = recorded("good")
    damaged = b"\0".join(raw[i : i + 7] for i in range(0, len(raw), 7)).replace(b"\n", b"\r\n\n")
    assert parse(b"\0\0" + damaged) == parse(raw)


def test_garbage_lines_are_reported_and_passed_over() -> None:
    raw = recorded("good")
    position = raw.index(b'{"event":"lru_gen"')
    report = parse(raw[:position] + b"\xff\xfe not JSON\n[[[[\n" + raw[position:])
    assert kinds(report) == [ProblemKind.GARBAGE, ProblemKind.GARBAGE]
    assert [problem.line for problem in report.problems] == [4, 5]
    assert metrics_of(report) == metrics_of(parse(raw))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("{}", ProblemKind.MALFORMED),
        ("[]", ProblemKind.MALFORMED),
        ("3", ProblemKind.MALFORMED),
        ('{"event":"metric","name":"x"}', ProblemKind.MALFORMED),
        ('{"event":"metric","name":"x","value":"3"}', ProblemKind.MALFORMED),
        ('{"event":"metric","name":"x","value":true}', ProblemKind.MALFORMED),
        ('{"event":"metric","name":"x","value":NaN}', ProblemKind.MALFORMED),
        ('{"event":"metric","name":"x","value":1e999}', ProblemKind.MALFORMED),
        ('{"event":"metric","name":"","value":1}', ProblemKind.MALFORMED),
        ('{"event":"latency","name":"x","unit":"us","counts":[[1]]}', ProblemKind.MALFORMED),
        ('{"event":"latency","name":"x","unit":"us","counts":[[-1,2]]}', ProblemKind.MALFORMED),
        ('{"event":"counters","phase":"x","clock_ns":-1,"vmstat":{}}', ProblemKind.MALFORMED),
        ('{"event":"unheard of"}', ProblemKind.UNKNOWN_EVENT),
        ("[" * 100_000, ProblemKind.GARBAGE),
        ('{"event":"metric","name":"x","value":' + "9" * 5000 + "}", ProblemKind.GARBAGE),
        ('{"event":"metric","name":"x","value":' + "9" * 400 + "}", ProblemKind.MALFORMED),
        (snapshot("x", vmstat={"x": 10**400}).strip(), ProblemKind.MALFORMED),
        (snapshot("x", clock_ns=2**64).strip(), ProblemKind.MALFORMED),
        (
            f'{{"event":"latency","name":"x","unit":"us","counts":[[1,{2**64}]]}}',
            ProblemKind.MALFORMED,
        ),
    ],
)
def test_lines_that_do_not_fit(text: str, kind: ProblemKind) -> None:
    report = parse(whole(text + "\n"))
    assert kinds(report) == [kind]
    assert "x" not in metrics_of(report)


@pytest.mark.parametrize("raw", [b"", b"\n\n", b"\0\0\0"])
def test_nothing_at_all(raw: bytes) -> None:
    report = parse(raw)
    assert kinds(report) == [ProblemKind.MISSING_COUNTERS, ProblemKind.MISSING_DONE]
    assert metrics_of(report) == {}


def test_unknown_keys_of_a_known_event_are_passed_over() -> None:
    report = parse(whole(line(event="metric", name="x", value=1, later_addition=2)))
    assert report.problems == ()
    assert report.metrics == {"x": 1.0}


def test_doubled_figures_are_reported_and_the_last_one_counts() -> None:
    twice = [line(event="metric", name="x", value=value) for value in (1, 2)]
    report = parse(whole(*twice, snapshot("end", 5)))
    assert kinds(report) == [ProblemKind.DUPLICATE, ProblemKind.DUPLICATE]
    assert metrics_of(report)["x"] == 2


def test_counters_are_differences_and_gauges_the_last_reading() -> None:
    text = (
        snapshot("begin", 1_000_000_000, vmstat={"pgfault": 10, "nr_free_pages": 7})
        + snapshot("end", 3_500_000_000, vmstat={"pgfault": 25, "nr_free_pages": 5, "pgnew": 4})
        + line(event="done")
    )
    assert metrics_of(parse(text)) == {
        "pgfault": 15,
        "nr_free_pages": 5,
        "pgnew": 4,
        "elapsed_seconds": 2.5,
    }


def test_the_cgroup_wins_over_the_system_but_not_for_pgpgin() -> None:
    names = {"workingset_refault_file": 1, "pgpgin": 1, "pgpgout": 1, "oom_kill": 1}
    text = (
        snapshot("begin", vmstat=dict.fromkeys(names, 0), memory_stat={}, memory_events={})
        + snapshot(
            "end",
            vmstat={"workingset_refault_file": 50, "pgpgin": 51, "pgpgout": 52, "oom_kill": 53},
            memory_stat={"workingset_refault_file": 40, "pgpgin": 41, "pgpgout": 42},
            memory_events={"oom_kill": 30},
        )
        + line(event="done")
    )
    metrics = metrics_of(parse(text))
    assert {name: metrics[name] for name in names} == {
        "workingset_refault_file": 40,
        "pgpgin": 51,
        "pgpgout": 52,
        "oom_kill": 30,
    }


def test_what_is_left_to_be_written_counts_as_written() -> None:
    text = (
        snapshot("begin", vmstat={"pgpgout": 100, "nr_dirty": 10})
        + snapshot("end", vmstat={"pgpgout": 900, "nr_dirty": 60})
        + line(event="done")
    )
    assert metrics_of(parse(text))["written_kb"] == 800 + 50 * 4


def test_a_counter_that_fell_is_reported() -> None:
    text = (
        snapshot("begin", vmstat={"pgfault": 10, "nr_dirty": 10})
        + snapshot("end", vmstat={"pgfault": 9, "nr_dirty": 9})
        + line(event="done")
    )
    (problem,) = parse(text).problems
    assert problem.kind is ProblemKind.BACKWARDS
    assert "pgfault" in problem.text


@pytest.mark.parametrize("name", ["good", "good-7.3"])
def test_every_counter_of_a_real_kernel_is_told_from_its_gauges(name: str) -> None:
    end = parse(recorded(name)).phase("end")
    assert end is not None
    gauges = {name for name in end.vmstat if not is_vmstat_event(name)}
    assert {"nr_free_pages", "nr_dirty", "nr_dirty_threshold", "workingset_nodes"} <= gauges
    assert not gauges & {"nr_dirtied", "nr_written", "nr_vmscan_write", "nr_throttled_written"}
    assert {name for name in gauges if not name.startswith("nr_")} == {"workingset_nodes"}
    sizes = {name for name in end.memory_stat if not is_memory_stat_event(name)}
    assert {"anon", "file", "pagetables", "percpu", "slab", "swapcached"} <= sizes
    events = end.memory_stat.keys() - sizes
    assert all(name.startswith(("workingset_", "pg", "pswp", "swp")) for name in events)
    # What both files have counts the same in both.
    assert all(is_vmstat_event(name) for name in events & end.vmstat.keys())
    assert not any(is_vmstat_event(name) for name in sizes & end.vmstat.keys())
    assert is_memory_stat_event("total_pgfault")
    assert not is_memory_stat_event("total_swap")
    assert not is_memory_stat_event("zswapped")


def sample(clock_ns: int, **vmstat: int) -> str:
    return line(event="sample", clock_ns=clock_ns, vmstat=vmstat, **{"memory.stat": {}})


def test_samples_between_begin_and_end_give_mean_and_peak() -> None:
    text = "".join(
        [
            sample(5, nr_file_pages=100, nr_shmem=0, nr_dirty=100),  # before the measured part
            snapshot("begin", 10),
            sample(10, nr_file_pages=4000, nr_shmem=0, nr_dirty=1000),
            # 2000 pages of a tmpfs: not the page cache of a disk.
            sample(20, nr_file_pages=6000, nr_shmem=2000, nr_dirty=3000),
            sample(25, nr_anon_pages=1),
            snapshot("end", 30),
            sample(31, nr_file_pages=100, nr_shmem=0, nr_dirty=100),
            line(event="done"),
        ]
    )
    report = parse(text)
    assert report.problems == ()
    metrics = metrics_of(report)
    assert metrics["file_dirty_mean_mb"] == pytest.approx(2000 * 4096 / 1e6)
    assert metrics["file_dirty_peak_mb"] == pytest.approx(3000 * 4096 / 1e6)
    assert metrics["dirty_share_mean"] == pytest.approx(0.5)
    assert metrics["dirty_share_peak"] == pytest.approx(0.75)


def test_pressure_is_what_it_rose_by() -> None:
    pressure = [{"some": 100, "full": 40}, {"some": 350, "full": 40}]
    parts = [
        line(
            event="counters",
            phase=phase,
            clock_ns=clock,
            vmstat={},
            **{"memory.pressure": figures},
        )
        for phase, clock, figures in zip(("begin", "end"), (1, 2), pressure, strict=True)
    ]
    metrics = metrics_of(parse("".join([*parts, line(event="done")])))
    assert metrics["psi_some_us"] == 250
    assert metrics["psi_full_us"] == 0
    assert "psi_some_us" not in metrics_of(parse(whole()))


def test_without_samples_there_are_no_figures_of_them() -> None:
    assert not any("dirty_share" in name for name in metrics_of(parse(whole())))


def test_a_stopped_program_has_not_failed_and_has_no_seconds() -> None:
    ended = {"event": "step", "status": -1, "signal": 15, "seconds": 1.5}
    text = whole(line(**ended, label="server", stopped=True), line(**ended, label="early"))
    report = parse(text)
    assert [step.failed for step in report.steps] == [False, True]
    assert not any("_seconds" in name for name in metrics_of(report) if "elapsed" not in name)


def test_latencies_split_over_lines_become_one_histogram() -> None:
    parts = [[[10, 90]], [[20, 9]], [[5000, 1]]]
    lines = [line(event="latency", name="get", unit="us", counts=part) for part in parts]
    metrics = metrics_of(parse(whole(*lines)))
    assert metrics["get_p50_us"] == metrics["get_p90_us"] == 10
    assert metrics["get_p95_us"] == metrics["get_p99_us"] == 20
    # Three significant digits above 2,047.
    assert metrics["get_p999_us"] == pytest.approx(5000, rel=0.001)
    assert metrics["get_max_us"] == pytest.approx(5000, rel=0.001)
    assert metrics["get_mean_us"] == pytest.approx(60.8, rel=0.001)


def test_latencies_of_other_names_and_units_stay_apart() -> None:
    events = [
        line(event="latency", name="get", unit="us", counts=[[1, 1]]),
        line(event="latency", name="start", unit="ms", counts=[[7, 1]]),
    ]
    metrics = metrics_of(parse(whole(*events)))
    assert metrics["get_max_us"] == 1
    assert metrics["start_p95_ms"] == 7


def test_no_latencies_give_no_figures() -> None:
    report = parse(whole(line(event="latency", name="get", unit="us", counts=[])))
    assert report.problems == ()
    assert metrics_of(report) == {"elapsed_seconds": 0.0}


def test_latencies_beyond_the_histogram_are_counted_as_lost() -> None:
    counts = [[1, 5], [HIGHEST * 4, 3]]
    report = parse(whole(line(event="latency", name="get", unit="us", counts=counts)))
    assert kinds(report) == [ProblemKind.OUT_OF_RANGE]
    assert "3 samples" in report.problems[0].text


DRIVER = r"""
#include "lab.h"
#include "latency.h"

int main(void)
{
	struct latencies all;

	lab_open();
	lab_counters("begin");
	latencies_init(&all, 10000);
	for (int i = 10000; i > 0; i--)
		latencies_add(&all, i * NSEC_PER_USEC);
	latencies_report(&all, "get");
	lab_metric("tenth", 0.1);
	lab_counters("end");
	lab_die("ends \"badly\" \\ here\n%c", 7);
}
"""


def test_what_the_guests_own_code_sends_is_understood(tmp_path: Path) -> None:
    """The C side of the channel, built for the host and pointed at a file."""
    (tmp_path / "driver.c").write_text(DRIVER)
    sources = [tmp_path / "driver.c", GUEST / "lib/lab.c", GUEST / "lib/latency.c"]
    subprocess.run(
        [
            "gcc",
            "-D_GNU_SOURCE",
            f"-I{GUEST / 'lib'}",
            "-pthread",
            "-o",
            tmp_path / "driver",
            *sources,
        ],
        check=True,
    )
    (tmp_path / "channel").touch()
    environment = {**os.environ, "MGLRU_CHANNEL": str(tmp_path / "channel")}
    subprocess.run([tmp_path / "driver"], env=environment, check=False, capture_output=True)
    report = parse((tmp_path / "channel").read_bytes())
    assert kinds(report) == [ProblemKind.GUEST_ERROR, ProblemKind.MISSING_DONE]
    assert report.errors[0].startswith('ends "badly" \\ here')
    metrics = metrics_of(report)
    assert metrics["tenth"] == 0.1
    assert metrics["get_p50_us"] == pytest.approx(5000, rel=0.001)
    assert metrics["get_p99_us"] == pytest.approx(9900, rel=0.001)
    assert metrics["get_max_us"] == pytest.approx(10_000, rel=0.001)
    assert metrics["pgfault"] > 0


def test_a_histogram_survives_its_encoding() -> None:
    histogram = Histogram([(value * value, value) for value in range(1, 3000)])
    again = Histogram.decode(histogram.encode())
    assert again.total == histogram.total == 2999 * 3000 // 2
    assert again.summary() == histogram.summary()


def test_percentiles_of_a_uniform_distribution() -> None:
    summary = Histogram((value, 1) for value in range(1, 1001)).summary()
    assert summary == {
        "mean": pytest.approx(500.5),
        "p50": 500,
        "p90": 900,
        "p95": 950,
        "p99": 990,
        "p999": 999,
        "max": 1000,
    }
