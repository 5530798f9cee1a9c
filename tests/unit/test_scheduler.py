"""The scheduler: which pair gets the next draws, which goes on, which is forgotten."""

from __future__ import annotations

import statistics
from collections import Counter
from typing import Any

import numpy as np
import pytest

from dpaudit.auditing import Candidate, Scheduler
from dpaudit.betting import Stake
from dpaudit.neighbours import Pair

LEVELS = np.array([0.25, 0.5, 1.0, 2.0])


class FakeBook:
    levels = LEVELS
    place = 2


class FakeBettor:
    """As much wealth as the test says, at the claim and at every level below it."""

    def __init__(self, wealth: float, draws: int) -> None:
        self.draws = draws
        self.log_wealth = np.array([wealth, wealth, wealth, -5.0])


def candidate(number: int, wealth: float, *, draws: int = 0) -> Candidate:
    bettor: Any = FakeBettor(wealth, draws)
    shards: Any = None  # the scheduler draws nothing
    return Candidate(number, Pair([number], []), shards, bettor, Stake(0.5))


def scheduler(draws: int = 20_000) -> Scheduler:
    book: Any = FakeBook()
    return Scheduler(book, draws)


def give(ours: Scheduler, wealths: list[float], most: int = 10**6) -> Counter[int]:
    """Scheduler pairs of these wealths until the draws are made; the draws of each."""
    given: Counter[int] = Counter()
    while sum(given.values()) < most:
        chosen, wanted = ours.next()
        if chosen is None and wanted == 0:
            break
        if chosen is None:
            if ours.met == len(wealths):
                ours.closed = True
                continue
            chosen = candidate(ours.met, wealths[ours.met])
            ours.enter(chosen)
        before = chosen.log_wealth(2)
        assert isinstance(chosen.bettor, FakeBettor)
        chosen.bettor.draws += wanted
        given[chosen.number] += wanted
        ours.update(chosen, before)
    return given


def test_the_first_pair_is_looked_at_longest_and_later_ones_get_cheap_looks() -> None:
    ours, looks = scheduler(), []
    for number in range(100):
        chosen, wanted = ours.next()
        if chosen is None:
            chosen = candidate(number, -0.1)
            ours.enter(chosen)
            looks.append(wanted)
        assert isinstance(chosen.bettor, FakeBettor)
        chosen.bettor.draws += wanted
        ours.update(chosen, -0.1)
    assert looks == sorted(looks, reverse=True)
    assert looks[0] == 500
    assert looks[-1] == 64


