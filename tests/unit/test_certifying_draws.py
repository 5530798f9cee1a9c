"""How many draws a certificate is given: planned exactly, and bounded by what the search cost."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpaudit
from dpaudit.auditing import Budget, CertifyingLimit, FreshDraws, draws_for_promise
from dpaudit.auditing.certifying_draws import FREE_DRAWS, MIN_CERTIFYING_DRAWS, SEARCH_FACTOR
from dpaudit.bounds import proportion_anytime
from dpaudit.results import Tally

MANY = FreshDraws(least=1, most=10**7)


def expected_epsilon(p: float, q: float, draws: int, *, delta: float, alpha: float) -> float:
    """By scipy alone: Clopper and Pearson's bounds of the hits to expect, each at alpha / 4."""
    high, low = math.floor(draws * p), math.ceil(draws * q)
    lower = stats.beta.ppf(alpha / 4, high, draws - high + 1) if high else 0.0
    upper = stats.beta.isf(alpha / 4, low + 1, draws - low) if low < draws else 1.0
    return math.log((lower - delta) / upper) if lower - delta > upper else 0.0


@pytest.mark.parametrize("alpha", [0.05, 1e-6])
@pytest.mark.parametrize(
    ("p_hits", "q_hits", "delta"),
    [(700, 200, 0.0), (500, 3, 0.0), (1000, 400, 0.0), (60, 5, 0.01), (300, 250, 0.0)],
)
def test_the_planned_draws_certify_95_percent_and_one_draw_less_does_not(
    p_hits: int, q_hits: int, delta: float, alpha: float
) -> None:
    p, q = p_hits / 1000, q_hits / 1000
    seen = (p_hits, 1000), (q_hits, 1000)
    draws = draws_for_promise(*seen, MANY, level=(0.0, delta), alpha=alpha)
    wanted = 0.95 * math.log((p - delta) / q)
    assert expected_epsilon(p, q, draws, delta=delta, alpha=alpha) >= wanted
    assert expected_epsilon(p, q, draws - 1, delta=delta, alpha=alpha) < wanted
    for fewer in np.linspace(1, draws / 2, 20).astype(int):
        assert expected_epsilon(p, q, int(fewer), delta=delta, alpha=alpha) < wanted


def test_bounds_that_hold_at_any_time_are_planned_with_more_draws() -> None:
    seen = (700, 1000), (200, 1000)
    draws = draws_for_promise(*seen, MANY, level=(1.0, 0.0), alpha=0.05, anytime=True)
    assert draws > draws_for_promise(*seen, MANY, level=(1.0, 0.0), alpha=0.05)
    bounds = [
        (
            proportion_anytime(math.floor(0.7 * size), size, 0.025)[0],
            proportion_anytime(math.ceil(0.2 * size), size, 0.025)[1],
        )
        for size in (draws, draws - 1)
    ]
    enough, too_few = (math.log(lower / upper) for lower, upper in bounds)
    assert enough >= 0.95 * math.log(3.5) > too_few


@pytest.mark.parametrize(
    ("likely", "unlikely", "delta"),
    [
        ((500, 1000), (0, 1000), 0.0),  # promises more than any number of draws certifies
        ((200, 1000), (200, 1000), 0.0),  # promises nothing
        ((10, 1000), (1, 1000), 0.01),  # nothing at this delta
        ((0, 0), (0, 0), 0.0),  # never seen
        ((501, 1000), (500, 1000), 0.0),  # 95 % would take more
    ],
)
def test_all_draws_are_made_where_no_number_is_enough(
    likely: tuple[int, int], unlikely: tuple[int, int], delta: float
) -> None:
    fresh = FreshDraws(least=1_000, most=20_000)
    assert draws_for_promise(likely, unlikely, fresh, level=(0.0, delta), alpha=1e-6) == 20_000


