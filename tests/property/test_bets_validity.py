"""No bet has a mean payoff above 1 under the claim it bets against: exact sums, no sampling.

Every pair of neighbours that keeps an `(epsilon, delta)` claim is a post-processing of one extremal
pair (Kairouz, Oh and Viswanath 2015), as `mu`-GDP pairs are of two Gaussians; `E[S]` is an average
over the processing, so the extremal pair with arbitrary guesses stands for all of them. For Rényi
claims there is no such pair: there any pair is taken, and the claim that it keeps exactly.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, ndtr

from dpaudit.betting import MixedBet, RenyiBets, Tangents, book_for, growth, tune
from dpaudit.claims import ZCDP, ApproxDP, GaussianDP, Profile, PureDP, RenyiDP

Floats = npt.NDArray[np.float64]
Sides = tuple[Floats, Floats]  # the probabilities of the outcomes on `data` and on `neighbour`

FAIR = 1.0 + 1e-12
BOLDEST = 30.0  # nats: what guesses are clipped at, so no past holds more
PURE, APPROX, CELLS = 2, 4, 64  # outcomes of the extremal pairs


def log_uniform(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(math.log(low), math.log(high)).map(math.exp)


def arrays(elements: st.SearchStrategy[float], size: int) -> st.SearchStrategy[Floats]:
    return st.lists(elements, min_size=size, max_size=size).map(np.array)


# What a bettor may be told about outputs to come: nothing is promised about it, not even the range.
wild = st.floats(-3, 3) | st.floats(-50, 50) | st.sampled_from([0.0, -0.0, 1e6, -1e6, 1e-12])
tame = st.floats(-3, 3) | st.floats(-BOLDEST, BOLDEST)
past = st.integers(1, 12).flatmap(
    lambda size: st.tuples(arrays(tame, size), arrays(log_uniform(1e-2, 1e9), size))
)
epsilons = st.just(0.0) | log_uniform(1e-3, 12.0)
deltas = log_uniform(1e-9, 0.9)
mus = log_uniform(0.02, 6.0)
orders = log_uniform(0.05, 20.0).map(lambda excess: 1.0 + excess)
above = st.lists(log_uniform(1e-6, 10.0), max_size=4).map(lambda more: np.array([0.0, *more]))


def randomized_response(epsilon: float) -> Sides:
    likely = 1.0 / (1.0 + math.exp(-epsilon))
    return np.array([likely, 1.0 - likely]), np.array([1.0 - likely, likely])


def four_points(epsilon: float, delta: float) -> Sides:
    """One outcome of mass delta that only `data` has, one that only `neighbour` has, two noisy."""
    data, neighbour = ((1.0 - delta) * side for side in randomized_response(epsilon))
    return np.array([delta, *data, 0.0]), np.array([0.0, *neighbour, delta])


def gaussian_cells(mu: float, edges: Floats) -> Sides:
    """N(mu, 1) and N(0, 1), of which only the cell between two edges is shown."""
    inner = np.sort(edges)
    data, neighbour = (np.diff(ndtr(inner - shift), prepend=0.0, append=1.0) for shift in (mu, 0.0))
    return data, neighbour


def fine_cells(mu: float) -> Sides:
    return gaussian_cells(mu, np.linspace(-4.0, 4.0 + mu, CELLS - 1))


def arbitrary(weights: list[tuple[float, float]]) -> Sides:
    both = np.array(weights).T
    return both[0] / both[0].sum(), both[1] / both[1].sum()


any_pair = st.lists(
    st.tuples(log_uniform(1e-3, 1.0), log_uniform(1e-3, 1.0)), min_size=2, max_size=6
).map(arbitrary)


def renyi(order: float, sides: Sides) -> float:
    """The larger of the two divergences of an order: what a Rényi claim has to allow."""
    data, neighbour = (np.log(side) for side in sides)
    both = (
        logsumexp(order * data + (1.0 - order) * neighbour),
        logsumexp(order * neighbour + (1.0 - order) * data),
    )
    return float(max(both)) / (order - 1.0)


def zcdp(sides: Sides) -> float:
    """The least rho of a pair: the largest `R_order / order` over all orders."""
    logs = np.linspace(math.log(1e-4), math.log(300.0), 60)
    rates = [renyi(1.0 + math.exp(log), sides) / (1.0 + math.exp(log)) for log in logs]
    place = int(np.argmax(rates))
    found = minimize_scalar(
        lambda log: -renyi(1.0 + math.exp(log), sides) / (1.0 + math.exp(log)),
        bounds=(logs[max(place - 1, 0)], logs[min(place + 1, len(logs) - 1)]),
        method="bounded",
        options={"xatol": 1e-9},
    )
    return float(max(-found.fun, *rates))


def mean_payoff(sides: Sides, up: Floats, down: Floats) -> Floats:
    """`(E_P S_P + E_Q S_Q) / 2`, one for each row of payoffs."""
    assert up.min() >= 0.0
    assert down.min() >= 0.0
    return np.atleast_1d(0.5 * (up @ sides[0] + down @ sides[1]))


def means_of_logs(sides: Sides, logs: tuple[Floats, Floats]) -> Floats:
    return mean_payoff(sides, np.exp(logs[0]), np.exp(logs[1]))


# --- one level: the tangent bet


@given(epsilons, above, arrays(wild, PURE), past)
def test_tangents_are_fair_to_pure_dp(
    epsilon: float, more: Floats, guesses: Floats, past: Sides
) -> None:
    levels = epsilon + more
    bets = tune(*past, levels, np.zeros(len(levels)))
    means = means_of_logs(randomized_response(epsilon), bets.log_payoffs(guesses))
    assert means.max() <= FAIR


@given(epsilons, deltas, above, arrays(wild, APPROX), past)
def test_tangents_are_fair_to_approximate_dp(
    epsilon: float, delta: float, more: Floats, guesses: Floats, past: Sides
) -> None:
    levels = epsilon + more
    bets = tune(*past, levels, np.full(len(levels), delta))
    means = means_of_logs(four_points(epsilon, delta), bets.log_payoffs(guesses))
    assert means.max() <= FAIR


@given(
    epsilons, st.just(0.0) | deltas, arrays(wild, APPROX), st.floats(0.001, 1.999),
    st.floats(-36.0, 36.0), log_uniform(1e-6, 36.0),
)  # fmt: skip
def test_no_stake_and_no_bounds_make_a_tangent_unfair(
    epsilon: float, delta: float, guesses: Floats, stake: float, lowest: float, width: float
) -> None:
    terms = (epsilon, delta, stake, lowest, lowest + width)
    bets = Tangents(*(np.array([value]) for value in terms))
    means = means_of_logs(four_points(epsilon, delta), bets.log_payoffs(guesses))
    assert means.max() <= FAIR


@given(any_pair, st.floats(0.0, 4.0), arrays(wild, 6), past, st.floats(-3.0, 3.0))
def test_tangents_are_fair_to_any_pair_at_its_own_delta(
    sides: Sides, epsilon: float, guesses: Floats, past: Sides, boldness: float
) -> None:
    data, neighbour = sides
    excess = [data - math.exp(epsilon) * neighbour, neighbour - math.exp(epsilon) * data]
    delta = max(float(np.maximum(side, 0.0).sum()) for side in excess)
    bets = tune(*past, np.array([epsilon]), np.array([delta]))
    for told in (guesses[: len(data)], boldness * np.log(data / neighbour)):
        assert means_of_logs(sides, bets.log_payoffs(told)).max() <= FAIR


@given(log_uniform(0.05, 6.0), st.floats(1.1, 4.0))
def test_a_tangent_gives_nothing_away(epsilon: float, boldness: float) -> None:
    """On its extremal pair a bet that is tilted the right way is fair to within the rounding."""
    bets = Tangents(*(np.array([value]) for value in (epsilon, 0.0, 1.0, -BOLDEST, BOLDEST)))
    told = boldness * epsilon * np.array([1.0, -1.0])
    means = means_of_logs(randomized_response(epsilon), bets.log_payoffs(told))
    assert means.min() >= 1.0 - 1e-8


@given(log_uniform(0.05, 3.0), log_uniform(1e-3, 0.9), past)
def test_no_bet_is_placed_that_is_expected_to_lose(
    epsilon: float, delta: float, past: Sides
) -> None:
    """Else the price of the allowance is paid at every draw, also where there is nothing to win."""
    bets = tune(*past, np.array([epsilon]), np.array([delta]))
    assert growth(bets, *past)[0] >= -1e-6


@given(epsilons, deltas, arrays(wild, APPROX), st.lists(past, min_size=1, max_size=4))
def test_every_guesser_has_fair_bets_of_its_own(
    epsilon: float, delta: float, guesses: Floats, pasts: list[Sides]
) -> None:
    """Several guessers tuned at once: as if each were tuned alone, and fair."""
    size = min(len(told) for told, _ in pasts)
    told, mass = np.stack([told[:size] for told, _ in pasts]), pasts[0][1][:size]
    levels = np.array([epsilon, 1.5 * epsilon + 0.1]), np.array([delta, delta])
    together = tune(told, mass, *levels)
    up, down = together.log_payoffs(np.tile(guesses, (len(pasts), 1)))
    for place, alone in enumerate(told):
        bets = tune(alone, mass, *levels)
        np.testing.assert_array_equal(up[place], bets.log_payoffs(guesses)[0])
        np.testing.assert_array_equal(down[place], bets.log_payoffs(guesses)[1])
        means = means_of_logs(four_points(epsilon, delta), (up[place], down[place]))
        assert means.max() <= FAIR


@pytest.mark.parametrize(("delta", "factor"), [(1e-2, 2.0), (1e-3, 2.7), (1e-5, 10.0)])
def test_an_excess_in_delta_pays_for_one_direction_alone(delta: float, factor: float) -> None:
    """An output that only one side gives, and that more often than delta allows.

    Per draw the best bet grows by `(p log(1 + e^-eps) - delta e^-eps) / 2`, about.
    """
    epsilon, p = 1.0, factor * delta
    told, mass = np.array([30.0, math.log1p(-p)]), np.array([p / 2, 1.0 - p / 2])
    bets = tune(told, 1e9 * mass, np.array([epsilon]), np.array([delta]))
    best = 0.5 * (p * math.log1p(math.exp(-epsilon)) - delta * math.exp(-epsilon))
    assert growth(bets, told, mass)[0] == pytest.approx(best, rel=0.02)


# --- whole profiles and Rényi divergences


@given(mus, arrays(st.floats(-8.0, 14.0), 9), arrays(wild, 10), past, above)
def test_mixed_bets_are_fair_to_gaussian_dp(
    mu: float, edges: Floats, guesses: Floats, past: Sides, more: Floats
) -> None:
    sides = gaussian_cells(mu, edges)
    for level in (mu, mu + more[-1]):
        bets = MixedBet(GaussianDP(level))
        bets.tune(*past)
        assert means_of_logs(sides, bets.log_payoffs(guesses)).max() <= FAIR


@given(mus, st.floats(-3.0, 3.0), st.floats(-0.5, 0.5), past)
def test_mixed_bets_are_fair_to_gaussians_whose_ratio_is_known(
    mu: float, boldness: float, offset: float, past: Sides
) -> None:
    sides = fine_cells(mu)
    told = offset + boldness * np.log(np.maximum(sides[0], 1e-300) / np.maximum(sides[1], 1e-300))
    profile = Profile(GaussianDP(mu).delta)
    for claim in (GaussianDP(mu), profile, RenyiDP(2.5, 2.5 * mu**2 / 2), ZCDP(mu**2 / 2)):
        bets = MixedBet(claim)
        for guesses, mass in ((told.clip(-BOLDEST, BOLDEST), 1e4 * sides[0]), past):
            bets.tune(guesses, mass)
            assert means_of_logs(sides, bets.log_payoffs(told)).max() <= FAIR


@given(any_pair, orders, arrays(wild, 6), past, st.floats(-3.0, 3.0))
def test_direct_bets_are_fair_to_any_pair_at_its_own_divergence(
    sides: Sides, order: float, guesses: Floats, past: Sides, boldness: float
) -> None:
    bets = RenyiBets(order, renyi(order, sides))
    truth = np.log(sides[0] / sides[1])
    for tuned_on in (past, (truth, 1e3 * sides[0])):
        bets.tune(*tuned_on)
        for told in (guesses[: len(truth)], boldness * truth):
            assert mean_payoff(sides, *bets.payoffs(told)).max() <= FAIR
            assert mean_payoff(sides[::-1], *bets.payoffs(-told)).max() <= FAIR


@given(st.floats(0.01, 0.99), log_uniform(1e-3, 3.0), orders, arrays(wild, 2), past)
def test_renyi_mixed_bets_are_fair_to_two_points(
    likely: float, tilt: float, order: float, guesses: Floats, past: Sides
) -> None:
    data = np.array([likely, 1.0 - likely])
    tilted = data * np.exp([-tilt, tilt])
    sides = data, tilted / tilted.sum()
    for claim in (RenyiDP(order, renyi(order, sides)), ZCDP(zcdp(sides))):
        bets = MixedBet(claim)
        for told in (guesses, np.log(sides[0] / sides[1])):
            bets.tune(*past)
            assert means_of_logs(sides, bets.log_payoffs(told)).max() <= FAIR


@pytest.mark.parametrize("order", [100.0, 1000.0])
def test_direct_bets_of_high_order_are_finite(order: float) -> None:
    sides = randomized_response(12.0)  # log-odds that atoms reach within 100 000 draws
    bets = RenyiBets(order, renyi(order, sides))
    truth = np.log(sides[0] / sides[1])
    bets.tune(truth, np.array([1e4, 1e4]))
    assert mean_payoff(sides, *bets.payoffs(truth)).max() <= FAIR


def test_before_it_is_tuned_a_mixed_bet_pays_exactly_one() -> None:
    for logs in MixedBet(GaussianDP(1.0)).log_payoffs(np.array([-1e6, 0.0, 2.0])):
        assert np.all(logs == 0.0)


# --- all levels of a book

BOOKS: list[tuple[Any, Sides]] = [
    (PureDP(0.0), randomized_response(0.0)),
    (PureDP(1.0), randomized_response(1.0)),
    (PureDP(8.0), randomized_response(8.0)),
    (ApproxDP(1.0, 1e-5), four_points(1.0, 1e-5)),
    (ApproxDP(0.1, 0.2), four_points(0.1, 0.2)),
    (ApproxDP(0.0, 0.9), four_points(0.0, 0.9)),
    (GaussianDP(1.0), fine_cells(1.0)),
    (GaussianDP(4.0), fine_cells(4.0)),
    (ZCDP(0.5), fine_cells(1.0)),
    (RenyiDP(3.0, 1.5), fine_cells(1.0)),
    (Profile(GaussianDP(1.0).delta), fine_cells(1.0)),
]


@pytest.mark.parametrize(("claim", "sides"), BOOKS, ids=[str(claim) for claim, _ in BOOKS])
def test_a_book_is_fair_at_every_level_that_the_pair_keeps(claim: Any, sides: Sides) -> None:
    rng = np.random.default_rng(5)
    book = book_for(claim)
    size = len(sides[0])
    truth = np.log(np.maximum(sides[0], 1e-12) / np.maximum(sides[1], 1e-12))
    for settled in (0, book.place, len(book.levels) // 2, len(book.levels)):
        for boldness in (1.0, 2.0, -1.0):
            seen = boldness * truth + rng.normal(scale=0.3, size=size)
            wilder = rng.standard_cauchy(size=size) * rng.choice([1.0, 100.0])
            told = np.stack([seen, truth, 3.0 * truth, wilder])
            past = told.clip(-BOLDEST, BOLDEST)
            book.tune(past[0], past, rng.exponential(1e3, size=size), settled)
            for average in told:  # each level has several bets: by the average and by every guesser
                means = means_of_logs(sides, book.log_payoffs(average, told))
                assert means.shape == (book.bets(len(told)), len(book.active))
                assert means[:, book.active >= book.place].max() <= FAIR


@pytest.mark.parametrize("claim", [claim for claim, _ in BOOKS[1:-1]], ids=str)
def test_levels_rise_and_the_claim_is_one_of_them(claim: Any) -> None:
    book = book_for(claim)
    assert np.all(np.diff(book.levels) > 0)
    assert book.levels[book.place] == claim.strength
