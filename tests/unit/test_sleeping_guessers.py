"""Guessers of vectors that fall behind sleep, keep their weight and their wealth, and wake."""

from __future__ import annotations

import copy
import math

import numpy as np
import numpy.typing as npt
import pytest

from dpaudit.betting import PairBettor, book_for
from dpaudit.claims import GaussianDP, PureDP
from dpaudit.guessing import Ensemble, LabelledRows, ensemble, trees
from dpaudit.outputs import Encoder, Table

Floats = npt.NDArray[np.float64]

ROWS = 10
NEUTRAL = np.full(ROWS, 5.0)  # as many labels of either side, on every row


class Scripted:
    """Guesses what it was told to, and notes after how many draws it learned."""

    def __init__(self, *log_odds: float) -> None:
        self.log_odds_told = log_odds
        self.fits: list[int] = []

    def fit(self, seen: LabelledRows) -> None:
        self.fits.append(seen.draws)

    def log_odds(self, table: Table) -> Floats:
        return np.array(self.log_odds_told)[:, None] + np.zeros(len(table))


def scripted(
    monkeypatch: pytest.MonkeyPatch, *guessers: Scripted, columns: int = 2
) -> tuple[Ensemble, Table]:
    found = [(guesser, len(guesser.log_odds_told)) for guesser in guessers]
    monkeypatch.setattr(ensemble, "_guessers", lambda columns: found)
    return Ensemble(columns), Table(np.arange(ROWS * columns * 1.0).reshape(ROWS, columns), None)


def seen(table: Table, draws: int) -> LabelledRows:
    ones = np.ones(len(table))
    return LabelledRows(table, ones, ones, np.ones(len(table), dtype=np.bool_), draws)


def test_one_that_falls_behind_sleeps_until_the_past_has_doubled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    good, bad = Scripted(0.0), Scripted(6.0)
    both, table = scripted(monkeypatch, good, bad)
    for draws, awake in [
        (100, [0, 1]),  # too few draws
        (4_000, [0, 1]),
        (5_000, [0]),
        (6_000, [0]),
        (9_999, [0]),
        (10_000, [0, 1]),
        (12_000, [0]),  # it was wrong again
        (23_999, [0]),
        (30_000, [0, 1]),
    ]:
        guesses = both.fit(seen(table, draws))
        assert both.awake.tolist() == awake
        assert guesses.shape == (len(awake), ROWS)
        both.score(guesses, NEUTRAL, NEUTRAL)
    assert good.fits == [100, 4_000, 5_000, 6_000, 9_999, 10_000, 12_000, 23_999, 30_000]
    assert bad.fits == [100, 4_000, 10_000, 30_000]


def test_one_that_wakes_can_take_over(monkeypatch: pytest.MonkeyPatch) -> None:
    good, late = Scripted(0.0), Scripted(6.0)
    both, table = scripted(monkeypatch, good, late)
    for draws in (4_500, 5_000):
        both.score(both.fit(seen(table, draws)), NEUTRAL, NEUTRAL)
    assert both.awake.tolist() == [0]
    late.log_odds_told = (2.0,)  # it has learned: on data alone it is right
    guesses = both.fit(seen(table, 10_000))
    both.score(guesses, NEUTRAL, 0.0 * NEUTRAL)
    assert both.average(guesses)[0] == pytest.approx(2.0, abs=0.01)
    both.fit(seen(table, 13_000))
    assert both.awake.tolist() == [1]  # and now the other one sleeps


def test_one_that_does_as_well_as_the_average_stays_awake(monkeypatch: pytest.MonkeyPatch) -> None:
    both, table = scripted(monkeypatch, Scripted(0.0), Scripted(6.0), Scripted(0.0))
    for draws in (4_500, 6_000, 8_000, 10_000):
        both.score(both.fit(seen(table, draws)), NEUTRAL, NEUTRAL)
    assert {0, 2} <= set(both.awake.tolist())


def test_all_models_of_a_guesser_must_fall_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    three, table = scripted(monkeypatch, Scripted(0.0, 6.0), Scripted(6.0, -6.0))
    for draws in (4_500, 6_000):
        three.score(three.fit(seen(table, draws)), NEUTRAL, NEUTRAL)
    assert three.awake.tolist() == [0, 1]


def test_one_column_lets_nobody_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    both, table = scripted(monkeypatch, Scripted(0.0), Scripted(6.0), columns=1)
    for draws in (4_500, 6_000, 9_000):
        both.score(both.fit(seen(table, draws)), NEUTRAL, NEUTRAL)
    assert both.awake.tolist() == [0, 1]


