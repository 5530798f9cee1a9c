"""The bounds in a text: which words they get, and that none says more than was proved."""

import math
from dataclasses import replace
from typing import Any

import pytest
from reported import AUDITS, NOT_REFUTED, REFUTED, with_event

from dpaudit.claims import ZCDP, ApproxDP, GaussianDP, Profile, PureDP, RenyiDP
from dpaudit.report import apart, headline, lower, render, upper
from dpaudit.results import Tally

# --- headlines ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"claim": GaussianDP(1)}, "is not 1-GDP: mu >= 1.8 "),
        ({"claim": ZCDP(0.5)}, "is not 0.5-zCDP: rho >= 1.8 "),
        ({"claim": RenyiDP(2, 0.5)}, "is not (order 2, 0.5)-Rényi DP: epsilon >= 1.8 "),
        ({"claim": ApproxDP(1, 1e-6)}, "is not (1, 1e-06)-DP: epsilon >= 1.8 "),
        (
            {"claim": Profile(PureDP(1).delta, name="mine"), "lower_bound": None},
            "does not keep privacy profile 'mine' (",
        ),
        ({"lower_bound": 1.0004}, "is not 1-DP: epsilon >= 1.0004 "),
        ({"lower_bound": 1.0}, "is not 1-DP: epsilon > 1 "),
        ({"lower_bound": None}, "is not 1-DP: epsilon > 1 "),
        ({"lower_bound": math.inf}, "is not 1-DP: epsilon >= inf "),
    ],
)
def test_a_refuted_headline_shows_more_than_was_claimed(
    changes: dict[str, Any], words: str
) -> None:
    assert headline(replace(REFUTED, **changes)).startswith(f"REFUTED: clipped_sum {words}")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "1-DP: at least epsilon 0.96 leaks (certified, alpha = 1e-06)"),
        ({"claim": GaussianDP(1)}, "1-GDP: at least mu 0.96 leaks (certified, alpha = 1e-06)"),
        ({"lower_bound": 0.0}, "1-DP: nothing certified (alpha = 1e-06)"),
        ({"lower_bound": None}, "1-DP: nothing certified (alpha = 1e-06)"),
        ({"claim": Profile(PureDP(1).delta)}, "privacy profile 'delta' (alpha = 1e-06)"),
    ],
)
def test_a_not_refuted_headline_says_what_was_certified(
    changes: dict[str, Any], words: str
) -> None:
    line = headline(replace(NOT_REFUTED, **changes))
    assert line == f"NOT REFUTED: laplace_count, claimed {words}"


def test_a_claim_that_was_not_refuted_is_never_praised() -> None:
    for audit in AUDITS:
        words = render(audit).lower().replace(",", " ").replace(".", " ").split()
        assert not {"passed", "private", "safe", "secure", "ok"} & set(words)


# --- the safe side --------------------------------------------------------------------------------


@pytest.mark.parametrize("bound", [1.8999999, 1.9, 0.0123456, 12345.6, 1e-9, 0.1 + 0.2, 99.99, 1.0])
def test_bounds_are_rounded_to_the_safe_side(bound: float) -> None:
    assert float(lower(bound)) <= bound <= float(upper(bound))
    assert float(lower(bound)) == pytest.approx(bound, rel=0.01)
    assert float(upper(bound)) == pytest.approx(bound, rel=0.01)


def test_every_printed_bound_is_on_the_safe_side() -> None:
    audit = replace(
        with_event(
            REFUTED,
            data=Tally(hits=9998, draws=10000, lower=0.9996, upper=0.9996),
            neighbour=Tally(hits=1, draws=10000, lower=0.0, upper=0.0010001),
            epsilon_lower=6.9069,
        ),
        lower_bound=6.9999,
        alpha=0.0500001,
    )
    text = render(audit)
    assert "epsilon >= 6.99 (alpha = 0.0501)" in text
    assert "at least 0.999\n" in text
    assert "at most 0.00101\n" in text
    said = "at least 999 times, so by this event alone at least epsilon 6.9 leaks."
    assert said in " ".join(text.split())
    assert "an epsilon of 1.1 or more" in render(NOT_REFUTED)  # 1.0931, rounded up


@pytest.mark.parametrize(("allowed", "seen"), [(2.718, 6.3), (2.71828, 2.7183), (0.1, 0.1 + 1e-12)])
def test_what_is_allowed_and_what_was_seen_stay_apart(allowed: float, seen: float) -> None:
    at_most, at_least = apart(allowed, seen)
    assert allowed <= float(at_most) < float(at_least) <= seen


def test_a_narrow_refutation_does_not_read_as_a_contradiction() -> None:
    audit = with_event(replace(REFUTED, lower_bound=1.0002), epsilon_lower=1.0001)
    text = render(audit)
    assert "e^1 = 2.7183 times." in text
    said = "at least 2.7185 times, so by this event alone at least epsilon 1.0001 leaks."
    assert said in " ".join(text.split())
