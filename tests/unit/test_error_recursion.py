"""The error recursion against linear programmes, naive loops and exact mechanisms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import linprog
from scipy.stats import binom, norm

from dpaudit.claims import ZCDP, ApproxDP, Claim, GaussianDP, Profile, PureDP, RenyiDP
from dpaudit.training.counted_guesses import fewest_right, p_value, plan, plan_at
from dpaudit.training.error_recursion import ErrorRecursion, error_recursion, impossible
from dpaudit.training.levels import levels
from dpaudit.training.trade_off import least_wrong


def lines(epsilon: float, delta: float) -> list[tuple[float, float]]:
    """Slopes and heights at 0 of the least wrong guesses under `(epsilon, delta)`."""
    steep = math.exp(epsilon)
    return [(0.0, 0.0), (1.0 / steep, -delta / steep), (steep, 1.0 - delta - steep)]


def most_likely(epsilon: float, delta: float, m: int, g: int, v: int) -> float:
    """The largest `P(R >= v)` that the constraints of all levels allow, by linear programming.

    The variables are `P(R = i)`. For every `c <= v` the mass of wrong guesses with `R >= c - 1`
    lies above each line of the mass of right guesses with `R >= c`.
    """
    counts = np.arange(g + 1)
    rows, heights = [], []
    for c in range(1, v + 1):
        right = np.where(counts >= c, counts, 0) / m
        wrong = np.where(counts >= c - 1, g - counts, 0) / m
        for slope, height in lines(epsilon, delta):
            rows.append(slope * right - wrong)
            heights.append(-height)
    solved = linprog(
        -(counts >= v).astype(float),
        A_ub=np.array(rows),
        b_ub=np.array(heights),
        A_eq=np.ones((1, g + 1)),
        b_eq=[1.0],
    )
    assert solved.success
    return -float(solved.fun or 0.0)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("delta", [0.0, 0.01, 0.2])
@pytest.mark.parametrize(("m", "g"), [(6, 6), (9, 4), (12, 8)])
def test_it_refutes_exactly_beyond_what_its_constraints_allow(
    epsilon: float, delta: float, m: int, g: int
) -> None:
    curve = least_wrong(ApproxDP(epsilon, delta))
    for v in range(g // 2 + 1, g + 1):
        most = most_likely(epsilon, delta, m, g, v)
        below, above = most * (1.0 - 1e-6), most * (1.0 + 1e-6)
        if above < 1.0:
            assert impossible(curve, canaries=m, guesses=g, right=v, chance=above)
        assert not impossible(curve, canaries=m, guesses=g, right=v, chance=below)


@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.5])
def test_what_randomized_response_does_is_possible(epsilon: float) -> None:
    p = 1.0 / (1.0 + math.exp(-epsilon))
    curve = least_wrong(PureDP(epsilon))
    for m in (5, 40, 300):
        for v in range(1, m + 1):
            chance = float(binom.sf(v - 1, m, p)) * (1.0 - 1e-9)
            assert not impossible(curve, canaries=m, guesses=m, right=v, chance=chance)


@pytest.mark.parametrize("mu", [0.5, 1.0, 2.0])
def test_what_one_shared_loss_does_is_possible(mu: float) -> None:
    """Randomized response at one public loss `|N(mu^2/2, mu^2)|`: exactly mu-GDP."""
    curve = least_wrong(GaussianDP(mu))

    def chance(m: int, v: int) -> float:
        def term(loss: float) -> float:
            density = norm.pdf(loss, mu * mu / 2, mu) + norm.pdf(-loss, mu * mu / 2, mu)
            return float(density * binom.sf(v - 1, m, 1.0 / (1.0 + math.exp(-loss))))

        return quad(term, 0.0, mu * (mu / 2 + 9), limit=200)[0]

    for m in (8, 50):
        for v in range(m // 2, m + 1, 3):
            exact = chance(m, v) * (1.0 - 1e-6)
            assert not impossible(curve, canaries=m, guesses=m, right=v, chance=exact)


def test_independent_gaussian_canaries_are_possible() -> None:
    """Guesses on all canaries are right with probability `Phi(mu/2)`, independently."""
    for mu in (0.5, 1.0, 3.0):
        p = float(norm.cdf(mu / 2))
        for v in range(30, 61):
            chance = float(binom.sf(v - 1, 60, p)) * (1.0 - 1e-9)
            curve = least_wrong(GaussianDP(mu))
            assert not impossible(curve, canaries=60, guesses=60, right=v, chance=chance)


def naive(mu: float, m: int, g: int, v: int, alpha: float) -> bool:
    r, h = alpha * v / m, alpha * (g - v) / m
    for i in range(v - 1, -1, -1):
        raised = max(h, float(norm.cdf(norm.ppf(r) - mu)))
        r, h = min(1.0, r + i / (g - i) * (raised - h)), raised
    return r + h > g / m


def test_it_agrees_with_a_naive_loop_in_another_library() -> None:
    for mu in (0.3, 1.0, 2.5):
        for m, g in ((50, 50), (200, 40), (1_000, 100)):
            for v in range(g // 2, g + 1, max(1, g // 20)):
                judged = ErrorRecursion().refutes(
                    GaussianDP(mu), canaries=m, guesses=g, right=v, alpha=0.05
                )
                assert judged == naive(mu, m, g, v, 0.05)


CLAIMS: list[Claim] = [
    *(PureDP(1.0), PureDP(0.0), ApproxDP(2.0, 0.01), ApproxDP(0.0, 0.1), ZCDP(0.5)),
    *(RenyiDP(order=4.0, epsilon=0.7), Profile(GaussianDP(1.0).delta)),
]


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_a_curve_lies_on_or_below_the_lines_of_its_profile(claim: Claim) -> None:
    """Every line holds for the claim; the curve may leave some out, never exceed them all."""
    curve = least_wrong(claim)
    epsilons = np.concatenate([[0.0, 1.0, 2.0], np.linspace(0.0, 50.0, 20_001)])
    deltas = np.array([claim.delta(float(epsilon)) for epsilon in epsilons])
    with np.errstate(over="ignore"):
        for y in np.linspace(0.0, 1.0, 101):
            shallow = np.exp(-epsilons) * (y - deltas)
            steep = 1.0 - deltas - np.exp(epsilons) * (1.0 - y)
            best = max(0.0, float(shallow.max()), float(steep.max()))
            assert best - 0.01 <= curve(float(y)) <= best + 1e-4  # the grids differ


def test_a_gaussian_profile_is_nearly_the_gaussian_claim_and_never_stricter() -> None:
    exact, lines_of = least_wrong(GaussianDP(1.0)), least_wrong(Profile(GaussianDP(1.0).delta))
    for y in np.linspace(0.001, 0.999, 500):
        assert lines_of(float(y)) <= exact(float(y)) + 1e-12
        assert lines_of(float(y)) == pytest.approx(exact(float(y)), abs=6e-4)
    assert (exact(0.0), exact(1.0), exact(-0.1)) == (0.0, 1.0, 0.0)


def test_more_right_guesses_and_stricter_claims_are_refuted_first() -> None:
    counts = [
        fewest_right(ErrorRecursion(), GaussianDP(mu), canaries=2_000, guesses=100, alpha=0.05)
        for mu in (0.0, 0.3, 0.6, 0.9)
    ]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


def test_a_p_value_refutes_at_itself_and_not_below() -> None:
    claim, test = GaussianDP(0.5), ErrorRecursion()
    p = p_value(test, claim, canaries=500, guesses=60, right=55)
    judged = [
        test.refutes(claim, canaries=500, guesses=60, right=55, alpha=alpha)
        for alpha in (p, p * 0.99)
    ]
    assert judged == [True, False]
    assert p_value(test, claim, canaries=500, guesses=60, right=20) == 1.0


def test_a_plan_knows_no_score_and_its_levels_rise() -> None:
    claim = GaussianDP(1.0)
    assert plan(ErrorRecursion(), claim, canaries=1_000, alpha=0.05).guesses == 128
    grid = list(levels(claim))
    assert grid == sorted(set(grid))
    assert claim.mu in grid
    at_claim = plan_at(ErrorRecursion(), claim, 1.0, canaries=1_000, alpha=0.05)
    assert at_claim == plan(ErrorRecursion(), claim, canaries=1_000, alpha=0.05)


def test_a_finding_on_a_training_twice_as_loud_as_claimed() -> None:
    rng = np.random.default_rng(1)
    bits = rng.random(2_000) < 0.5
    scores = rng.normal(size=2_000) + 2.0 * bits
    finding = error_recursion(scores, bits, GaussianDP(1.0))
    assert finding.refuted
    assert finding.lower_bound is not None
    assert finding.ceiling is not None
    assert 1.0 <= finding.lower_bound < 2.0 < finding.ceiling
    assert finding.log_evidence > math.log(20.0)
    assert finding.right <= finding.guesses


def test_a_profile_has_a_verdict_and_no_bound() -> None:
    rng = np.random.default_rng(1)
    bits = rng.random(2_000) < 0.5
    scores = rng.normal(size=2_000) + 2.0 * bits
    finding = error_recursion(scores, bits, Profile(GaussianDP(1.0).delta))
    assert finding.refuted
    assert (finding.lower_bound, finding.ceiling) == (None, None)


def test_canaries_without_a_score_count_as_wrong() -> None:
    rng = np.random.default_rng(1)
    bits = rng.random(500) < 0.5
    finding = error_recursion(np.full(500, np.nan), bits, GaussianDP(1.0))
    assert (finding.right, finding.refuted, finding.lower_bound) == (0, False, 0.0)


class Unhashable:
    """A claim of a user's own that has no hash."""

    __hash__ = None  # type: ignore[assignment]

    def delta(self, epsilon: float) -> float:
        return GaussianDP(1.0).delta(epsilon)

    def __str__(self) -> str:
        return "own claim"


def test_a_claim_of_a_users_own_is_tested() -> None:
    rng = np.random.default_rng(1)
    bits = rng.random(2_000) < 0.5
    finding = error_recursion(rng.normal(size=2_000) + 3.0 * bits, bits, Unhashable())
    assert finding.refuted
