# SPDX-License-Identifier: GPL-2.0-only
from __future__ import annotations

import pytest

from mglru.core.errors import ExitCode, UsageError
from mglru.source.kernel_id import KernelId, parse_list


@pytest.mark.parametrize(
    "name",
    [
        "6.12",
        "6.12@classic",
        "6.12+next",
        "6.12+next:7",
        "6.12+next:7%LRU_GEN=n@classic",
        "6.12%LRU_GEN=n,MEMCG=n",
        "6.12+next%debug",
        "7.3@classic",
    ],
)
def test_a_name_survives_reading_and_writing(name: str) -> None:
    assert str(KernelId.parse(name)) == name


@pytest.mark.parametrize(
    "name",
    ["", "6.13", "6.12+old", "6.12@", "7.3+next", "6.12+next:", "6.12%", "6.12@classic%debug"],
)
def test_a_bad_name_is_a_usage_error_with_a_next_step(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        KernelId.parse(name)
    assert caught.value.exit_code == ExitCode.USAGE
    assert caught.value.next_step


def test_a_list_keeps_the_options_of_one_kernel_together() -> None:
    kernels = parse_list("6.12@classic,6.12%LRU_GEN=n,MEMCG=n,debug,7.3")
    assert [str(kernel) for kernel in kernels] == [
        "6.12@classic",
        "6.12%LRU_GEN=n,MEMCG=n,debug",
        "7.3",
    ]


def test_a_kernel_cannot_be_compared_with_itself() -> None:
    with pytest.raises(UsageError, match="twice"):
        parse_list("6.12,6.12")


def test_classic_is_a_switch_of_the_run_and_not_another_build() -> None:
    assert KernelId.parse("6.12+next@classic").built == KernelId.parse("6.12+next")


def test_all_starts_of_a_series_share_a_name() -> None:
    names = {KernelId.parse(name).of_any_length for name in ("6.12+next:1", "6.12+next:7")}
    assert names == {"6.12+next:N"}
    assert KernelId.parse("6.12+next%LRU_GEN=n").of_any_length == "6.12+next%LRU_GEN=n"
