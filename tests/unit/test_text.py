"""The text of an audit, whole, as a user reads it."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from reported import AUDITS, NOT_REFUTED, REFUTED, UNDECIDED, with_event

from dpaudit.claims import ZCDP, ApproxDP, Claim, GaussianDP, PureDP
from dpaudit.neighbours import Pair
from dpaudit.report import failure, render
from dpaudit.results import Evidence, PairRecord


def test_a_refuted_audit_in_full() -> None:
    assert (
        render(REFUTED)
        == """\
REFUTED: clipped_sum is not 1-DP: epsilon >= 1.8 (alpha = 1e-06)

  A = [1.0]
  B = [-1.0]
  event       output > 0.773 (likelier on A)

  on A        4,012 of 10,000 draws: probability at least 0.377
  on B          641 of 10,000 draws: probability at most 0.0741

  The claim allows at most e^1 = 2.72 times.
  Seen: at least 5.1 times, so by this event alone at least
  epsilon 1.63 leaks.
  If the claim held, an audit like this would accuse it with probability
  at most 1e-06.

  searched    replace one of at most 5 records of floats(-1, 1);
              1 pair tried
  cost        44,000 draws, 1.2 s
  seed        7; the event's draws: (7, 0, 3)"""
    )


def test_the_message_of_a_failed_test_in_full() -> None:
    """The verdict in other words, what an audit says after it, and what to do."""
    _, shown = render(REFUTED).split("\n\n", 1)
    assert failure(REFUTED).split("\n") == [
        "clipped_sum is not 1-DP: epsilon >= 1.8",
        "",
        *shown.split("\n"),
        "",
        "  replay      rng=7 makes the same audit again",
        "  pin         @dpaudit.example([1.0], [-1.0]) on the test tries this",
        "              pair first, every time",
    ]


def test_the_message_of_a_failed_test_without_an_event_or_with_long_data() -> None:
    alone = failure(replace(REFUTED, counterexample=None))
    assert "no single event was certified" in alone
    assert "@dpaudit.example([1.0], [-1.0])" in alone  # the strongest pair
    nothing = failure(replace(REFUTED, counterexample=None, strongest=None))
    assert "example" not in nothing
    long = Pair(np.arange(100.0), np.arange(99.0))
    record = PairRecord(pair=long, samples=1, log_wealth=0.0, growth=0.0)
    text = failure(replace(REFUTED, counterexample=None, strongest=record))
    assert "these lines on the test try this pair first, every time:\n    @dpaudit.example(" in text
    assert "98.0, 99.0,\n        ],\n" in text  # all of it, not elided
    assert max(map(len, text.splitlines())) <= 72
    longer = Pair(np.arange(5000.0), np.arange(4999.0))
    record = PairRecord(pair=longer, samples=1, log_wealth=0.0, growth=0.0)
    text = failure(replace(REFUTED, counterexample=None, strongest=record))
    assert "cannot be pinned by a line to paste: its datasets are too long" in " ".join(
        text.split()
    )
    within = failure(replace(REFUTED, lower_bound=None))
    assert within.startswith("clipped_sum is not 1-DP: epsilon > 1\n")


def test_a_not_refuted_audit_in_full() -> None:
    assert (
        render(NOT_REFUTED)
        == """\
NOT REFUTED: laplace_count, claimed 1-DP: at least epsilon 0.96 leaks
  (certified, alpha = 1e-06)

  This is not a proof of privacy: a pair that was not tried, or a
  smaller excess, may still break the claim.

  The strongest pair:
  A = [1.0]
  B = []
  certified   at least epsilon 0.96 leaks: no smaller epsilon holds
  detectable  an epsilon of 1.1 or more on this pair would have been
              refuted (an estimate)

  searched    add or remove one of at most 6 records of floats(0, 1);
              24 pairs tried
  cost        300,000 draws, 1 min 23 s
  seed        7"""
    )


def test_an_undecided_audit_in_full() -> None:
    assert (
        render(UNDECIDED)
        == """\
UNDECIDED: laplace_count, claimed 1-DP: at least epsilon 0.97 leaks
  (certified so far, alpha = 1e-06)

  The evidence leans against the claim: e-value 5.43e+03, where a
  refutation needs 1e+06.
  About 41,000 more draws would decide it (an estimate).

  The strongest pair:
  A = [1.0]
  B = []

  searched    add or remove one of at most 6 records of floats(0, 1);
              24 pairs tried
  cost        300,000 draws, 1 min 23 s
  seed        7"""
    )