def test_of_pairs_that_show_nothing_most_get_one_look_and_few_get_many() -> None:
    given = give(scheduler(), list(np.linspace(-1.0, -0.5, 300)), most=95_000)
    looks = sorted(given.values())
    assert len(given) > 150
    assert looks[len(looks) // 2] <= 500  # the dead get no more than their look
    assert looks[-1] >= 5 * looks[0]


def test_the_better_of_pairs_that_show_nothing_go_on() -> None:
    wealths = [-1.0] * 400  # more than can be met
    for place in (7, 23, 41):
        wealths[place] = -0.5
    given = give(scheduler(), wealths, most=40_000)
    usual = statistics.median(given.values())
    assert min(given[place] for place in (7, 23, 41)) > 2 * usual


def test_a_pair_that_earns_is_pressed_before_all_others() -> None:
    ours = scheduler()
    looked_at = 20_000  # the first look is over
    earning, other = candidate(0, 2.0, draws=looked_at), candidate(1, -1.0, draws=looked_at)
    for one in (earning, other):
        ours.enter(one)
    ours.update(earning, 1.0)  # it has gained a nat
    assert ours.next()[0] is earning
    ours.update(earning, 3.0)  # it has lost one: others may have their turn again
    assert ours.next()[0] is not earning


def test_half_of_the_draws_go_to_the_pair_that_promises_most() -> None:
    wealths = [-1.0] * 400
    wealths[3] = 9.0
    given = give(scheduler(), wealths, most=60_000)
    assert 0.45 <= given[3] / given.total() <= 0.75


def test_without_new_pairs_the_best_pair_gets_all() -> None:
    ours = scheduler()
    ours.closed = True
    assert ours.next() == (None, 0)
    one = candidate(0, 5.0)
    ours.enter(one)
    assert ours.next()[0] is one


def test_a_score_must_be_beyond_the_luck_of_all_pairs_met() -> None:
    ours = scheduler()
    lucky = candidate(0, 2.0)
    ours.enter(lucky)
    assert ours.score(lucky) == 1.0  # the claim's own level
    for number in range(1, 4):
        ours.enter(candidate(number, -1.0))
    assert ours.score(lucky) == 0.0  # 2 nats are less than 1 + log 4


def test_the_experts_of_the_worst_pairs_are_forgotten() -> None:
    ours = scheduler()
    wealths = list(np.random.default_rng(0).normal(size=200))
    give(ours, wealths, most=80_000)
    assert len(ours.candidates) <= 32
    assert ours.strongest is not None
    met = wealths[: ours.met]
    assert ours.strongest.number == int(np.argmax(met))


@pytest.mark.parametrize("draws", [1, 63, 1_000, 10**9])
def test_looks_stay_within_bounds_whatever_the_budget(draws: int) -> None:
    _, wanted = scheduler(draws).next()
    assert 64 <= wanted <= 3_000


def test_a_pair_that_lost_bets_goes_before_one_on_which_nothing_was_bet() -> None:
    ours, unlucky, silent = scheduler(), candidate(0, -2.0), candidate(1, 0.0)
    unlucky.bettor.log_wealth[0] = 0.5  # it shows a difference, if not much
    for one in (unlucky, silent):
        ours.enter(one)
    assert ours.strongest is unlucky


def borderline(number: int, *, draws: int) -> Candidate:
    """A pair at its claim: it earns at the levels below, and never at the claim."""
    one = candidate(number, -2.0, draws=draws)
    one.bettor.log_wealth[:2] = draws / 50, draws / 200
    return one


def test_a_pair_at_its_claim_gets_at_most_a_quarter_of_the_draws() -> None:
    ours, total = scheduler(300_000), 0
    first = borderline(0, draws=0)
    while total < 300_000:
        chosen, wanted = ours.next()
        if chosen is None:
            chosen = candidate(ours.met, -1.0) if ours.met else first
            ours.enter(chosen)
        assert isinstance(chosen.bettor, FakeBettor)
        chosen.bettor.draws += wanted
        total += wanted
        if chosen is first:
            draws = first.bettor.draws
            first.bettor.log_wealth[:2] = draws / 50, draws / 200
        ours.update(chosen, chosen.log_wealth(2))
    assert 10_000 < first.bettor.draws <= 75_000


def test_a_fresh_pair_that_foretells_an_excess_goes_before_one_with_many_draws_at_its_claim() -> (
    None
):
    ours, old, fresh = (
        scheduler(300_000),
        borderline(0, draws=40_000),
        candidate(1, 1.0, draws=3000),
    )
    fresh.bettor.log_wealth[:2] = 60.0, 50.0
    for one in (old, fresh):
        ours.enter(one)
        ours.update(one, one.log_wealth(2))
    assert ours.score(old) > 0.0
    ours.closed = True
    assert ours.next()[0] is fresh


def test_of_two_pairs_that_show_the_same_level_the_one_that_grows_at_the_claim_scores_more() -> (
    None
):
    ours, slow, quick = scheduler(), candidate(0, 3.0, draws=1000), candidate(1, 9.0, draws=1000)
    for one in (slow, quick):
        ours.enter(one)
    assert slow.shown(FakeBook(), nats=2.0) == quick.shown(FakeBook(), nats=2.0)  # type: ignore[arg-type]
    assert ours.score(quick) > ours.score(slow)
