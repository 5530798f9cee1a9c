"""What is printed is never more than what was proved, whatever the numbers are."""

from __future__ import annotations

import dataclasses
import math
import re
from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st
from reported import not_refuted, refuted

from dpaudit.auditing import EpsilonBound
from dpaudit.bounds import percent_below
from dpaudit.claims import ApproxDP, PureDP
from dpaudit.guessing import GuessCounts
from dpaudit.neighbours import Pair
from dpaudit.report import (
    CURVE,
    EVIDENCE,
    TRADE_OFF,
    brief_of,
    failure,
    headline,
    lower,
    render,
    upper,
    wording,
)
from dpaudit.results import Evidence, Tally

positive = st.floats(1e-12, 1e12)
chances = st.floats(1e-12, 1.0, exclude_max=True)
NUMBER = r"([0-9][0-9.e+-]*[0-9]|[0-9])"


def numbers(pattern: str, text: str) -> list[float]:
    """The numbers of a pattern in a text, which has at least one."""
    found = re.findall(pattern.replace("NUMBER", NUMBER), " ".join(text.split()))
    assert found, (pattern, text)
    return [float(each) for each in found]


@given(positive)
def test_bounds_err_to_the_safe_side(value: float) -> None:
    assert float(lower(value)) <= value <= float(upper(value))


@given(st.floats(0.0, 50.0), chances)
@example(0.99996, 0.05)
@example(1.0, 1e-8)
@example(1.0, 1e-300)
def test_a_measured_epsilon_errs_to_the_safe_side(epsilon: float, alpha: float) -> None:
    bound = EpsilonBound(
        mechanism="m",
        pair=Pair(0, 1),
        epsilon_lower=epsilon,
        alpha=alpha,
        rule="",
        counts=GuessCounts(),
        counted=0,
        samples=1_000,
        seconds=0.0,
        rng_seed=0,
    )
    assert numbers("epsilon >= NUMBER", str(bound))[0] <= epsilon
    [confidence] = re.findall(r"with (\S+) % confidence", str(bound))
    assert Fraction(confidence) <= 100 * (1 - Fraction(repr(alpha))) < 100
    assert confidence == percent_below(alpha)


@given(st.floats(1.0, 50.0, exclude_min=True), chances)
def test_a_refuted_audit_errs_to_the_safe_side(bound: float, alpha: float) -> None:
    audit = dataclasses.replace(refuted(), lower_bound=bound, alpha=alpha, counterexample=None)
    for text in (headline(audit), render(audit), failure(audit)):
        assert all(1.0 < shown <= bound for shown in numbers("epsilon >= NUMBER", text))
    assert numbers(r"\(alpha = NUMBER\)", headline(audit))[0] >= alpha
    assert numbers("probability at most NUMBER", render(audit))[0] >= alpha
    assert 1.0 < numbers("epsilon NUMBER", brief_of([audit]).certified)[0] <= bound


@given(st.floats(1e-12, 50.0), st.floats(2.0, 50.0))
def test_a_quiet_audit_errs_to_the_safe_side(bound: float, detectable: float) -> None:
    audit = dataclasses.replace(not_refuted(), lower_bound=bound, detectable=detectable)
    text = render(audit)
    assert all(shown <= bound for shown in numbers("epsilon NUMBER leaks", text))
    assert "epsilon >=" not in text
    assert numbers("an epsilon of NUMBER or more", text)[0] >= detectable


@given(st.floats(1e-6, 50.0))
def test_more_than_was_claimed_is_never_said_to_be_claimed(epsilon: float) -> None:
    for claim in (PureDP(epsilon), ApproxDP(epsilon, 1e-6)):
        said = wording.broken(claim, None, "it").replace("\xa0", " ")
        assert numbers("epsilon > NUMBER", said)[0] <= epsilon


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.floats(1e-12, 0.5))
def test_an_event_errs_to_the_safe_side(draws: int, hits: int, alpha: float) -> None:
    tally = Tally.of(min(hits, draws), draws, alpha=alpha)
    assert numbers("at least NUMBER", wording.bound(tally, at_least=True))[0] <= tally.lower
    assert numbers("at most NUMBER", wording.bound(tally, at_least=False))[0] >= tally.upper


@given(st.floats(-30.0, 300.0))
def test_an_e_value_is_rounded_down(log_wealth: float) -> None:
    found = Evidence(trace=(), log_wealth=log_wealth, peak=max(log_wealth, 0.0))
    audit = dataclasses.replace(not_refuted(), evidence=found)
    most = math.exp(log_wealth) * (1.0 + 2e-12)  # what a logarithm and back lose
    assert float(wording.e_value(audit)) <= most
    assert numbers("wealth of NUMBER;", EVIDENCE.alt(audit))[0] <= most


def test_the_figures_say_bounds_on_the_safe_side() -> None:
    audit = refuted()
    found = audit.counterexample
    assert found is not None
    assert numbers("at least NUMBER at 0", CURVE.alt(audit))[0] <= found.likely.lower
    assert numbers("rate of at most NUMBER", TRADE_OFF.alt(audit))[0] >= found.unlikely.upper


@given(chances, chances)
def test_two_events_hold_together_less_surely_than_each(one: float, other: float) -> None:
    found = refuted().counterexample
    assert found is not None
    audit = dataclasses.replace(
        refuted(),
        counterexample=dataclasses.replace(found, alpha=one),
        simplest=dataclasses.replace(found, alpha=other),
    )
    alone, both = numbers("1 - NUMBER", wording.together(audit).replace("\xa0", " "))
    assert alone >= max(one, other)
    assert both >= one + other
