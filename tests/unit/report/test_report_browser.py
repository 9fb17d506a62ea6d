# SPDX-License-Identifier: GPL-2.0-only
"""The report's page in a real browser: at desktop and phone width, in light and in dark."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from mglru.core.paths import RESULTS
from mglru.report import page as pages
from mglru.report.inputs import load_inputs
from mglru.report.write import write
from support import report_inputs

NAMES = ("chromium", "chromium-browser", "google-chrome")
Scheme = Literal["light", "dark"]
DESKTOP, PHONE = (1280, 900), (390, 844)
RATIOS = "#experiment-ycsb-b-0-ratios"
LIMIT_MS = 180_000  # for one chart, on a busy machine
VIEWS: list[tuple[tuple[int, int], Scheme]] = [
    (DESKTOP, "light"),
    (DESKTOP, "dark"),
    (PHONE, "light"),
    (PHONE, "dark"),
]
# Elements that reach beyond the page's right edge, except inside of what scrolls by itself.
OVERFLOWING = """
[...document.querySelectorAll("body *")].filter((each) =>
    each.getBoundingClientRect().right > innerWidth + 1 && !each.closest(".scroll, nav, svg")
).map((each) => each.tagName + "#" + each.id + "." + each.className)
"""
# Charts that are wider than their place, or empty.
BAD_CHARTS = """
[...document.querySelectorAll(".plot")].filter((plot) => {
    const svg = plot.querySelector("svg");
    const marks = plot.querySelectorAll("[class*='mark-'] :is(path, line, text)");
    return !svg || marks.length < 4 || svg.getBoundingClientRect().width > plot.clientWidth + 1;
}).map((plot) => plot.id)
"""


@dataclass
class Seen:
    """What a page did that it should not have done, and what it looks like."""

    page: Page
    trouble: list[str] = field(default_factory=list)

    def ask(self, script: str) -> Any:
        return self.page.evaluate(script)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = next((found for name in NAMES if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip("no browser; `./mglru test` installs chromium")
    with sync_playwright() as playwright:
        # In containers and for root the browser's own sandbox does not work; the page is ours.
        chromium = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with every kind of chart."""
    target = tmp_path_factory.mktemp("report") / "page.html"
    page = pages.make_page(report_inputs.all_inputs(), title="every kind of chart")
    write(pages.render(page, target), target)
    return target


def visit(
    browser: Browser,
    target: Path,
    size: tuple[int, int] = DESKTOP,
    scheme: Scheme = "light",
    plots: str = ".plot",
) -> Seen:
    """Open a page, unfold all that is folded, and go to some charts from the top to the end."""
    page = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
    page.set_default_timeout(LIMIT_MS)
    seen = Seen(page)
    page.on("console", lambda message: seen.trouble.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: seen.trouble.append(f"error: {error}"))
    page.on("request", lambda request: seen.trouble.append(f"request: {request.url}"))
    page.goto(target.as_uri())
    seen.trouble.remove(f"request: {target.as_uri()}")
    seen.ask("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    for plot in page.locator(plots).all():
        plot.scroll_into_view_if_needed()
        page.wait_for_function(
            "(plot) => plot.dataset.state && plot.dataset.state !== 'drawing'",
            arg=plot.element_handle(),
        )
    return seen


def check(seen: Seen) -> None:
    assert seen.trouble == []
    assert seen.ask("[...document.querySelectorAll('.plot')].map((p) => p.dataset.state)") == [
        "drawn"
    ] * seen.ask("document.querySelectorAll('.plot').length")
    assert seen.ask(BAD_CHARTS) == []
    assert seen.ask("document.documentElement.scrollWidth <= innerWidth")
    assert seen.ask(OVERFLOWING) == []
    assert seen.ask("performance.getEntriesByType('resource').length") == 0


@pytest.mark.parametrize(("size", "scheme"), VIEWS, ids=str)
def test_every_chart_is_drawn_and_nothing_overflows(
    browser: Browser, sample: Path, size: tuple[int, int], scheme: Scheme
) -> None:
    seen = visit(browser, sample, size, scheme)
    check(seen)
    seen.page.close()


def test_the_committed_page_is_fit_for_a_phone(browser: Browser, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    page = pages.make_page(load_inputs([RESULTS]), title="all results")
    write(pages.render(page), target)
    seen = visit(browser, target, PHONE, "light")
    check(seen)
    seen.page.close()


def test_charts_follow_the_reader_from_light_to_dark(browser: Browser, sample: Path) -> None:
    seen = visit(browser, sample, plots=RATIOS)
    colours = f"""[
        getComputedStyle(document.documentElement).backgroundColor,
        getComputedStyle(document.querySelector("{RATIOS} .mark-rect path")).fill,
        getComputedStyle(document.querySelector("{RATIOS} .mark-text text")).fill,
    ]"""
    light = seen.ask(colours)
    seen.page.emulate_media(color_scheme="dark")
    dark = seen.ask(colours)
    assert all(one != other for one, other in zip(light, dark, strict=True))
    assert seen.trouble == []
    seen.page.close()


def test_a_bar_tells_its_figures(browser: Browser, sample: Path) -> None:
    seen = visit(browser, sample, plots=RATIOS)
    seen.page.locator(f"{RATIOS} .mark-rect path").nth(2).hover()
    tooltip = seen.page.locator("#vg-tooltip-element.visible")
    tooltip.wait_for()
    assert "6.12" in tooltip.inner_text()
    seen.page.close()


def test_wide_tables_scroll_inside_themselves(browser: Browser, sample: Path) -> None:
    seen = visit(browser, sample, PHONE, plots=RATIOS)
    table = "document.querySelector('#experiment-ycsb-b .scroll')"
    assert seen.ask(f"{table}.scrollWidth > {table}.clientWidth")
    assert seen.ask(f"{table}.clientWidth <= innerWidth")
    assert seen.ask(f"{table}.tabIndex") == 0  # so that keys can scroll it
    seen.page.close()


def test_a_chart_that_cannot_be_drawn_says_so(browser: Browser, tmp_path: Path) -> None:
    page = pages.make_page(report_inputs.all_inputs(), title="broken")
    broken = page.charts[0]
    broken.spec["layer"][0]["mark"] = {"type": "no such mark"}
    target = tmp_path / "page.html"
    write(pages.render(page), target)
    seen = visit(browser, target, plots=f"#{broken.key}")
    assert "could not be drawn" in seen.page.locator(f"#{broken.key}").inner_text()
    assert seen.trouble
    seen.page.close()