def test_no_fewer_draws_than_the_least_are_planned() -> None:
    seen = (700, 1000), (200, 1000)
    enough = draws_for_promise(*seen, MANY, level=(1.0, 0.0), alpha=1e-6)
    for least in (1, enough // 2, enough, 2 * enough):
        fresh = FreshDraws(least=least, most=4 * enough)
        planned = draws_for_promise(*seen, fresh, level=(1.0, 0.0), alpha=1e-6)
        assert planned == pytest.approx(max(least, enough), rel=0.005)  # whole hits move it a bit
        assert planned >= least


def test_a_fast_certificate_may_cost_ten_times_the_search_and_20000_draws_up_to_80000() -> None:
    budget = Budget(300_000, None)
    for spent, most in ((148, 21_480), (1_000, 30_000), (6_000, 80_000), (250_000, 50_000)):
        budget.spent = spent
        limit = CertifyingLimit.of(budget, "fast", seen=spent)
        assert limit.most == most
        fresh = limit.fresh(limit.choosing)
        assert limit.choosing + 2 * fresh.most <= most
        assert fresh.least == MIN_CERTIFYING_DRAWS


def test_a_sharp_certificate_makes_80000_draws_and_may_make_all_that_are_left() -> None:
    budget = Budget(300_000, None)
    budget.spent = 1_000
    limit = CertifyingLimit.of(budget, "sharp", seen=1_000)
    fresh = limit.fresh(limit.choosing)
    assert limit.choosing + 2 * fresh.least == 80_000
    assert limit.choosing + 2 * fresh.most == 299_000


def test_with_a_clock_a_fast_certificate_ends_after_ten_times_the_search_and_a_second() -> None:
    now = [0.0]
    budget = Budget(None, 100.0, clock=lambda: now[0])
    now[0] = 3.0
    assert CertifyingLimit.of(budget, "fast", seen=10).by == pytest.approx(0.34)  # 3 + 30 + 1
    assert CertifyingLimit.of(budget, "sharp", seen=10).by == 1.0
    now[0] = 20.0
    assert CertifyingLimit.of(budget, "fast", seen=10).by == 1.0


def audited(leak: float, **options: Any) -> tuple[dpaudit.Audit, int, list[int]]:
    """An audit, the draws until it refuted, and the sizes of all calls."""
    sizes: list[int] = []

    def answer(data: Any, size: int, rng: np.random.Generator) -> Any:
        sizes.append(size)
        return rng.random(size) < (leak if data else 1.0 - leak)

    pair = dpaudit.pairs([([1], [])])
    found = dpaudit.audit(answer, dpaudit.PureDP(0.1), pair, rng=7, **options)
    return found, found.evidence.trace[-1][0], sizes


def test_an_early_refutation_costs_no_more_than_stated() -> None:
    """Little leaks for 95 % of it to be certified: the stated limit decides."""
    found, until, sizes = audited(0.7)
    shown = found.counterexample
    assert until < 1_000
    assert shown is not None
    assert shown.breaks(found.claim)
    assert found.samples == sum(sizes)
    searched = found.strongest.samples if found.strongest else 0
    assert found.samples <= (1 + SEARCH_FACTOR) * searched + FREE_DRAWS
    assert shown.data.draws == shown.neighbour.draws > MIN_CERTIFYING_DRAWS


def test_an_event_that_shows_its_worth_early_costs_less() -> None:
    """Clearly unequal answers and a mild alpha: 95 % take far fewer draws than the limit."""
    found, _, _ = audited(0.9, alpha=0.05)
    shown = found.counterexample
    assert shown is not None
    truth = math.log(9.0)
    assert 0.85 * truth < shown.epsilon_lower < truth
    assert MIN_CERTIFYING_DRAWS <= shown.data.draws < 5_000


def test_a_sharp_certificate_shows_more_on_more_draws() -> None:
    fast, sharp = (audited(0.7, certify=how)[0] for how in ("fast", "sharp"))
    assert fast.counterexample is not None
    assert sharp.counterexample is not None
    assert sharp.samples >= 80_000 > 2 * fast.samples
    assert sharp.counterexample.epsilon_lower > fast.counterexample.epsilon_lower


@pytest.mark.parametrize("certify", ["fast", "sharp"])
def test_the_same_seed_gives_the_same_certificate(certify: str) -> None:
    first, second = (audited(0.8, certify=certify)[0].counterexample for _ in range(2))
    assert first == second


def test_an_unknown_way_to_certify_is_refused() -> None:
    with pytest.raises(ValueError, match=r'certify must be "fast" or "sharp", got \'slow\''):
        audited(0.7, certify="slow")


def test_an_excess_in_delta_alone_is_planned_by_its_delta() -> None:
    """The event was never seen on the other side: half of the excess is certified, no more."""
    (hits, seen), (epsilon, delta), alpha = (272, 100_000), (1.0, 0.001), 1e-6
    fresh = FreshDraws(least=1, most=20_000, most_for_delta=10**7)
    draws = draws_for_promise((hits, seen), (0, seen), fresh, level=(epsilon, delta), alpha=alpha)
    p = hits / seen

    def certified(size: int) -> float:
        above = Tally.of(math.floor(size * p), size, alpha=alpha, anytime=False)
        below = Tally.of(0, size, alpha=alpha, anytime=False)
        return above.lower - math.e * below.upper

    assert draws > fresh.most
    assert certified(draws) >= delta + 0.5 * (p - delta) > certified(draws // 2)
    limited = FreshDraws(least=1, most=20_000, most_for_delta=draws // 2)
    plan = draws_for_promise((hits, seen), (0, seen), limited, level=(epsilon, delta), alpha=alpha)
    assert plan == draws // 2
