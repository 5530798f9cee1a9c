"""`dpaudit report`: which audits are handed to the pages, where they go, and what can go wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from commands import error_line, run

import dpaudit
from dpaudit import report
from dpaudit.results import Audit, load


class Pages:
    """Stands in for the pages: writes the names of what it was given, and who audited."""

    def write_report(self, audit: Audit, path: Path, *, auditor: Any, purpose: Any) -> None:
        path.write_text(" ".join(filter(None, (audit.mechanism, auditor, purpose))))

    def write_suite(
        self,
        audits: Iterable[Audit],
        folder: Path,
        *,
        names: Sequence[str] = (),
        auditor: Any,
        purpose: Any,
    ) -> None:
        listed = ",".join(audit.mechanism for audit in audits)
        (folder / "index.html").write_text(" ".join(filter(None, (listed, auditor, purpose))))


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(report, "write_report", Pages().write_report)
    monkeypatch.setattr(report, "write_suite", Pages().write_suite)
    return report


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with audits of samples called one and two."""
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        outputs = [0.0, 1.0] * 25
        audit = dpaudit.compare_samples(outputs, outputs, dpaudit.PureDP(1), rng=1, name=name)
        audit.save(f"{name}.json")
    return tmp_path


@pytest.mark.usefixtures("pages")
def test_a_file_becomes_a_page_beside_it(here: Path) -> None:
    result = run("report", "one.json")
    assert (result.exit_code, result.output) == (0, "one.html\n")
    assert (here / "one.html").read_text() == "one"


@pytest.mark.usefixtures("pages")
def test_a_page_goes_where_it_is_told(here: Path) -> None:
    (here / "site").mkdir()
    assert run("report", "one.json", "-o", "page.html").output == "page.html\n"
    assert run("report", "one.json", "--output", "site").output == f"{Path('site') / 'one.html'}\n"
    assert (here / "page.html").read_text() == (here / "site" / "one.html").read_text() == "one"


@pytest.mark.usefixtures("pages")
def test_a_folder_becomes_a_suite(here: Path) -> None:
    assert run("report", ".").output == f"{Path('report') / 'index.html'}\n"
    assert (here / "report" / "index.html").read_text() == "one,two"
    assert run("report", ".", "-o", "deep/site").exit_code == 0
    assert (here / "deep" / "site" / "index.html").read_text() == "one,two"


@pytest.mark.usefixtures("pages")
def test_a_page_never_replaces_the_audit(here: Path) -> None:
    assert "is the audit itself" in error_line(run("report", "one.json", "-o", "./one.json"))
    assert load(here / "one.json").mechanism == "one"


@pytest.mark.usefixtures("pages")
def test_who_audited_and_why_reaches_the_pages(here: Path) -> None:
    said = ("--auditor", "Ada", "--purpose", "release 2")
    assert run("report", "one.json", *said).exit_code == 0
    assert run("report", ".", "-o", "site", *said).exit_code == 0
    assert (here / "one.html").read_text() == "one Ada release 2"
    assert (here / "site" / "index.html").read_text() == "one,two Ada release 2"


@pytest.mark.usefixtures("pages", "here")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("three.json",), "there is no file 'three.json'."),
        (("one.json", "-o", "no/page.html"), "--output: there is no folder"),
        ((".", "-o", "one.json"), "is a file; the pages of a folder need a folder"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(arguments: tuple[str, ...], words: str) -> None:
    assert words in error_line(run("report", *arguments))


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("path", ["one.json", "."])
def test_a_full_disk_is_said_in_a_line(pages: Any, path: str) -> None:
    def full(*arguments: Any, **more: Any) -> None:
        raise OSError(28, "No space left on device")

    pages.write_report = pages.write_suite = full
    assert "cannot be written: No space left on device." in error_line(run("report", path))


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("path", ["one.json", "."])
@pytest.mark.parametrize(
    "words", ["No module named 'jinja2'", "pages need jinja2: pip install 'dpaudit[report]'"]
)
def test_a_missing_extra_is_said_in_a_line(
    pages: Any, path: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*arguments: Any, **more: Any) -> None:
        raise ModuleNotFoundError(words)

    monkeypatch.setattr(pages, "write_report", missing)
    monkeypatch.setattr(pages, "write_suite", missing)
    line = error_line(run("report", path))
    assert "jinja2" in line
    assert line.count("pip install 'dpaudit[report]'") == 1
