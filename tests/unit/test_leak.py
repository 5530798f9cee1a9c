"""What a total leak needs: the closed forms against the bets, brute force and real audits."""

import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import norm

import dpaudit
import dpaudit.claims
from dpaudit.betting import (
    Tangents,
    draws_for_leak,
    growth,
    leak_growth,
    renyi_growth,
    tangent_growth,
)
from dpaudit.claims import ZCDP, ApproxDP, Claim, GaussianDP, Profile, PureDP, RenyiDP

Floats = npt.NDArray[np.float64]


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.01, 0.3, 0.9])
def test_the_growth_is_that_of_the_bet_on_two_sure_outputs(epsilon: float, delta: float) -> None:
    one = np.ones(1)
    bet = Tangents(epsilon * one, delta * one, one, -60.0 * one, 60.0 * one)
    sure = np.array([-60.0, 60.0])
    paid = float(growth(bet, sure, np.ones(2))[0])
    assert tangent_growth(epsilon, delta) == pytest.approx(paid, rel=1e-4, abs=2e-9)


def test_the_draws_of_pure_claims_are_those_of_the_formula() -> None:
    for epsilon in (0.0, 0.5, 1.0, 4.0, 10.0):
        for alpha in (0.05, 1e-6):
            formula = math.log(1.0 / alpha) / math.log1p(math.exp(-epsilon))
            assert draws_for_leak(PureDP(epsilon), alpha) == pytest.approx(formula)
    assert math.isinf(draws_for_leak(PureDP(1_000.0), 1e-6))


@pytest.mark.parametrize("mu", [0.0, 0.5, 1.0, 3.0])
def test_a_gaussian_claim_lets_a_guess_be_right_so_often(mu: float) -> None:
    assert leak_growth(GaussianDP(mu)) == pytest.approx(-math.log(norm.cdf(mu / 2.0)))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_order_two_is_a_quadratic(epsilon: float) -> None:
    """`p^2/q + q^2/p = e^epsilon` with `q = 1 - p` is `p q = 1 / (3 + e^epsilon)`."""
    right = 0.5 * (1.0 + math.sqrt(1.0 - 4.0 / (3.0 + math.exp(epsilon))))
    assert renyi_growth(2.0, epsilon) == pytest.approx(-math.log(right))


@pytest.mark.parametrize(("order", "epsilon"), [(1.5, 0.5), (2.0, 1.0), (8.0, 0.3)])
def test_no_pair_of_two_outputs_within_a_renyi_claim_is_guessed_better(
    order: float, epsilon: float
) -> None:
    p, q = np.meshgrid(*[np.linspace(1e-4, 1.0 - 1e-4, 1_500)] * 2)

    def divergence(one: Floats, other: Floats) -> Floats:
        moment = one**order * other ** (1 - order) + (1 - one) ** order * (1 - other) ** (1 - order)
        return np.asarray(np.log(moment) / (order - 1.0))

    within = (divergence(p, q) <= epsilon) & (divergence(q, p) <= epsilon)
    best = float((0.5 * (p + 1.0 - q))[within].max())
    assert math.exp(-renyi_growth(order, epsilon)) == pytest.approx(best, abs=1e-3)
    assert math.exp(-renyi_growth(order, epsilon)) >= best - 1e-9


def test_a_profile_needs_what_its_saved_form_needs() -> None:
    """Or a file would not say what the audit said."""
    for delta in (PureDP(1.0).delta, GaussianDP(7.0).delta, lambda level: 0.5 * math.exp(-level)):
        claim = Profile(delta)
        assert leak_growth(dpaudit.claims.claim_from_json(claim.to_json())) == leak_growth(claim)


CLAIMS: list[Claim] = [
    PureDP(0.0),
    PureDP(1.0),
    PureDP(3.0),
    PureDP(5.0),
    ApproxDP(1.0, 1e-6),
    ApproxDP(1.0, 0.3),
    GaussianDP(1.0),
    GaussianDP(3.0),
    ZCDP(0.1),
    ZCDP(3.0),
    RenyiDP(2.0, 1.0),
    RenyiDP(50.0, 1.0),
    Profile(PureDP(1.0).delta),
]


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
@pytest.mark.filterwarnings("ignore::dpaudit.HealthWarning")
def test_a_total_leak_is_refuted_within_twice_the_draws(claim: Claim) -> None:
    """At alpha 1e-6; what the guessers must learn first costs about 20 draws."""

    def leak(data: list[float], size: int, rng: np.random.Generator) -> Floats:
        return np.full(size, float(len(data)))

    found = dpaudit.audit(leak, claim, [([0.0], [])], samples=30_000, rng=1)
    assert found.refuted
    used = found.evidence.trace[-1][0]
    assert 0.9 * draws_for_leak(claim, 1e-6) <= used <= 2.0 * draws_for_leak(claim, 1e-6)