def test_an_event_that_is_likelier_on_the_neighbour() -> None:
    assert REFUTED.counterexample is not None
    audit = with_event(
        REFUTED,
        likelier="neighbour",
        data=REFUTED.counterexample.neighbour,
        neighbour=REFUTED.counterexample.data,
    )
    assert """\
  event       output > 0.773 (likelier on B)

  on A          641 of 10,000 draws: probability at most 0.0741
  on B        4,012 of 10,000 draws: probability at least 0.377
""" in render(audit)


def test_a_claim_with_a_delta_says_so() -> None:
    audit = with_event(replace(REFUTED, claim=ApproxDP(1, 1e-5)), delta=1e-5)
    assert """\
  The claim allows at most e^1 = 2.72 times (plus delta = 1e-05).
  Seen: at least 5.1 times (less delta), so by this event alone at least
  epsilon 1.63 leaks at delta = 1e-05.
""" in render(audit)


def test_a_claim_without_one_ratio_compares_probabilities() -> None:
    audit = with_event(
        replace(REFUTED, claim=GaussianDP(1), lower_bound=1.135),
        delta=0.05,
        epsilon_lower=math.log((0.37774 - 0.05) / 0.07401),
    )
    assert render(audit).startswith(
        "REFUTED: clipped_sum is not 1-GDP: mu >= 1.13 (alpha = 1e-06)\n"
    )
    # N(1, 1) has at most 0.328 above the point that N(0, 1) passes with probability 0.07401
    assert """\
  With at most 0.0741 on B, the claim allows at most 0.328 on A.
  Seen: at least 0.377, so by this event alone mu is at least 1.13 (at
  least epsilon 1.48 leaks at delta = 0.05).
""" in render(audit)


@pytest.mark.parametrize("claim", [PureDP(2), ApproxDP(2, 0.01), GaussianDP(2), ZCDP(2)], ids=str)
def test_an_event_within_the_claim_is_not_passed_off_as_its_refutation(claim: Claim) -> None:
    weak = "It stays within the claim; all draws together do not."
    assert weak in render(replace(REFUTED, claim=claim))
    assert weak not in render(REFUTED)


def test_a_refutation_without_an_event_says_so() -> None:
    text = render(replace(REFUTED, counterexample=None))
    assert "All draws together refute the claim; no single event was certified." in text
    assert "The strongest pair:\n  A = [1.0]\n" in text


def test_an_event_without_fresh_draws_has_no_seed() -> None:
    assert render(with_event(REFUTED, seed=())).endswith("\n  seed        7")


def test_an_interrupted_audit_says_so() -> None:
    for audit in AUDITS:
        assert "Interrupted: this is what was found until then." in render(
            replace(audit, interrupted=True)
        )
        assert "nterrupt" not in render(audit)


def test_warnings_are_listed_but_do_not_flood() -> None:
    warnings = tuple(f"number {each}: " + "careful " * 50 for each in range(5))
    text = render(replace(NOT_REFUTED, warnings=warnings))
    assert "  warning     number 0: careful careful" in text
    assert "number 2" in text
    assert "number 3" not in text
    assert text.endswith("\n              and 2 more warnings")
    assert len(text.splitlines()) < 35


def test_too_few_draws_are_said_with_those_needed() -> None:
    poor = Evidence(trace=(), log_wealth=-math.inf, peak=0.0)
    none: dict[str, Any] = {"evidence": poor, "strongest": None, "history": ()}
    text = render(replace(UNDECIDED, **none, forecast=88))
    assert (
        "Too few draws for a verdict: no pair got more than 0. Even a total leak would need about "
        "44 draws on a pair, so a verdict takes at least 88 on one. "
        "About 88 more draws on one pair would decide it (an estimate)."
    ) in " ".join(text.split())
    assert "strongest" not in text
    assert "leans" not in text
    text = render(replace(UNDECIDED, **none, claim=PureDP(2_000.0), forecast=None))
    assert (
        "The claim allows so much that no number of draws could refute it. "
        "More draws may decide it."
    ) in " ".join(text.split())


def test_no_epsilon_is_detectable_under_a_claim_with_a_delta() -> None:
    assert "detectable" in render(NOT_REFUTED)
    assert "detectable" in render(replace(NOT_REFUTED, claim=ApproxDP(1, 0)))
    assert "detectable" not in render(replace(NOT_REFUTED, claim=ApproxDP(1, 1e-6)))
    assert "a mu of 1.1 or more" in " ".join(
        render(replace(NOT_REFUTED, claim=GaussianDP(1))).split()
    )
    assert "detectable" not in render(replace(NOT_REFUTED, claim=GaussianDP(2)))