def test_a_sleeper_keeps_its_weight_and_gets_its_refund(monkeypatch: pytest.MonkeyPatch) -> None:
    three, table = scripted(monkeypatch, Scripted(0.0), Scripted(6.0), Scripted(0.01))
    prior = three.prior
    for draws in (4_500, 5_000):
        three.score(three.fit(seen(table, draws)), NEUTRAL, NEUTRAL)
    assert three.awake.tolist() == [0, 2]
    asleep = math.exp(three._log_weight[1])
    assert asleep == pytest.approx(prior[1] / 5_000, rel=1e-6)  # its loss, and one refund
    guesses = three.fit(seen(table, 6_000))
    kept = asleep * (1.0 - 1.0 / 6_000) + prior[1] / 6_000
    three.score(guesses, NEUTRAL, NEUTRAL)
    weight = np.exp(three._log_weight)
    assert weight[1] == pytest.approx(kept, rel=1e-9)
    assert weight.sum() == pytest.approx(1.0, abs=1e-12)
    told = weight[[0, 2]] @ (1.0 / (1.0 + np.exp(-guesses))) / weight[[0, 2]].sum()
    assert three.average(guesses) == pytest.approx(np.log(told / (1.0 - told)), abs=1e-9)


def vectors(draws: int, seed: int = 0) -> tuple[Encoder, Table, npt.NDArray[np.bool_]]:
    """Five columns of Laplace noise, of which the first tells the label."""
    rng, encoder = np.random.default_rng(seed), Encoder()
    labels = rng.random(draws) < 0.5
    outputs = rng.laplace(size=(draws, 5))
    outputs[:, 0] += 2.0 * labels
    return encoder, encoder.encode(outputs), labels


def after(draws: int, *, claim: GaussianDP | PureDP, most: int) -> PairBettor:
    """A bettor some of whose guessers sleep, when it has just fitted."""
    encoder, table, labels = vectors(most)
    bettor = PairBettor(book_for(claim), encoder)
    while bettor.draws < draws:
        batch = slice(bettor.draws, bettor.draws + bettor.next_batch(patience=2.0))
        bettor.play(table.take(batch), labels[batch], target=math.inf)
    return bettor


@pytest.fixture(scope="module")
def asleep() -> PairBettor:
    bettor = after(6_000, claim=PureDP(1.0), most=12_000)
    guessers = bettor._fitted()
    assert len(guessers.awake) < len(guessers.prior)
    return bettor


def test_the_wealth_of_a_sleeper_stays(asleep: PairBettor) -> None:
    bettor = copy.deepcopy(asleep)
    awake = bettor._fitted().awake
    resting = np.setdiff1d(np.arange(1, len(bettor._bets)), 1 + awake)
    before = bettor._bets.copy()
    _, table, labels = vectors(200, seed=5)
    bettor.play(table, labels, target=math.inf)
    np.testing.assert_array_equal(bettor._bets[resting], before[resting])
    active = bettor._book.active
    assert (bettor._bets[np.ix_(1 + awake, active)] != before[np.ix_(1 + awake, active)]).all()
    mean = np.logaddexp.reduce(bettor._log_share + bettor._bets, axis=0)
    np.testing.assert_array_equal(bettor.log_wealth, mean)


def test_a_target_is_reached_where_the_wealth_with_the_sleepers_reaches_it(
    asleep: PairBettor,
) -> None:
    _, table, labels = vectors(200, seed=5)
    place, path = asleep._book.place, []
    for size in range(1, 201):
        bettor = copy.deepcopy(asleep)
        bettor.play(table.take(slice(size)), labels[:size], target=math.inf)
        path.append(float(bettor.log_wealth[place]))
    target = path[0] + 0.7 * (max(path) - path[0])
    first = 1 + next(step for step, wealth in enumerate(path) if wealth >= target)
    assert copy.deepcopy(asleep).play(table, labels, target=target) == first


def test_a_bet_does_not_depend_on_the_batch_it_is_made_in(asleep: PairBettor) -> None:
    _, table, _ = vectors(50, seed=7)
    guessers = asleep._fitted()
    together = asleep._bets_on(guessers, table)
    for row in range(50):
        alone = asleep._bets_on(guessers, table.take([row]))
        np.testing.assert_allclose(alone.up[..., 0], together.up[..., row], atol=1e-9)
        np.testing.assert_allclose(alone.down[..., 0], together.down[..., row], atol=1e-9)


def test_a_claim_bet_on_by_the_average_alone_has_sleepers_too() -> None:
    bettor = after(5_500, claim=GaussianDP(1.0), most=11_000)
    assert len(bettor._fitted().awake) < len(bettor._fitted().prior)
    assert bettor.log_wealth[bettor._book.place] > 0.0


def test_trees_that_learned_a_full_memory_learn_anew_after_four_times_the_draws(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fits: list[int] = []
    monkeypatch.setattr(trees, "fitted", lambda model, rows, *rest: fits.append(len(rows)))
    boosted, rng = trees.Boosted(), np.random.default_rng(0)
    window = LabelledRows.of(Table(rng.normal(size=(1_000, 2)), None), rng.random(1_000) < 0.5)
    learned = []
    for draws in (300, 600, 1_000, 1_600, 2_400, 3_999, 4_000, 8_000, 16_000):
        rows = window.take(slice(draws))
        count = len(fits)
        boosted.fit(LabelledRows(rows.table, rows.ones, rows.zeros, rows.exact, draws))
        learned += [draws] * (len(fits) - count)
    assert learned == [300, 600, 1_000, 4_000, 16_000]
