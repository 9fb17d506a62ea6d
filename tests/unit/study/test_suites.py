# SPDX-License-Identifier: GPL-2.0-only
"""Suites: what belongs to one, what of it runs, and what a wrong name is answered with."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from mglru import cli
from mglru.core.errors import ExitCode, GuestDiedError, LabError, UsageError
from mglru.core.ui import Ui
from mglru.experiment.load import load_experiment
from mglru.experiment.settings import Setting
from mglru.experiment.spec import Experiment
from mglru.results.compare import Named, compare
from mglru.results.model import BootRecord, Headline, MachineProvenance, RunResult
from mglru.results.result_file import load
from mglru.results.timeline import Timeline
from mglru.run import jobs, resume
from mglru.run.jobs import Job
from mglru.run.session import Prepared
from mglru.source.kernel_id import KernelId, parse_list
from mglru.study.suite import run as suite_run
from mglru.study.suite.families import all_suites, families
from mglru.study.suite.file import SuiteFile, load_old, what_is_kept
from mglru.study.suite.harm import harm
from mglru.study.suite.plan import SuitePlan, WantedSuite, check_machine
from mglru.study.suite.run import BegunSuite
from support.made_runs import made_info, made_run
from support.provenance import SERIES

STEP = '[[steps]]\nlabel = "read"\nargv = ["/bin/true", "{lag}"]\n'
FAMILY = f"""
summary = "s"
suites = ["databases"]
parameters = {{ lag = 1 }}
points = [
  {{ name = "near", set = ["lag=2"], quick = true }},
  {{ name = "far", set = ["lag=9"] }},
]
{STEP}"""
PLAIN = f'summary = "s"\nparameters = {{ lag = 1 }}\n{STEP}'
STOCK, NEXT = "6.12", "6.12+next"


@pytest.fixture
def there(tmp_path: Path) -> Path:
    for name, text in {
        "harm/lagged": FAMILY,
        "harm/plain": PLAIN,
        "databases/ycsb": PLAIN,
        "loose": PLAIN,
    }.items():
        path = tmp_path / f"{name}.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


def points(there: Path, suite: str, **options: object) -> list[str]:
    chosen = families(suite, directory=there, **options)  # type: ignore[arg-type]
    return [point.name for family in chosen for point in family.points]


def test_a_suite_is_a_folder_and_what_names_it(there: Path) -> None:
    assert {name: [e.name for e in found] for name, found in all_suites(there).items()} == {
        "databases": ["lagged", "ycsb"],
        "harm": ["lagged", "plain"],
        "in no suite": ["loose"],
    }
    assert points(there, "harm") == ["lagged:near", "lagged:far", "plain"]


def test_quick_and_left_out_points(there: Path) -> None:
    assert points(there, "harm", quick=True) == ["lagged:near", "plain"]
    assert points(there, "harm", leave_out=["lagged:near"]) == ["lagged:far", "plain"]
    assert points(there, "harm", leave_out=["lagged"]) == ["plain"]
    assert points(there, "harm", only=["lagged:far"]) == ["lagged:far"]
    assert points(there, "harm", quick=True, only=["lagged"]) == ["lagged:near"]
    assert points(there, "harm", quick=True, only=["lagged:far"]) == ["lagged:far"]
    assert points(there, "harm", only=["plain", "lagged"]) == ["lagged:near", "lagged:far", "plain"]
    found = families("harm", settings=[Setting("lag", "5")], directory=there)
    assert {point.parameters["lag"] for family in found for point in family.points} == {5}


@pytest.mark.parametrize(
    ("suite", "options", "message", "step"),
    [
        ("harms", {}, "no suite 'harms'", "databases, harm"),
        ("in no suite", {}, "no suite", "databases, harm"),
        (
            "harm",
            {"leave_out": ["lagged:near", "lagged:far"]},
            "no point left",
            "--leave-out lagged",
        ),
        ("harm", {"quick": True, "leave_out": ["lagged:near"]}, "no point left", "leave out"),
        ("harm", {"leave_out": ["lagged", "plain"]}, "nothing of the suite", "leave out less"),
        ("harm", {"leave_out": ["nix"]}, "has no 'nix'", "lagged, plain"),
        ("harm", {"only": ["lagged:nix"]}, "has no 'lagged:nix'", "lagged:near, lagged:far"),
    ],
)
def test_a_suite_that_is_not_there_or_of_which_nothing_is_left(
    there: Path, suite: str, options: dict[str, object], message: str, step: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        points(there, suite, **options)
    assert step in caught.value.next_step


def test_a_family_without_a_quick_point_is_refused_for_quick(there: Path) -> None:
    path = there / "harm" / "lagged.toml"
    path.write_text(path.read_text().replace(", quick = true", ""))
    with pytest.raises(UsageError, match="lagged has no point left") as caught:
        points(there, "harm", quick=True)
    assert "quick" in caught.value.next_step


def plan(there: Path, kernels: str = "6.12,6.12+next", machine: str = "uml") -> SuitePlan:
    return SuitePlan(families("harm", directory=there), parse_list(kernels), None, 1, (), machine)


def test_what_the_machine_cannot_run_is_named_before_anything_is_built(there: Path) -> None:
    (there / "harm" / "cost.toml").write_text(f'time = "instructions"\n{PLAIN}')
    with pytest.raises(UsageError, match="cannot run cost: cost is about instructions") as caught:
        check_machine(plan(there))
    assert caught.value.next_step == "--leave-out cost; or --machine qemu"
    check_machine(plan(there, machine="qemu"))


def test_a_point_has_the_kernels_that_its_disk_and_its_file_need(there: Path) -> None:
    (there / "harm" / "xfs.toml").write_text(f'disk = {{ filesystem = "xfs" }}\n{PLAIN}')
    (there / "harm" / "poison.toml").write_text(
        f'kernels = ["6.12%poison", "6.12+next%poison@classic"]\n{PLAIN}'
    )
    whole = plan(there)
    names = {p.name: ",".join(map(str, whole.kernels_of(p))) for p in whole.points}
    assert names["plain"] == "6.12,6.12+next"
    assert names["xfs"] == "6.12%filesystems,6.12+next%filesystems"
    assert names["poison"] == "6.12%poison,6.12+next%poison"
    assert len(whole.needed) == 6


def record(kernel: str, boot: int) -> BootRecord:
    return BootRecord(kernel=kernel, boot=boot, seed=1 + boot, metrics={"pgpgin": 5.0})


def test_a_file_is_complete_after_each_boot_and_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "suite.json"
    info = made_info([STOCK, NEXT], boots=2)
    with SuiteFile(path) as file:
        file.keep_others([made_run({STOCK: {"x": [1.0]}}, experiment="other")])
        file.begin(info, [])
        file.add("lagged:far", record(NEXT, 1))
        file.add("lagged:far", record(STOCK, 0))
        there = {run.experiment: run for run in load(path)}
    assert [(r.kernel, r.boot) for r in there["lagged:far"].raw] == [(STOCK, 0), (NEXT, 1)]
    assert load_old(str(path), anew=False).keys() == {"lagged:far", "other"}
    assert load_old(str(path), anew=True) == {}
    assert load_old(str(tmp_path / "none"), anew=False) == {}


SECONDS = Headline(name="read_seconds", better="lower")
TAIL = Headline(name="read_p999_us", better="lower")
FAULTS = Headline(name="pgmajfault", better="lower")
RATE = Headline(name="ops_per_second", better="higher")
ALWAYS = {"oom_kill", "pgpgin", "written_kb"}


def measured(headline: Sequence[Headline]) -> RunResult:
    """A run with a metric of each kind, of which no two are alike, and all else that a boot has."""
    metrics = (
        *("pgpgin", "pgpgout", "written_kb", "oom_kill", "pgmajfault", "pgsteal", "nr_dirty"),
        *("elapsed_seconds", "read_seconds", "ops_per_second", "read_p99_us", "read_p999_us"),
    )
    values = {
        kernel: {
            name: [0.0 if name == "oom_kill" else 1e6 + at * 1e5 + boot * by for boot in range(5)]
            for at, name in enumerate(metrics)
        }
        for kernel, by in {STOCK: 1000.0, NEXT: 5000.0}.items()
    }
    run = made_run(values, headline=headline, problems={STOCK: [4]})
    timeline = Timeline(seconds=[1.0], figures={"pgpgin": [1]})
    more = {"latency": {"latency": "HISTFAAA"}, "timeline": timeline, "real_seconds": 3.5}
    return RunResult.from_boots(run, [boot.model_copy(update=more) for boot in run.raw])


@pytest.mark.parametrize(
    ("headline", "kept"),
    [
        ([], {"elapsed_seconds", "read_p99_us"}),
        ([SECONDS, TAIL], {"read_seconds", "read_p999_us"}),
        ([RATE, FAULTS], {"ops_per_second", "pgmajfault", "read_p99_us"}),
    ],
)
def test_a_suite_keeps_what_its_tables_are_made_of(
    tmp_path: Path, headline: Sequence[Headline], kept: set[str]
) -> None:
    whole, path = measured(headline), tmp_path / "suite.json"
    with SuiteFile(path) as file:
        file.begin(whole, whole.raw[:3])
        for boot in whole.raw[3:]:
            made = file.add(whole.experiment, boot)
    (small,) = load(path)
    assert small == made == what_is_kept(small)
    for boot, before in zip(small.raw, whole.raw, strict=True):
        assert boot.metrics == {name: before.metrics[name] for name in ALWAYS | kept}
        assert (boot.kernel, boot.boot, boot.seed) == (before.kernel, before.boot, before.seed)
        assert boot.problems == before.problems
        assert not boot.latency and not boot.timeline and not boot.real_seconds
    assert harm([small]) == harm([whole])
    assert compare([Named("a", small)]) == compare([Named("a", whole)])


def test_boots_that_tell_less_do_not_change_what_is_kept_of_others(tmp_path: Path) -> None:
    """The first boot may be of a guest that died before it told anything."""
    whole, path = measured([SECONDS]), tmp_path / "suite.json"
    dead = whole.raw[0].model_copy(update={"metrics": {}})
    with SuiteFile(path) as file:
        file.begin(whole, [])
        for boot in (dead, *whole.raw[1:]):
            file.add(whole.experiment, boot)
    (small,) = load(path)
    assert small == what_is_kept(RunResult.from_boots(whole, [dead, *whole.raw[1:]]))


def begin(path: Path, old: RunResult, **changes: object) -> list[BootRecord]:
    info = made_info([STOCK, NEXT], **{"boots": 2, **changes})  # type: ignore[arg-type]
    with SuiteFile(path) as file:
        begun = suite_run.begin([Prepared(info, [])], file, {old.experiment: old}, str(path))
    return begun.runs[info.experiment].raw


def test_known_boots_are_kept_and_more_seeds_go_on(tmp_path: Path) -> None:
    old = made_run({STOCK: {"x": [1.0, 2.0]}, NEXT: {"x": [1.0]}})
    assert len(begin(tmp_path / "a", old, boots=5)) == 4
    assert len(begin(tmp_path / "b", old, boots=1)) == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"series": "9" * 64}, r"the state of the series in 6.12\+next was 5{12}, is now 9{12}"),
        ({"seed": 9}, "--seed was 1, is now 9"),
    ],
)
def test_boots_of_something_else_are_refused(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    old = made_run({STOCK: {"x": [1.0]}, NEXT: {"x": [1.0]}})
    with pytest.raises(UsageError, match=message) as caught:
        begin(tmp_path / "a", old, **changes)
    assert "--anew" in caught.value.next_step


@pytest.mark.parametrize(
    ("changes", "same_guest", "kept"),
    [
        ({}, True, [STOCK, NEXT]),
        ({"series": "9" * 64}, True, [STOCK]),
        ({"series": "9" * 64}, False, []),
        ({"seed": 9}, True, []),
    ],
)
def test_only_what_changed_is_renewed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, object],
    same_guest: bool,
    kept: list[str],
) -> None:
    monkeypatch.setattr(resume, "_same_guest", lambda _commit: same_guest)
    old = made_run({STOCK: {"x": [1.0]}, NEXT: {"x": [1.0]}})
    info = made_info([STOCK, NEXT], **{"boots": 2, **changes})  # type: ignore[arg-type]
    with SuiteFile(tmp_path / "a") as file:
        points = [Prepared(info, [])]
        begun = suite_run.begin(points, file, {old.experiment: old}, "a", renew=True)
    assert [boot.kernel for boot in begun.runs[info.experiment].raw] == kept


@pytest.mark.parametrize(("series", "kept"), [(SERIES, [STOCK, NEXT]), ("9" * 64, [])])
def test_in_real_time_all_boots_are_renewed_or_none(
    monkeypatch: pytest.MonkeyPatch, series: str, kept: list[str]
) -> None:
    monkeypatch.setattr(resume, "_same_guest", lambda _commit: True)
    old = made_run({STOCK: {"x": [1.0]}, NEXT: {"x": [1.0]}})
    info = made_info([STOCK, NEXT], series=series)
    real = MachineProvenance(virtual_time=False)
    info = info.model_copy(
        update={"provenance": info.provenance.model_copy(update={"machine": real})}
    )
    assert [boot.kernel for boot in resume.unchanged_boots(old, info)] == kept


def test_guests_of_no_known_commit_are_not_taken_for_the_same() -> None:
    assert not resume._same_guest(None)
    assert not resume._same_guest("0" * 40)
    assert not resume._same_guest("HEAD-dirty")


def commit(repo: Path, name: str, text: str) -> str:
    """A commit that writes one file."""
    path = repo / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    git = ["git", "-C", str(repo), "-c", "user.name=a", "-c", "user.email=a@example"]
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "x"], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    return head.stdout.strip()


def test_guests_are_the_same_but_for_commits_that_changed_what_they_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    monkeypatch.setattr(resume, "REPO", tmp_path)
    first = commit(tmp_path, "guest/a.c", "one")
    beside = commit(tmp_path, "docs/a.md", "one")
    assert resume._same_guest.__wrapped__(first)
    renamed = commit(tmp_path, "guest/a.c", "two")
    assert not resume._same_guest.__wrapped__(beside)
    assert resume._same_guest.__wrapped__(renamed)
    monkeypatch.setattr(resume, "ONLY_NAMES", (renamed,))
    assert resume._same_guest.__wrapped__(first)
    (tmp_path / "guest/a.c").write_text("not in any commit")
    assert not resume._same_guest.__wrapped__(first)
    commit(tmp_path, "guest/a.c", "three")
    assert not resume._same_guest.__wrapped__(first)


def test_a_file_of_something_else_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    path.write_text("{}")
    with pytest.raises(UsageError, match="not a result") as caught:
        load_old(str(path), anew=False)
    assert "--anew" in caught.value.next_step


class _Recipe:
    key = "0123456789ab"


class _Build:
    recipe = _Recipe()


def job(kernel: str, number: int = 3, experiment: str = "loop") -> Job:
    return Job(
        load_experiment(experiment),
        KernelId.parse(kernel),
        _Build(),  # type: ignore[arg-type]
        None,
        number=number,
        seed=1 + number,
    )


def test_a_patched_kernel_that_does_not_come_up_is_a_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def die(_job: Job) -> BootRecord:
        raise GuestDiedError("the guest ended", log_tail=["a", "panic"])

    monkeypatch.setattr(suite_run, "run_job", die)
    made = suite_run.boot(job(NEXT))
    assert (made.boot, made.seed, made.metrics) == (3, 4, {})
    assert made.problems == ["the guest ended", "a", "panic"]
    with pytest.raises(LabError):
        suite_run.boot(job(STOCK))


def test_too_little_memory_for_two_boots_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(jobs, "available_bytes", lambda: 3 << 30)
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: {0, 1})
    monkeypatch.setattr(suite_run, "run_job", lambda each: record(str(each.kernel), each.number))
    with SuiteFile(tmp_path / "a") as file:
        begun = file.begin(made_info([STOCK, NEXT], experiment="loop", boots=4), [])
        whole = BegunSuite({"loop": begun}, 8, [job(STOCK), job(NEXT)])
        (made,) = suite_run.run_missing(whole, file, Ui(), "running")
    assert [boot.kernel for boot in made.raw] == [STOCK, NEXT]
    assert "too little memory for two boots at once, so one at a time: loop" in (
        capsys.readouterr().err.replace("\n", " ")
    )


class Made:
    """A session that has all that a suite needs."""

    def __init__(self, _kernels: object, _own: object, _ui: Ui, **_more: object) -> None:
        pass

    def prepare(
        self, experiment: Experiment, *, boots: int, kernels: Sequence[KernelId], **_more: object
    ) -> Prepared:
        name, ids = experiment.name, [str(kernel) for kernel in kernels]
        info = made_info(ids, experiment=name, boots=boots)
        return Prepared(info, [job(each, at, name) for at in range(boots) for each in ids])


def test_a_suite_gives_what_was_there_and_what_was_booted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(suite_run, "Session", Made)
    monkeypatch.setattr(suite_run, "run_job", lambda each: record(str(each.kernel), each.number))
    path = str(tmp_path / "suite.json")

    def runs(seeds: int) -> list[RunResult]:
        wanted = WantedSuite(
            suite="out-of-memory",
            kernels=parse_list(f"{STOCK},{NEXT}"),
            machine="uml",
            seeds=seeds,
            seed=1,
            settings=(),
            path=path,
            only=["oom-dirty", "oom-aging"],
        )
        return suite_run.run_suite(wanted, Ui())

    assert [len(each.raw) for each in runs(1)] == [2, 2]
    made = runs(2)
    assert [each.experiment for each in made] == ["oom-aging", "oom-dirty"]
    assert made == load(path)
    assert "4 of 8 boots are there already" in capsys.readouterr().err
    assert [len(each.raw) for each in runs(2)] == [4, 4]
    assert "running the suite" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--suite", "nix"], "no suite 'nix'"),
        (["--suite", "cost"], "cannot run refault-cost"),
        (["--suite", "cost", "loop"], "--suite and the experiments loop"),
        (["loop", "--quick"], "--quick goes with --suite"),
        (["loop", "--leave-out", "x"], "--leave-out goes with --suite"),
        ([], "nothing to run"),
        (["loop", "--renew"], "nothing to renew"),
        (["--suite", "cost", "--anew", "--renew"], "give one of them"),
        (["--suite", "containers", "--kernels", "6.12@classic,6.12+next"], "no stock kernel"),
    ],
)
def test_the_command_refuses_what_does_not_go_together(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["run", *arguments])
    assert ended.value.code == ExitCode.USAGE
    err = capsys.readouterr().err
    assert message in err
    assert "next: " in err
    assert "Traceback" not in err, sys.version


def test_a_points_name_is_no_emoji(capsys: pytest.CaptureFixture[str]) -> None:
    Ui().note("sets-in-turn:2: complete")
    assert "sets-in-turn:2: complete" in capsys.readouterr().err


def test_experiments_are_listed_by_suite(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["experiments", "loops-and-scans"])
    assert ended.value.code == ExitCode.OK
    out = capsys.readouterr().out
    assert "phase-change" in out
    assert "ycsb-b" not in out
    with pytest.raises(SystemExit) as ended:
        cli.main(["experiments", "nix"])
    assert ended.value.code == ExitCode.USAGE
    assert "no suite 'nix'" in capsys.readouterr().err
