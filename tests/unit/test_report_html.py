"""Pages can be read by anyone: whole, escaped, small, headings in order, figures in words."""

from __future__ import annotations

import builtins
import itertools
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reported import (
    NASTY,
    noisy_sum,
    not_refuted,
    of_words,
    refuted,
    suspected,
    verdicts,
)

import dpaudit
from dpaudit.neighbours import Pair
from dpaudit.report import headline, notebook_cell, report_page, write_suite
from dpaudit.results import Audit, Evidence, PairRecord, audit_from_json

VOID = {"meta", "link", "br", "path", "use", "rect"}


@dataclass
class Element:
    name: str
    attributes: dict[str, str | None]
    text: str = ""
    inside: list[Element] = field(default_factory=list)

    def all(self, name: str) -> Iterator[Element]:
        for element in self.inside:
            if element.name == name:
                yield element
            yield from element.all(name)

    def said(self) -> str:
        return " ".join([self.text, *(element.said() for element in self.inside)])


class Reader(HTMLParser):
    """Reads a page into elements, and refuses one whose tags do not close."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Element("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs))
        self.open[-1].inside.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].inside.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop().name == tag

    def handle_data(self, data: str) -> None:
        self.open[-1].text += data


def read(page: str) -> Element:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert len(reader.open) == 1
    return reader.root


@cache
def page_of(name: str) -> str:
    """The page of an audit with this verdict; drawing takes most of a second."""
    return report_page(verdicts()[name])


def squeezed(text: str) -> str:
    return " ".join(text.split())


# --- one page -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", verdicts())
def test_the_verdict_comes_first_in_the_words_of_the_text(name: str) -> None:
    audit = verdicts()[name]
    page = read(page_of(name))
    [header] = page.all("header")
    said = squeezed(header.said())
    assert audit.verdict.value.capitalize() in said
    finding = headline(audit).split(": ", 1)[1].rpartition(" (")[0]
    assert finding.replace(">=", "≥") in said.replace("\xa0", " ")


@pytest.mark.parametrize("name", verdicts())
def test_a_page_is_fit_for_screen_readers(name: str) -> None:
    page = read(page_of(name))
    [root] = page.all("html")
    assert root.attributes["lang"] == "en"
    assert [len(list(page.all(landmark))) for landmark in ("header", "main", "footer")] == [1, 1, 1]
    headings = re.findall(r"<h(\d)", page_of(name))
    levels = [int(level) for level in headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    for cell in page.all("th"):
        assert cell.attributes["scope"] in ("col", "row")
    for table in page.all("table"):
        assert len(list(table.all("caption"))) == 1
    figures = list(page.all("svg"))
    assert len(figures) >= 4
    for figure in figures:
        assert figure.attributes["role"] == "img"
        assert len(figure.attributes["aria-label"] or "") > 40
    ids = re.findall(r'\bid="([^"]+)"', page_of(name))
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", verdicts())
def test_a_page_needs_nothing_else(name: str) -> None:
    page = page_of(name)
    assert not re.search(r"(src|href)=\"(?!#|data:,)", page)
    assert "@import" not in page
    assert "<script" not in page
    assert not re.search(r"url\((?!#)", page)


def test_the_page_of_a_refuted_audit_has_all_that_shows_it() -> None:
    audit = refuted()
    found = audit.counterexample
    assert found is not None
    said = squeezed(read(page_of("refuted")).said()).replace("\xa0", " ")
    for text in (
        found.event,
        "likelier on A",
        f"{found.data.hits:,}",
        "def happened(output):",
        "changed",
        "would accuse it with probability at most 1e-06",
        audit.neighbours,
        f"rng={audit.rng_seed}",
        str(found.seed),
        "its event is counted again on fresh draws",
        '"schema": 8',
    ):
        assert text in said, text


def test_a_page_that_refutes_nothing_does_not_say_that_the_claim_holds() -> None:
    for name in ("not-refuted", "undecided"):
        said = squeezed(read(page_of(name)).said()).lower()
        assert "passed" not in said
        assert "is private" not in said
    said = squeezed(read(page_of("not-refuted")).said())
    assert "This is not a proof of privacy" in said
    assert "would have been refuted (an estimate)" in said
    assert "12,000 more draws would decide it" in page_of("undecided")


def test_what_was_not_recorded_is_said_or_left_out() -> None:
    bare = replace(
        not_refuted(),
        evidence=Evidence(trace=(), log_wealth=-np.inf, peak=0.0),
        strongest=None,
        history=(),
        outputs=(),
        detectable=None,
    )
    page = read(report_page(bare))
    assert "No outputs were kept with this audit." in page.said()
    assert "There is no estimate of what would have been detected." in page.said()
    assert len(list(page.all("svg"))) == 3


def test_a_refutation_without_an_event_has_a_page() -> None:
    page = read(report_page(replace(refuted(), counterexample=None, simplest=None)))
    assert "All draws together refute the claim; no single event was certified." in page.said()


@pytest.mark.parametrize(
    ("claim", "name"),
    [
        (dpaudit.PureDP(0.0), "refuted"),
        (dpaudit.ApproxDP(1.0, 1e-6), "not-refuted"),
        (dpaudit.RenyiDP(2.0, 0.5), "refuted"),
        (dpaudit.ZCDP(0.1), "refuted"),
        (dpaudit.GaussianDP(1.0), "not-refuted"),
        (dpaudit.Profile(dpaudit.PureDP(1.0).delta, name="mine"), "refuted"),
        (dpaudit.Profile(dpaudit.PureDP(1.0).delta, name="mine"), "not-refuted"),
    ],
    ids=str,
)
def test_every_kind_of_claim_has_a_page(claim: dpaudit.claims.Claim, name: str) -> None:
    bound = None if isinstance(claim, dpaudit.Profile) else 0.4
    page = read(report_page(replace(verdicts()[name], claim=claim, lower_bound=bound)))
    assert str(claim) in page.said()


def test_samples_in_hand_and_batch_testers_have_a_page() -> None:
    noise = np.random.default_rng(0).laplace(size=(2, 4000))
    claim, tester = dpaudit.PureDP(1.0), dpaudit.testers.HistogramTester()
    for one in (None, tester):
        found = dpaudit.compare_samples(noise[0] + 3.0, noise[1], claim, tester=one, rng=7)
        page = report_page(found)
        assert "there are no datasets to show" in page
        assert "its event is counted again" not in page
    pairs = dpaudit.pairs([([1.0], [0.5]), ([1.0], [0.9])])
    kept = dpaudit.audit(noisy_sum, claim, pairs, tester=tester, rng=7, samples=20_000)
    assert kept.verdict is dpaudit.Verdict.NOT_REFUTED
    assert "No outputs were kept with this audit." in report_page(kept)


@pytest.mark.parametrize("schema", [1, 2, 3])
def test_audits_of_older_files_have_a_page(schema: int) -> None:
    saved: dict[str, Any] = {**refuted().to_json(), "schema": schema}
    del saved["delta_lower"]
    for found in (saved, saved["counterexample"], saved["simplest"] or {}):
        found.pop("outputs", None)
        if schema < 3:
            found.pop("rule", None)
    if schema == 1:
        del saved["simplest"], saved["tester"]
    page = report_page(audit_from_json(saved))
    assert "No outputs were kept with this audit." in page
    assert ("def happened" in page) == (schema == 3)


# --- what users wrote -----------------------------------------------------------------------------


def test_what_users_wrote_is_text_and_nothing_else() -> None:
    audit = replace(
        of_words(),
        neighbours=NASTY,
        warnings=(NASTY,),
        tester=NASTY,
        claim=dpaudit.Profile(dpaudit.PureDP(0.5).delta, name=NASTY),
        lower_bound=None,
    )
    assert audit.verdict is dpaudit.Verdict.REFUTED
    for html in (report_page(audit), notebook_cell(audit)):
        page = read(html)
        assert not list(page.all("script"))
        assert not list(page.all("b"))
        assert NASTY in page.said()


def test_names_in_the_index_are_text_and_nothing_else(tmp_path: Path) -> None:
    index = write_suite([of_words()], tmp_path).read_text(encoding="utf-8")
    assert not list(read(index).all("script"))
    assert NASTY in read(index).said()


def test_half_a_character_does_not_stop_a_page(tmp_path: Path) -> None:
    replace(refuted(), mechanism="\ud800 é 日本").report(tmp_path / "page.html")
    assert "é 日本" in (tmp_path / "page.html").read_text(encoding="utf-8")


# --- how large ------------------------------------------------------------------------------------


def _large() -> Audit:
    data = np.arange(10_000) / 7.0
    pair = Pair(data, np.delete(data, 5_000))
    audit = refuted()
    assert audit.counterexample is not None
    found = replace(audit.counterexample, pair=pair)
    history = tuple(
        PairRecord(pair=pair, samples=100 + n, log_wealth=-n / 7.0, growth=-n / 700.0)
        for n in range(300)
    )
    history += tuple(
        PairRecord(pair=Pair([n / 7.0], []), samples=n, log_wealth=-0.1, growth=-1e-3)
        for n in range(1_700)
    )
    trace = tuple((100 * n, 9.0 * float(np.sin(n / 30.0))) for n in range(1_000))
    return replace(
        audit,
        mechanism="long name " * 1_000,
        counterexample=found,
        simplest=found,
        strongest=history[0],
        history=history,
        evidence=Evidence(trace=trace, log_wealth=20.0, peak=20.0),
        warnings=('"quoted" ' * 1_000,) * 100,
    )


def test_a_page_stays_small_whatever_was_searched(tmp_path: Path) -> None:
    _large().report(tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size < 500_000
    assert max(len(page_of(name)) for name in verdicts()) < 250_000


def test_the_same_audit_gives_the_same_page() -> None:
    assert report_page(refuted()) == page_of("refuted")


# --- suites and notebooks -------------------------------------------------------------------------


def test_a_suite_links_a_page_for_each_audit(tmp_path: Path) -> None:
    index = write_suite(verdicts().values(), tmp_path / "new" / "folder")
    page = read(index.read_text(encoding="utf-8"))
    links = [link.attributes["href"] or "" for link in page.all("a")]
    assert links == ["001-noisy-sum.html", "002-noisy-sum.html", "003-noisy-sum.html"]
    for link in links:
        audit = read((index.parent / link).read_text(encoding="utf-8"))
        assert "index.html" in [one.attributes["href"] for one in audit.all("a")]
    said = squeezed(page.said())
    assert "3 audits: 1 refuted, 1 not refuted, 1 undecided." in said
    assert "2-DP" in said
    assert f"{refuted().samples:,}" in said


def test_a_suite_adds_up_only_the_chances_that_are_proved(tmp_path: Path) -> None:
    def index_of(*audits: Audit) -> str:
        return squeezed(re.sub("<[^>]+>", "", write_suite(audits, tmp_path).read_text("utf-8")))

    assert "added up: 2e-06. What" in index_of(refuted(), refuted())
    assert "added up: 2e-06. Audits by testers" in index_of(refuted(), suspected(), refuted())
    assert "added up" not in index_of(suspected())


def test_a_suite_without_audits_is_an_index(tmp_path: Path) -> None:
    assert "0 audits" in write_suite([], tmp_path).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", verdicts())
def test_a_notebook_shows_the_verdict_and_figures(name: str) -> None:
    audit = verdicts()[name]
    cell = read(audit._repr_html_())
    assert audit.verdict.value.capitalize() in cell.said()
    assert len(list(cell.all("svg"))) == 2


# --- without the extra ----------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["jinja2", "matplotlib"])
def test_a_missing_package_is_named(
    missing: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    audit = of_words()
    text = str(audit)
    plain = builtins.__import__

    def refuse(name: str, *args: Any, **options: Any) -> Any:
        if name.partition(".")[0] == missing:
            raise ImportError(f"no {name}")
        return plain(name, *args, **options)

    for name in [name for name in sys.modules if name.partition(".")[0] == missing]:
        monkeypatch.setitem(sys.modules, name, None)  # as Python marks what cannot be imported
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=rf"{missing}.*pip install 'dpaudit\[report\]'"):
        audit.report(tmp_path / "page.html")
    assert not list(tmp_path.iterdir())
    if missing == "matplotlib":
        with pytest.raises(ImportError, match=r"pip install 'dpaudit\[report\]'"):
            audit.plot.curve()
    cell = read(audit._repr_html_())
    [pre] = cell.all("pre")
    assert pre.text == text
