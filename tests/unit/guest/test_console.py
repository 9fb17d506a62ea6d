# SPDX-License-Identifier: GPL-2.0-only
"""Console logs of real guests, recorded by logs/record.sh, and what is found in them."""

from __future__ import annotations

import pytest

from mglru.guest.console import EXCERPT_LINES, Trouble, clean, ended, scan, unexpected
from support import places

# Every log with what it must give, in order.
RECORDED: dict[str, list[Trouble]] = {
    "good": [],
    "good-7.3": [],
    "colours": [],
    "guest-error": [],
    "killed": [],
    "memcg-oom": [Trouble.MEMCG_OOM],
    "memcg-oom-7.3": [Trouble.MEMCG_OOM],
    "oom": [Trouble.OOM],
    "oom-7.3": [Trouble.OOM],
    "warning": [Trouble.WARNING],
    "warning-7.3": [Trouble.WARNING],
    "page-allocation": [Trouble.PAGE_ALLOCATION],
    "page-allocation-7.3": [Trouble.PAGE_ALLOCATION],
    "vmalloc": [Trouble.PAGE_ALLOCATION],
    "segfault": [Trouble.SEGFAULT],
    "segfault-7.3": [Trouble.SEGFAULT],
    "ext4-error": [Trouble.EXT4_ERROR],
    "panic": [Trouble.PANIC],
    "panic-7.3": [Trouble.PANIC],
    "panic-no-init": [Trouble.PANIC],
    "bug": [Trouble.BUG, Trouble.PANIC],
    "kernel-fault": [Trouble.PANIC],
    "kasan": [Trouble.KASAN],
    "ubsan": [Trouble.UBSAN],
    "lockdep": [Trouble.BUG, Trouble.BUG, Trouble.LOCKDEP],
    "hung-task": [Trouble.HUNG_TASK],
    "lockup": [Trouble.SOFT_LOCKUP, Trouble.RCU_STALL, Trouble.RCU_STALL],
}
POWERED_OFF = {"good", "memcg-oom", "warning", "kasan", "guest-error", "colours"}
CUT_SHORT = {"killed", "panic", "panic-no-init", "hung-task", "lockup", "bug"}


def recorded(name: str) -> bytes:
    return places.recorded(f"{name}.log")


def test_every_log_is_tested() -> None:
    assert {path.stem for path in places.LOGS.rglob("*.log")} == set(RECORDED)


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_logs(name: str) -> None:
    log = recorded(name)
    findings = scan(log)
    assert [finding.kind for finding in findings] == RECORDED[name]
    lines = log.decode(errors="replace").split("\n")
    for finding in findings:
        assert finding.line in lines[finding.line_number - 1]
        assert finding.excerpt[0] == finding.line
        assert len(finding.excerpt) <= EXCERPT_LINES


