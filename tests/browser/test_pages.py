"""Pages in a browser: no errors, nothing to scroll sideways, the verdict on the first screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from reported import (
    broken_inside,
    cannot_follow,
    not_refuted_in_batches,
    of_samples,
    of_words,
    refuted_in_batches,
    suspected,
    trained,
    trained_independently,
    verdicts,
)

from dpaudit.report import write_report, write_suite

SIZES = {"desktop": (1280, 800), "phone": (390, 844)}
VERDICTS = ("refuted", "not-refuted", "undecided", "broken-inside", "cannot-follow")
METHODS = ("batches", "batches-refuted", "suspected", "samples", "training", "independent-canaries")
NAMES = (*VERDICTS, *METHODS, "words", "suite/index")


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a page of each verdict, one of outputs that try to be markup, and a suite."""
    folder = tmp_path_factory.mktemp("pages")
    audits: dict[str, Any] = {**verdicts(), "words": of_words()}
    audits |= {"broken-inside": broken_inside(), "cannot-follow": cannot_follow()}
    audits |= {"batches": not_refuted_in_batches(), "batches-refuted": refuted_in_batches()}
    audits |= {"samples": of_samples(), "training": trained(), "suspected": suspected()}
    audits |= {"independent-canaries": trained_independently()}
    for name, audit in audits.items():
        write_report(audit, folder / f"{name}.html")
    write_suite(audits.values(), folder / "suite")
    return folder


def _open(browser: Any, page: Path, size: str, *, scripts: bool = True, dark: bool = False) -> None:
    width, height = SIZES[size]
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not scripts})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    browser.get_log("browser")  # what an earlier page left
    browser.get(page.as_uri())


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_a_page_fits_and_says_nothing_to_the_console(
    browser: Any, pages: Path, name: str, size: str, scripts: bool
) -> None:
    _open(browser, pages / f"{name}.html", size, scripts=scripts)
    metrics = browser.execute_cdp_cmd("Page.getLayoutMetrics", {})
    assert metrics["cssContentSize"]["width"] <= SIZES[size][0]
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", VERDICTS)
def test_the_verdict_is_on_the_first_screen(
    browser: Any, pages: Path, name: str, size: str
) -> None:
    _open(browser, pages / f"{name}.html", size)
    verdict = browser.find_element("css selector", ".verdict")
    assert verdict.text.strip().lower() == name.replace("-", " ")
    lead = browser.find_element("css selector", ".lead")
    assert lead.rect["y"] + lead.rect["height"] <= SIZES[size][1]


@pytest.mark.parametrize("name", [*VERDICTS, *METHODS])
def test_the_summary_fits_on_one_screen(browser: Any, pages: Path, name: str) -> None:
    _open(browser, pages / f"{name}.html", "desktop")
    summary = browser.find_element("css selector", ".summary")
    assert summary.rect["y"] + summary.rect["height"] <= SIZES["desktop"][1]


BROKEN = r"""
// Numbers and words that stand by themselves: names of files and functions may be broken, and of
// datasets what is wider than its cell.
const number = String.raw`[-+]?\d[\d,.]*e[-+]?\d+|[-+]?\d[\d,.]*\d|\d|[A-Za-z]+`;
const core = new RegExp(String.raw`(?<![\w./:<>-])(?:${number})(?![\w/:(<>]|\.\w)`, "g");
const found = [];
for (const cell of document.querySelectorAll("td, th, .facts dd")) {
  const style = getComputedStyle(cell);
  const room = cell.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  const parts = [];
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.nodeType === Node.TEXT_NODE) parts.push([node, node.data]);
    else if (node.tagName === "BR") parts.push([node, " "]);
  }
  const whole = parts.map(part => part[1]).join("");
  for (const match of whole.matchAll(core)) {
    const range = document.createRange();
    const start = match.index, end = match.index + match[0].length;
    let passed = 0;
    for (const [node, text] of parts) {
      const next = passed + text.length;
      if (passed <= start && start < next) range.setStart(node, start - passed);
      if (passed < end && end <= next) range.setEnd(node, end - passed);
      passed = next;
    }
    const boxes = [...range.getClientRects()].filter(box => box.width > 0);
    if (new Set(boxes.map(box => Math.round(box.bottom / 4))).size < 2) continue;
    const isWide = boxes.reduce((sum, box) => sum + box.width, 0) > room + 1;
    const inData = cell.matches(".pair td, .releases td, dd") || cell.querySelector("code, a");
    if (!isWide || !inData) found.push(match[0]);
  }
}
return found;
"""


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_no_cell_breaks_a_number_or_a_word_that_would_fit(
    browser: Any, pages: Path, name: str, size: str
) -> None:
    _open(browser, pages / f"{name}.html", size)
    assert browser.execute_script(BROKEN) == []


def test_the_test_of_broken_numbers_sees_one(browser: Any, pages: Path) -> None:
    _open(browser, pages / "refuted.html", "phone")
    cell = '<td style="word-break: break-all">123 1e-06, 123 1e-06, 123 1e-06, 123 1e-06</td>'
    table = f'<table style="width: 7em; table-layout: fixed"><tr>{cell}</tr></table>'
    browser.execute_script("document.querySelector('main').innerHTML = arguments[0]", table)
    assert browser.execute_script(BROKEN) != []


def test_what_users_wrote_does_nothing(browser: Any, pages: Path) -> None:
    _open(browser, pages / "words.html", "desktop")
    assert browser.find_elements("css selector", "script, main b") == []
    assert "<script>alert(1)</script>" in browser.find_element("css selector", "h1").text


def test_the_suite_leads_to_its_pages_and_back(browser: Any, pages: Path) -> None:
    _open(browser, pages / "suite" / "index.html", "desktop")
    browser.find_element("css selector", "tbody a").click()
    assert browser.find_element("css selector", ".verdict").text == "Refuted"
    browser.find_element("css selector", "nav a").click()
    assert browser.current_url.endswith("index.html")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", NAMES)
def test_axe_finds_no_serious_barrier(
    browser: Any, axe: str, pages: Path, name: str, dark: bool
) -> None:
    _open(browser, pages / f"{name}.html", "phone", dark=dark)
    browser.execute_script(axe)
    found = browser.execute_async_script("axe.run().then(arguments[arguments.length - 1])")
    assert [
        (violation["id"], violation["nodes"][0]["html"])
        for violation in found["violations"]
        if violation["impact"] in ("serious", "critical")
    ] == []
    assert len(found["passes"]) > 10


@pytest.mark.parametrize("name", VERDICTS)
def test_without_styles_the_page_still_fits(browser: Any, pages: Path, name: str) -> None:
    """What is left is plain HTML: figures keep to their place, and all words are there."""
    _open(browser, pages / f"{name}.html", "desktop")
    browser.execute_script("document.querySelector('head style').remove()")
    assert browser.find_element("css selector", "h1").is_displayed()
    for figure in browser.find_elements("css selector", "svg"):
        assert figure.rect["width"] <= SIZES["desktop"][0]
