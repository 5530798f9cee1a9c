"""What an event shows of a claim: inverted exactly, and never more than the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dpaudit.claims import (
    ZCDP,
    ApproxDP,
    Claim,
    GaussianDP,
    PureDP,
    RenyiDP,
    Scalable,
    most_allowed,
    refutes,
    strength_of_event,
)

SIDES = [(0.79, 0.21), (0.3, 0.02), (0.01, 1e-4), (0.999, 0.9), (0.5, 0.49)]


class ByProfile:
    """A claim of a user's own: Gaussian, known by its profile alone."""

    symbol = "mu"

    def __init__(self, strength: float) -> None:
        self.strength = strength

    def with_strength(self, value: float) -> ByProfile:
        return ByProfile(value)

    def delta(self, epsilon: float) -> float:
        return GaussianDP(self.strength).delta(epsilon)


@pytest.mark.parametrize(("likely", "unlikely"), SIDES)
def test_the_strength_follows_the_formula_of_its_family(likely: float, unlikely: float) -> None:
    p, q = np.array([likely, 1 - likely]), np.array([unlikely, 1 - unlikely])
    mu = strength_of_event(GaussianDP(1.0), likely, unlikely)
    assert mu == pytest.approx(stats.norm.ppf(likely) - stats.norm.ppf(unlikely), rel=1e-9)
    for order in (1.5, 2.0, 8.0):
        both = [math.log(np.sum(a**order * b ** (1 - order))) for a, b in ((p, q), (q, p))]
        shown = strength_of_event(RenyiDP(order, 1.0), likely, unlikely)
        assert shown == pytest.approx(max(both) / (order - 1), rel=1e-9)
        assert strength_of_event(ZCDP(1.0), likely, unlikely) >= 0.99 * shown / order
    epsilon = strength_of_event(ApproxDP(1.0, 0.005), likely, unlikely)
    assert epsilon == pytest.approx(max(math.log((likely - 0.005) / unlikely), 0.0))


@pytest.mark.parametrize("mu", [0.3, 1.0, 2.5])
def test_no_event_of_a_gaussian_shows_more_than_the_truth(mu: float) -> None:
    """N(mu, 1) against N(0, 1) is mu-GDP, mu^2/2-zCDP and (a, a mu^2/2)-Rényi DP."""
    truths: list[Scalable] = [GaussianDP(mu), ZCDP(mu**2 / 2), RenyiDP(3.0, 1.5 * mu**2)]
    for threshold in np.linspace(-3.0, mu + 3.0, 31):
        likely, unlikely = stats.norm.sf(threshold - mu), stats.norm.sf(threshold)
        for claim in truths:
            shown = strength_of_event(claim, float(likely), float(unlikely))
            assert shown <= claim.strength * (1 + 1e-9)
    likely, unlikely = float(stats.norm.sf(-0.1)), float(stats.norm.sf(mu - 0.1))
    assert strength_of_event(GaussianDP(9.0), likely, unlikely) > 0.99 * mu


def test_a_claim_known_by_its_profile_is_inverted_by_it() -> None:
    exact = strength_of_event(GaussianDP(1.0), 0.79, 0.21)
    assert 0.99 * exact < strength_of_event(ByProfile(1.0), 0.79, 0.21) <= exact + 1e-9
    assert strength_of_event(ByProfile(3.0), 0.79, 0.21) == pytest.approx(
        strength_of_event(ByProfile(1.0), 0.79, 0.21), rel=1e-6
    )


@pytest.mark.parametrize(
    "claim", [GaussianDP(1.0), ZCDP(0.5), RenyiDP(2.0, 1.0), PureDP(1.0), ApproxDP(1.0, 0.001)]
)
def test_what_is_allowed_is_not_refuted_and_more_is(claim: Claim) -> None:
    for unlikely in (1e-4, 0.02, 0.3):
        most = most_allowed(claim, unlikely)
        assert refutes(claim, most + 0.01, unlikely)
        assert not refutes(claim, max(most - 0.01, 0.0), unlikely)


def test_an_event_that_is_not_likelier_shows_nothing() -> None:
    for claim in (GaussianDP(1.0), ZCDP(0.5), RenyiDP(2.0, 1.0), PureDP(1.0), ByProfile(1.0)):
        assert strength_of_event(claim, 0.2, 0.2) == 0.0
        assert not refutes(claim, 0.2, 0.2)


def test_the_complement_of_an_event_refutes_too() -> None:
    """P = 0.99, Q = 0.9 is within e^1, and the outputs outside, 0.1 and 0.01, are not."""
    assert strength_of_event(PureDP(1.0), 0.99, 0.9) < 0.1
    assert refutes(PureDP(1.0), 0.99, 0.9)