@pytest.mark.parametrize("name", RECORDED)
def test_a_log_cut_anywhere_gives_a_part_of_its_findings(name: str) -> None:
    log = recorded(name)
    whole = [finding.kind for finding in scan(log)]
    for cut in range(0, len(log), 37):
        part = [finding.kind for finding in scan(log[:cut])]
        # A line cut in its middle can look like a more general kind.
        assert part[:-1] == whole[: len(part[:-1])]
        assert len(part) <= len(whole)
    assert not ended(log[: len(log) // 2])


def test_powering_off_is_told_from_being_cut_short() -> None:
    for name in POWERED_OFF:
        assert ended(recorded(name)), name
    for name in CUT_SHORT:
        assert not ended(recorded(name)), name


def test_expected_kinds_are_no_trouble() -> None:
    findings = scan(recorded("bug"))
    assert [finding.kind for finding in unexpected(findings, {Trouble.PANIC})] == [Trouble.BUG]
    assert unexpected(findings, {"bug", "panic"}) == []
    assert unexpected(findings, set()) == findings


def test_a_finding_names_kind_line_and_text() -> None:
    (finding,) = scan(recorded("memcg-oom"))
    assert str(finding).startswith("memcg_oom at line ")
    assert "Killed process" in str(finding)


def test_an_excerpt_ends_with_its_report() -> None:
    (finding,) = scan(recorded("ext4-error"))
    assert any("reboot: Power down" in line for line in finding.excerpt)
    log = "WARNING: CPU: 0 PID: 1 at mm/x.c:1\n [<6>] f\n---[ end trace 0 ]---\nafter\n"
    (short,) = scan(log)
    assert short.excerpt[-1] == "---[ end trace 0 ]---"


def test_trouble_behind_colours_nuls_timestamps_and_programs_is_found() -> None:
    original = recorded("memcg-oom").decode().split("\n")
    disguised = "\r\n".join(
        f"\x1b[1;31m[    0.{number:06}][    T1] {line}\x1b[0m\0"
        for number, line in enumerate(original)
    )
    ours, theirs = scan(disguised), scan(recorded("memcg-oom"))
    assert ours == theirs
    (after_a_prompt,) = scan("working working " + theirs[0].line)
    assert after_a_prompt.kind is Trouble.MEMCG_OOM


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("\x1b[0;1;38;5;185mFailed to write\x1b[0m\r\r", "Failed to write"),
        ("[   12.345678] text", "text"),
        ("<4>[   12.345678][  T123] text", "text"),
        ("[42] not a timestamp", "[42] not a timestamp"),
        ("a\0b\x07c\td", "abc\td"),
    ],
)
def test_clean(raw: str, text: str) -> None:
    assert clean(raw) == text


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        # Reports of machines and options that the recorded guests do not have, in the words
        # of the kernel's sources.
        (
            "Oops: general protection fault, probably for non-canonical address 0x1: 0000",
            Trouble.OOPS,
        ),
        ("BUG: unable to handle page fault for address: ffffc90000000000", Trouble.BUG),
        ("BUG: kernel NULL pointer dereference, address: 0000000000000008", Trouble.BUG),
        ("kernel BUG at mm/vmscan.c:1234!", Trouble.BUG),
        ("BUG: Bad page state in process kswapd0  pfn:12345", Trouble.BUG),
        ("BUG: KFENCE: use-after-free read in f+0x1/0x2", Trouble.KFENCE),
        ("BUG: workqueue lockup - pool cpus=0 node=0 flags=0x0 nice=0 stuck for 31s!",
         Trouble.SOFT_LOCKUP),
        ("traps: fio[12] general protection fault ip:401000 sp:7ffe error:0", Trouble.SEGFAULT),
        ("traps: fio[12] trap invalid opcode ip:401000 sp:7ffe error:0 in fio[1000,400000+1000]",
         Trouble.SEGFAULT),
        ("WARNING: possible circular locking dependency detected", Trouble.LOCKDEP),
        ("WARNING: possible recursive locking detected", Trouble.LOCKDEP),
        ("WARNING: inconsistent lock state", Trouble.LOCKDEP),
        ("WARNING: suspicious RCU usage", Trouble.LOCKDEP),
        ("WARNING: SOFTIRQ-safe -> SOFTIRQ-unsafe lock order detected", Trouble.LOCKDEP),
        ("INFO: trying to register non-static key.", Trouble.LOCKDEP),
        ("INFO: task kworker/0:1:9 blocked for more than 120 seconds.", Trouble.HUNG_TASK),
        ("INFO: task cat:12 blocked in I/O wait for more than 120 seconds.", Trouble.HUNG_TASK),
        ("rcu: INFO: rcu_sched self-detected stall on CPU", Trouble.RCU_STALL),
        ("rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: { 0-... }",
         Trouble.RCU_STALL),
        ("Out of memory and no killable processes...", Trouble.OOM),
        ("Aborting journal on device dm-0-8.", Trouble.EXT4_ERROR),
        ("XFS (data): log mount/recovery failed: error -117", Trouble.XFS_ERROR),
        ("BTRFS error (device data): open_ctree failed: -22", Trouble.BTRFS_ERROR),
        ("I/O error, dev nullb0, sector 8 op 0x1:(WRITE) flags 0x0", Trouble.IO_ERROR),
        ("Buffer I/O error on dev dm-0, logical block 1, lost async page write", Trouble.IO_ERROR),
    ],
)  # fmt: skip
def test_reports_that_no_recorded_guest_gives(line: str, kind: Trouble) -> None:
    assert [finding.kind for finding in scan(line)] == [kind]


@pytest.mark.parametrize(
    "line",
    [
        "epollctl add err fd 7, Operation not permitted",
        "This architecture does not have kernel memory protection.",
        "Failed to write wtmp record, ignoring: Read-only file system",
        "Kernel command line: panic=1 hung_task_panic=1 oops=panic",
        "2026-01-01 12:00:00 0 [Warning] mariadbd: a program's own",
        "sh: echo: echo: I/O error",
        "Lock dependency validator: Copyright (c) 2006 Red Hat, Inc., Ingo Molnar",
        "EXT4-fs (data): mounted filesystem with ordered data mode. Opts: errors=panic",
        "debugging: BUGS and WARNINGS are welcome",
    ],
)
def test_noise_is_no_trouble(line: str) -> None:
    assert scan(line) == []


def test_an_empty_log() -> None:
    assert scan(b"") == []
    assert not ended(b"")
