# SPDX-License-Identifier: GPL-2.0-only
"""File systems of the guest's disk: chosen in an experiment, made in the guest."""

from __future__ import annotations

from pathlib import Path

import pytest

from mglru.core.errors import UsageError
from mglru.debian.packages import FILESYSTEMS, TEST
from mglru.experiment.filesystem import MKFS, check_kernels
from mglru.experiment.load import load_experiment
from mglru.guest.plan import PlanInputs, make_plan
from mglru.guest.steps import to_text
from mglru.source.kernel_id import KernelId

INPUTS = PlanInputs(
    program=lambda name: Path("/guest") / name, image=Path("/disk.img"), trace=None, seed=1,
    symbols=(), classic=False,
)  # fmt: skip


def plan(*settings: str) -> list[str]:
    return to_text(make_plan(load_experiment("read-twice", settings), INPUTS)).splitlines()


def test_ext4_is_the_image_and_nothing_is_copied() -> None:
    lines = plan()
    assert lines == plan("disk.filesystem=ext4")
    assert "mount\text4\t/dev/data\t/mnt/data" in lines
    assert not any("source" in line for line in lines)


@pytest.mark.parametrize("filesystem", ["xfs", "btrfs"])
def test_others_are_made_and_filled_before_anything_is_counted(filesystem: str) -> None:
    lines = plan(f"disk.filesystem={filesystem}")
    order = [
        "load\t/run/host/disk.img\t/dev/source",
        "\t".join(("step", "mkfs", "-", *MKFS[filesystem], "/dev/data")),  # type: ignore[index]
        "step\tcopy\t-\t/bin/cp\t-a\t/mnt/source/.\t/mnt/data",
        "umount\t/mnt/data",
        "undisk\tsource",
        f"mount\t{filesystem}\t/dev/data\t/mnt/data",
        "drop_caches",
        "counters\tbegin",
    ]
    # It is mounted twice: the last time counts.
    places = [len(lines) - 1 - lines[::-1].index(line) for line in order]
    assert places == sorted(places)


def test_a_slow_disk_has_it_too() -> None:
    lines = plan("disk.filesystem=xfs", "disk.write_delay_ms=50")
    assert lines.index("mount\txfs\t/dev/data\t/mnt/data") < lines.index("undisk\tsource")
    assert "mount\txfs\t/dev/mapper/slow\t/mnt/data" in lines


@pytest.mark.parametrize(
    ("name", "setting", "said"),
    [
        ("read-twice", "disk.filesystem=ntfs", "disk.filesystem"),
        ("pgbench", "disk.filesystem=xfs", "userland"),
        ("retain-stress", "disk.filesystem=xfs", "size_mb of 300"),
    ],
)
def test_what_cannot_be_is_refused(name: str, setting: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        load_experiment(name, [setting])


def test_the_digest_of_an_experiment_is_what_it_was_before_there_was_a_choice() -> None:
    plain = load_experiment("read-twice").sha256
    assert load_experiment("read-twice", ["disk.filesystem=ext4"]).sha256 == plain
    assert load_experiment("read-twice", ["disk.filesystem=xfs"]).sha256 != plain


def test_a_kernel_without_it_is_told_before_it_is_built() -> None:
    plain, able = KernelId.parse("6.12+next"), KernelId.parse("6.12+next%filesystems")
    check_kernels("ext4", [plain, able])
    check_kernels("xfs", [able, KernelId.parse("7.3%XFS_FS=y")])
    with pytest.raises(UsageError, match="has no btrfs") as caught:
        check_kernels("btrfs", [able, plain])
    assert "--kernels 6.12+next%filesystems," in caught.value.next_step


def test_accesses_are_recorded_on_ext4_only(tmp_path: Path) -> None:
    experiment = load_experiment("read-twice", ["disk.filesystem=xfs"])
    with pytest.raises(UsageError, match="recorded"):
        make_plan(experiment, PlanInputs(**{**vars(INPUTS), "recording": tmp_path}))


def test_the_tests_have_the_programs() -> None:
    assert {name for packages in FILESYSTEMS.values() for name in packages} <= TEST.keys()
