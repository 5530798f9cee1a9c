"""Pages on paper: whole pages, none nearly empty, whatever the audit."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from reported import (
    broken_inside,
    cannot_follow,
    not_refuted,
    not_refuted_in_batches,
    of_samples,
    of_words,
    refuted,
    refuted_in_batches,
    suspected,
    trained,
    trained_independently,
    undecided,
)

from dpaudit.report import as_pdf, write_report, write_suite

AUDITS: dict[str, Any] = {
    "refuted": refuted,
    "not-refuted": not_refuted,
    "undecided": undecided,
    "broken-inside": broken_inside,
    "cannot-follow": cannot_follow,
    "batches": not_refuted_in_batches,
    "batches-refuted": refuted_in_batches,
    "suspected": suspected,
    "samples": of_samples,
    "training": trained,
    "independent-canaries": trained_independently,
    "words": of_words,
}
PAPER = {"A4": (8.27, 11.69), "letter": (8.5, 11.0)}  # inches
DOTS = 20  # an inch
MIN_FILLED = 0.25  # of the height of every page: down to where anything is printed


def pages_of(pdf: Path, pdftoppm: str) -> list[npt.NDArray[np.uint8]]:
    """The pages of a PDF as grey pictures."""
    command = [pdftoppm, "-gray", "-r", str(DOTS), str(pdf)]
    drawn = subprocess.run(command, capture_output=True, check=True).stdout
    found = []
    while drawn:
        _, size, _, drawn = drawn.split(b"\n", 3)
        width, height = map(int, size.split())
        page = np.frombuffer(drawn[: width * height], dtype=np.uint8).reshape(height, width)
        found.append(page)
        drawn = drawn[width * height :]
    return found


def filled(page: npt.NDArray[np.uint8]) -> float:
    """The share of a page's height down to which anything is printed."""
    rows = np.flatnonzero((page < 200).any(axis=1))
    return 0.0 if len(rows) == 0 else float(rows[-1] + 1) / len(page)


def printed(browser: Any, paper: str, folder: Path, pdftoppm: str) -> list[npt.NDArray[np.uint8]]:
    """The page that is open, as the browser prints it."""
    width, height = PAPER[paper]
    size = {"paperWidth": width, "paperHeight": height}
    said = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True, **size})
    pdf = folder / "page.pdf"
    pdf.write_bytes(base64.b64decode(said["data"]))
    return pages_of(pdf, pdftoppm)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("printed")
    audits = {name: make() for name, make in AUDITS.items()}
    for name, audit in audits.items():
        write_report(audit, folder / f"{name}.html", auditor="Ada Lovelace", purpose="release 2.1")
    write_suite([*audits.values()] * 4, folder / "suite")
    return folder


@pytest.mark.parametrize("paper", PAPER)
@pytest.mark.parametrize("name", [*AUDITS, "suite/index"])
def test_no_printed_page_is_nearly_empty(
    browser: Any, program: Any, made: Path, tmp_path: Path, name: str, paper: str
) -> None:
    browser.get((made / f"{name}.html").as_uri())
    pages = printed(browser, paper, tmp_path, program("pdftoppm"))
    assert 1 <= len(pages) <= 9
    assert [round(filled(page), 2) for page in pages if filled(page) < MIN_FILLED] == []


@pytest.mark.parametrize("paper", PAPER)
def test_no_suite_of_any_length_ends_on_a_nearly_empty_page(
    browser: Any, program: Any, made: Path, tmp_path: Path, paper: str
) -> None:
    """More than a page of lines, one fewer each time: the last page ends anywhere."""
    browser.get((made / "suite" / "index.html").as_uri())
    least = []
    for left in range(len(AUDITS) * 4, 12, -1):
        pages = printed(browser, paper, tmp_path, program("pdftoppm"))
        least.append((round(min(map(filled, pages)), 2), left))
        browser.execute_script("document.querySelector('.suite tbody tr:last-child').remove()")
    assert [each for each in least if each[0] < MIN_FILLED] == []


def test_an_empty_page_would_be_seen() -> None:
    page = np.full((100, 80), 255, dtype=np.uint8)
    assert filled(page) == 0.0
    page[9, 5] = 0
    assert filled(page) == 0.1


@pytest.mark.usefixtures("browser")  # it takes seconds, so only where pages are tested
def test_a_real_browser_prints_a_page_that_says_what_the_page_says(
    program: Any, tmp_path: Path
) -> None:
    program("chromium", "google-chrome")
    write_report(refuted(), tmp_path / "audit.pdf")
    assert [path.name for path in tmp_path.iterdir()] == ["audit.pdf"]
    assert len(pages_of(tmp_path / "audit.pdf", program("pdftoppm"))) >= 3
    command = [program("pdftotext"), "-layout", str(tmp_path / "audit.pdf"), "-"]
    text = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    for words in ("Refuted", "How this was tested", "Methods and sources", "noisy_sum is not"):
        assert words in text


def test_half_a_character_can_be_printed(program: Any, tmp_path: Path) -> None:
    program("chromium", "google-chrome")
    assert as_pdf("<p>\ud800</p>", beside=tmp_path / "page.pdf").startswith(b"%PDF-")
