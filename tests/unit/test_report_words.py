"""What a page says to a reader who is no statistician: summary, steps, terms, methods."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reported import (
    NOT_REFUTED,
    REFUTED,
    UNDECIDED,
    broken_inside,
    cannot_follow,
    not_refuted,
    not_refuted_in_batches,
    of_samples,
    refuted,
    refuted_in_batches,
    replayed,
    suspected,
    trained,
    trained_independently,
    undecided,
)

from dpaudit.claims import ZCDP, ApproxDP, Claim, GaussianDP, Profile, PureDP, RenyiDP
from dpaudit.report import (
    chance_in_words,
    claim_in_words,
    glossary_of,
    inside_page,
    linked,
    methods_of,
    one_in,
    pages,
    report_page,
    steps_of,
    summary_of,
    untested_by,
)
from dpaudit.report.formulas import mathml
from dpaudit.results import Audit, Null, Verdict

QUESTIONS = [
    "What was claimed",
    "What was found",
    "How sure that is",
    "What it means",
    "What it does not mean",
]
PARTS = ("summary", "tested", "untested", "evidence", "methods", "comes-from")
AUDITS: dict[str, Callable[[], Audit]] = {
    "refuted": refuted,
    "not refuted": not_refuted,
    "undecided": undecided,
    "batches": not_refuted_in_batches,
    "batches, refuted": refuted_in_batches,
    "suspected": suspected,
    "samples": of_samples,
    "replay": replayed,
    "training": trained,
    "independent canaries": trained_independently,
    "no event": lambda: replace(refuted(), counterexample=None, simplest=None),
    "nothing kept": lambda: replace(not_refuted(), history=(), strongest=None, outputs=()),
    "interrupted": lambda: replace(not_refuted(), interrupted=True),
}


def undrawn(audit: Audit, kind: Any) -> dict[str, Any]:
    """A figure without its picture, which takes long to draw: what it says."""
    return {"title": kind.title, "svg": kind.alt(audit), "caption": kind.caption(audit)}


@cache
def page_of(name: str) -> str:
    with mock.patch.object(pages, "figure_on_page", undrawn):
        return report_page(AUDITS[name]())


def plain(page: str) -> str:
    text = re.sub(r"<(style|svg|details).*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", text).replace("\xa0", " ").split())


def said(audit: Audit) -> str:
    """All sentences of a summary."""
    return " ".join(each for _, answer in summary_of(audit) for each in answer)


# --- the summary ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", AUDITS)
def test_a_summary_answers_every_question(name: str) -> None:
    summary = summary_of(AUDITS[name]())
    assert [question for question, _ in summary] == QUESTIONS
    assert all(answer for _, answer in summary)
    assert all(each.endswith((".", "!")) for _, answer in summary for each in answer)


def test_the_summary_of_a_refuted_audit_in_full() -> None:
    assert dict(summary_of(REFUTED)) == {
        "What was claimed": [
            "That clipped_sum keeps 1-DP. On any two neighbouring datasets, no outcome is more "
            "than e^1 = 2.72 times as likely on one as on the other."
        ],
        "What was found": [
            'On two neighbouring datasets, A and B, the outcome "output > 0.773" has a chance of '
            "at most 7.41\xa0% on B. So the claim allows it a chance of at most 20.2\xa0% on A. "
            "There it is at least 37.7\xa0%."
        ],
        "How sure that is": [
            "If the claim held, an audit like this would accuse it with probability at most "
            "1e-06: one in a million.",
            "That covers all of the audit: every pair, every outcome, and when it ended.",
            "The percentages are wrong with a chance of at most one in a million.",
        ],
        "What it means": [
            "The claim does not hold.",
            "Whoever sees the output can tell A from B better than was promised, so whoever "
            "relies on the claim has less protection than they believe.",
        ],
        "What it does not mean": [
            "Not that data of any person were disclosed.",
            "Not that epsilon is known exactly: what is certified is a lower bound, and the truth "
            "may be larger.",
        ],
    }


def test_the_summary_of_an_audit_that_is_not_refuted_in_full() -> None:
    assert dict(summary_of(NOT_REFUTED)[1:]) == {
        "What was found": [
            "No violation, in 300,000 draws on 24 pairs of datasets.",
            "Certified: at least epsilon\xa00.96\xa0leaks, and no smaller epsilon holds.",
        ],
        "How sure that is": [
            "Finding nothing proves nothing. The certified bound errs with a chance of at most "
            "one in a million.",
            "An epsilon of 1.1 or more on the strongest pair would have been refuted (an "
            "estimate).",
        ],
        "What it means": [
            "These pairs of datasets and these draws gave no reason to doubt the claim."
        ],
        "What it does not mean": [
            "This is not a proof of privacy: a pair that was not tried, or a smaller excess, may "
            "still break the claim."
        ],
    }


def test_the_summary_of_an_undecided_audit_in_full() -> None:
    assert dict(summary_of(UNDECIDED)[1:]) == {
        "What was found": [
            "The evidence leans against the claim: 1 in 5,430, where a refutation needs 1 in "
            "1,000,000.",
            "Certified: at least epsilon\xa00.97\xa0leaks, and no smaller epsilon holds.",
        ],
        "How sure that is": [
            "Not sure enough. A verdict would accuse a claim that holds with a chance of at most "
            "one in a million."
        ],
        "What it means": [
            "There is no conclusion, in either direction.",
            "About 41,000 more draws would decide it (an estimate).",
        ],
        "What it does not mean": [
            'It is neither a weak form of "refuted" nor of "not refuted": nothing was concluded.'
        ],
    }


def test_a_refuted_training_is_accused_of_no_more_than_was_tested() -> None:
    alone, both = said(trained()), said(trained_independently())
    assert "The claim does not hold. Whoever sees what is released" in alone
    assert "whatever the canaries of a run do to each other" in alone
    assert "The claim does not hold, or the canaries are not independent." in both
    assert "If the claim held and canaries were independent, such evidence" in both
    training = trained().training
    assert training is not None
    first = replace(training.deciding, null=Null.EVERY_STEP)
    steps = replace(trained(), training=replace(training, findings=(first,)))
    assert "The claim does not hold for every step." in said(steps)
    assert "If every step kept the claim, such evidence" in said(steps)


def test_an_event_within_the_claim_is_not_said_to_break_it() -> None:
    within = replace(REFUTED, claim=PureDP(1.7))
    assert "That alone stays within the claim; all draws together do not." in said(within)
    assert "the claim allows it" not in said(within)


@pytest.mark.parametrize("name", AUDITS)
def test_nobody_is_told_that_a_claim_holds(name: str) -> None:
    words = plain(page_of(name)).lower()
    assert "passed" not in words
    assert "is private" not in words
    if AUDITS[name]().verdict is Verdict.NOT_REFUTED:
        assert "this is not a proof of privacy" in words


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        (PureDP(0.0), "every outcome is exactly as likely"),
        (PureDP(900.0), "more than e^900 times as likely"),
        (ApproxDP(1.0, 1e-6), "e^1 = 2.72 times as likely on one as on the other, plus a"),
        (RenyiDP(2.0, 0.5), "the Rényi divergence of order 2 is at most 0.5."),
        (ZCDP(0.1), "of each order is at most 0.1 times the order."),
        (GaussianDP(1.5), "two bell curves of deviation 1 whose centres lie 1.5 apart."),
        (Profile(PureDP(1.0).delta, name="mine"), "the curve that names the delta for each"),
    ],
    ids=str,
)
def test_every_claim_is_said_in_words(claim: Claim, words: str) -> None:
    assert words in claim_in_words(claim)


# --- numbers --------------------------------------------------------------------------------------


@given(st.floats(0.0, 40.0))
def test_evidence_is_never_said_to_be_more_than_it_is(log_evidence: float) -> None:
    text = one_in(log_evidence)
    if text == "none":
        assert log_evidence < math.log(2.0)
        return
    digits = text.removeprefix("1 in ").replace(",", "")
    raised = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
    tens = digits.removeprefix("10").translate(raised)
    found = float(digits) if digits.isascii() else 10.0 ** int(tens)
    assert found <= math.exp(log_evidence) * (1.0 + 2e-12)
    assert found >= math.exp(log_evidence) / 11.0


def test_an_infinite_loss_is_evidence_without_limit() -> None:
    assert one_in(math.inf) == "without limit"


@given(st.floats(1e-12, 0.999))
def test_a_chance_in_words_is_never_less_than_the_chance(chance: float) -> None:
    text = chance_in_words(chance)
    named = {"one in a thousand": 1e3, "one in a million": 1e6, "one in a thousand million": 1e9}
    if text in named:
        times = named[text]
    elif text.startswith("1 in "):
        times = float(text.removeprefix("1 in ").replace(",", ""))
    else:
        times = 1.0 / float(text)
    assert 1.0 / times >= chance * (1.0 - 2e-12)


# --- how it was tested ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", AUDITS)
def test_a_page_has_its_parts_in_their_order(name: str) -> None:
    ids = re.findall(r'<h2 id="([^"]+)"', page_of(name))
    assert ids == list(PARTS)


@pytest.mark.parametrize("name", [*AUDITS, "inside", "cannot follow"])
def test_every_link_of_a_page_leads_somewhere_and_every_term_is_linked(name: str) -> None:
    inside = {"inside": broken_inside, "cannot follow": cannot_follow}
    page = inside_page(inside[name]()) if name in inside else page_of(name)
    links = set(re.findall(r'href="#([^"]+)"', page))
    assert links <= set(re.findall(r'\bid="([^"]+)"', page))
    terms = set(re.findall(r'<div id="(term-[^"]+)"', page))
    assert terms == {link for link in links if link.startswith("term-")}
    assert len(terms) >= 5
    assert "<math" in page


NOT_SAID = re.compile(r"\bnats?\b|\be-values?\b")


@pytest.mark.parametrize("name", AUDITS)
def test_no_page_asks_its_reader_to_know_nats_or_e_values(name: str) -> None:
    assert not NOT_SAID.search(plain(page_of(name)))


def test_no_page_of_an_audit_inside_does_either() -> None:
    bets = replace(broken_inside(), claim=ApproxDP(0.5, 1e-6), log_wealth=math.log(2e6))
    words = plain(inside_page(bets))
    assert "evidence of 1 in 2,000,000." in words
    for page in (words, plain(inside_page(broken_inside())), plain(inside_page(cannot_follow()))):
        assert not NOT_SAID.search(page)


@pytest.mark.parametrize("name", AUDITS)
def test_only_an_audit_that_bets_speaks_of_bets(name: str) -> None:
    audit = AUDITS[name]()
    steps = " ".join(plain(str(step)) for step in steps_of(audit))
    methods = " ".join(f"{each.title} {each.text}" for each in methods_of(audit))
    bets = audit.tester == "BettingTester" or name == "independent canaries"
    assert ("wealth" in steps) == bets
    if audit.training is None:
        assert ("wealth" in methods.lower()) == bets
    assert "was searched" not in steps or audit.is_replay


@pytest.mark.parametrize(
    "tester",
    ["HistogramTester", "HockeyStickTester", "RenyiTester", "MMDTester", "_Wrapped", "Mine"],
)
def test_every_batch_tester_has_its_method(tester: str) -> None:
    audit = replace(not_refuted_in_batches(), tester=tester)
    methods = methods_of(audit)
    own = tester in ("_Wrapped", "Mine")
    assert any("author" in each.text for each in methods) == own
    assert all(each.source for each in methods if not own)
    steps = " ".join(map(str, steps_of(audit)))
    assert tester in steps
    assert ("author of the tester" in steps) == own
    sure = said(replace(refuted_in_batches(), tester=tester))
    assert ("if the tester is what its author states" in sure) == own


@pytest.mark.parametrize(
    "claim",
    [PureDP(1.0), ApproxDP(1.0, 1e-6), RenyiDP(2.0, 0.5), ZCDP(0.1), GaussianDP(1.0)],
    ids=str,
)
def test_the_methods_of_every_claim_can_be_drawn(claim: Claim) -> None:
    for audit in (refuted(), not_refuted(), not_refuted_in_batches()):
        for each in methods_of(replace(audit, claim=claim)):
            assert all("<math" in formula for formula in each.html["formulas"])
            assert "$" not in each.html["text"]


def test_samples_in_hand_were_not_drawn_by_us() -> None:
    steps = plain(" ".join(map(str, steps_of(of_samples()))))
    assert "Two lists of outputs were given" in steps
    assert "mechanism ran" not in steps
    assert "how these samples were drawn" in " ".join(map(str, untested_by(of_samples())))


def test_the_rounding_of_floats_was_looked_at_or_not() -> None:
    real = " ".join(map(str, untested_by(refuted())))
    bits = " ".join(map(str, untested_by(replace(refuted(), floats="bits"))))
    assert "rounding of floats" in real
    assert "rounding of floats" not in bits


def test_terms_are_links_and_values_are_text() -> None:
    text = linked("[Pairs|pair] of {what}, [canaries].", what="[draw] <b>")
    assert str(text).startswith('<a href="#term-pair">Pairs</a> of [draw] &lt;b&gt;')
    assert [term for _, term, _ in glossary_of([text])] == ["canary", "pair"]
    with pytest.raises(KeyError, match="not in the glossary"):
        linked("[nothing like that]")


@pytest.mark.parametrize("tex", [r"\unknown", "{a", "a}", "a_", r"\frac{1}"])
def test_a_formula_that_cannot_be_read_is_refused(tex: str) -> None:
    with pytest.raises(ValueError, match=r"brace|known|early"):
        mathml(tex)
