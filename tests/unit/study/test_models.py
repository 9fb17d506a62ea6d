# SPDX-License-Identifier: GPL-2.0-only
"""mglru bound --policy: models of policies in C, on patterns and traces."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mglru.core.errors import LabError, UsageError
from mglru.study.bound import models, models_table
from mglru.study.bound.models import Misses
from mglru.study.bound.simulate import write_requests

CACHE = 1024
BATCH = 32


def misses(found: list[Misses]) -> dict[str, int]:
    return {one.policy: one.misses for one in found}


def test_a_set_that_fits_is_read_once_by_all() -> None:
    found = models.simulate(["adaptive", "yield"], ["set0.5"], [CACHE], "train")
    assert [one.accesses for one in found] == [8 * CACHE // 2] * 4
    assert misses(found) == dict.fromkeys(("lru", "classic", "adaptive", "yield"), CACHE // 2)


def test_a_loop_that_does_not_fit_is_read_each_time_by_lru() -> None:
    found = models.simulate(["adaptive"], ["loop1.5"], [CACHE], "train")
    assert misses(found)["lru"] == 30 * CACHE * 3 // 2
    assert misses(found)["adaptive"] < misses(found)["lru"] // 2


def test_lru_on_a_trace_evicts_32_at_a_time(tmp_path: Path) -> None:
    pages = np.random.default_rng(1).integers(0, 200, 5000)
    write_requests(tmp_path / "trace", pages)
    cache: dict[int, None] = {}
    missed = []
    for page in pages:
        missed.append(page not in cache)
        if cache.pop(page, 0) == 0 and len(cache) == 100:
            for old in list(cache)[:BATCH]:
                del cache[old]
        cache[page] = None
    found = models.simulate(["lru"], [f"{tmp_path / 'trace'}:100:3000"], [], "train")
    assert misses(found)["lru"] == sum(missed[-3000:])
    assert (found[0].pattern, found[0].capacity_pages) == ("trace:100:3000", 100)


def test_a_policy_from_a_file_is_compiled_and_run(tmp_path: Path) -> None:
    file = tmp_path / "mine.c"
    file.write_text((models.POLICIES / "lru.c").read_text().replace('"lru"', '"mine"'))
    found = misses(models.simulate([str(file)], ["zipf"], [CACHE], "train"))
    assert found["mine"] == found["lru"]


def test_what_is_read_ahead_comes_in_when_the_trace_says_so_and_is_no_use(tmp_path: Path) -> None:
    pages = np.array([*range(200), *range(100), *range(200)])
    ahead = np.arange(len(pages)) < 200
    write_requests(tmp_path / "trace", pages, ahead)
    trace = f"{tmp_path / 'trace'}:100:{len(pages)}"
    found = misses(models.simulate(["series", "rates"], [trace]))
    # 200 arrive, of which 100 are gone before they are used.
    assert all(300 <= number <= 500 for number in found.values())
    assert misses(models.simulate(["hazard"], [trace]))["hazard"] >= 200


def test_who_knows_the_rates_is_best_where_each_access_is_independent() -> None:
    found = misses(models.simulate(["rates", "hazard", "adaptive", "series"], ["zipf"], [CACHE]))
    assert found["rates"] < found["adaptive"] < found["series"] < found["lru"]
    assert found["hazard"] < found["adaptive"]


def test_the_series_lets_a_lagged_reader_follow() -> None:
    found = misses(models.simulate(["series"], ["lag0.5"], [CACHE]))
    assert found["series"] < 0.6 * found["lru"]


@pytest.mark.parametrize(
    ("policies", "patterns", "message"),
    [
        (["nix"], [], "policy unknown"),
        (["yield:tu"], ["zipf"], "no such parameter"),
        (["yield:nix=1"], ["zipf"], "no such parameter"),
        (["lru"], ["quark"], "no such pattern"),
        (["lru"], ["/nowhere:100:100"], "no such trace"),
        (["/nowhere.c"], ["zipf"], "cannot read"),
    ],
)
def test_bad_names_are_said(policies: list[str], patterns: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        models.simulate(policies, patterns, [CACHE], "train")


def test_a_policy_that_does_not_compile_shows_the_compilers_messages(tmp_path: Path) -> None:
    file = tmp_path / "broken.c"
    file.write_text("int\n")
    with pytest.raises(LabError, match="build the simulator") as caught:
        models.simulate([str(file)], ["zipf"], [CACHE], "train")
    assert any("broken.c" in line for line in caught.value.log_tail)


def test_the_table_marks_harm_to_the_better_of_lru_and_classic() -> None:
    found = [
        Misses("zipf", CACHE, policy, 1000, number)
        for policy, number in (("lru", 100), ("classic", 80), ("mine", 90), ("other", 81))
    ]
    text = models_table.render(found)
    assert "0.900!" in text
    assert "0.810" in text and "0.810!" not in text
    assert "1.125" in text
