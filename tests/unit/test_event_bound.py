"""Bounds on events hold with the stated probability, and say the same of every claim.

Coverage is computed by going through all outcomes, not by drawing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom, multinomial, norm

from dpaudit.claims import ZCDP, ApproxDP, Claim, GaussianDP, Profile, PureDP, RenyiDP
from dpaudit.errors import UnsupportedClaim
from dpaudit.testers import Curve
from dpaudit.testers.event_bound import (
    allowed,
    curve_finding,
    exact,
    gilbert_mcmillan,
    hoeffding,
    level_finding,
)
from dpaudit.testers.event_choice import (
    Ranked,
    Sizes,
    curve_events,
    exact_events,
    expected_exact,
    expected_hoeffding,
    ranked,
    strongest,
)
from dpaudit.testers.tester import largest_strength

LEVELS = (0.0, 0.5, 1.0, 3.0)
SCALABLE = [
    PureDP(1.0),
    ApproxDP(1.0, 0.05),
    GaussianDP(1.0),
    ZCDP(0.3),
    RenyiDP(2.0, 0.5),
]


def outcomes(draws: int, p: float) -> Iterator[tuple[int, float]]:
    """The hits that so many draws can have, with their probabilities."""
    return ((hits, float(binom.pmf(hits, draws, p))) for hits in range(draws + 1))


@pytest.mark.parametrize("alpha", [0.3, 0.05])
@pytest.mark.parametrize(("p", "q"), [(0.9, 0.1), (0.5, 0.5), (0.3, 0.02), (1.0, 0.0)])
def test_exact_bounds_hold_at_all_levels_at_once(p: float, q: float, alpha: float) -> None:
    wrong = 0.0
    for (hits, chance), (other_hits, other) in itertools.product(outcomes(12, p), outcomes(9, q)):
        curve = exact(np.array([hits]), 12, np.array([other_hits]), 9, alpha=alpha)
        if any(curve.excess(level) > p - math.exp(level) * q + 1e-12 for level in LEVELS):
            wrong += chance * other
    assert wrong <= alpha


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("p", "q"), [(0.9, 0.1), (0.5, 0.5), (0.3, 0.02), (1.0, 0.0)])
def test_hoeffding_holds_at_one_level(p: float, q: float, level: float) -> None:
    alpha, wrong = 0.2, 0.0
    for (hits, chance), (other_hits, other) in itertools.product(outcomes(12, p), outcomes(9, q)):
        bound = hoeffding(hits, 12, other_hits, 9, alpha=alpha)
        wrong += chance * other * (bound(level) > p - math.exp(level) * q + 1e-12)
    assert wrong <= alpha


def test_hoeffding_is_the_penalty_of_the_paper_at_its_proportion_of_labels() -> None:
    """Labels 1 : t, m in all, `t = e^epsilon`: `(1 + t) (accuracy - sqrt(log(1/a) / 2m)) - t`."""
    scale, draws, other = 3.0, 100, 300
    accuracy = (90 + 300 - 30) / 400
    paper = (1 + scale) * (accuracy - math.sqrt(math.log(20) / 800)) - scale
    assert hoeffding(90, draws, 30, other, alpha=0.05)(math.log(scale)) == pytest.approx(paper)


def histograms(draws: int, shares: tuple[float, ...]) -> list[tuple[npt.NDArray[np.int64], float]]:
    """All histograms that so many draws can have, with their probabilities."""
    cells = len(shares)
    counts = [c for c in itertools.product(range(draws + 1), repeat=cells) if sum(c) == draws]
    return [(np.array(c), float(multinomial.pmf(c, draws, shares))) for c in counts]


@pytest.mark.parametrize("level", [0.0, 0.7, 2.0])
@pytest.mark.parametrize(
    ("shares", "other_shares"),
    [
        ((0.3, 0.3, 0.4), (0.3, 0.3, 0.4)),
        ((0.8, 0.1, 0.1), (0.2, 0.4, 0.4)),
        ((0.5, 0.5, 0.0), (0.0, 0.1, 0.9)),
    ],
)
def test_the_whole_histogram_is_bounded(
    shares: tuple[float, ...], other_shares: tuple[float, ...], level: float
) -> None:
    alpha, draws, other_draws = 0.3, 7, 5
    gaps = np.array(shares) - math.exp(level) * np.array(other_shares)
    divergence = float(np.maximum(gaps, 0.0).sum())
    wrong, mean = 0.0, 0.0
    for (x, chance), (y, other) in itertools.product(
        histograms(draws, shares), histograms(other_draws, other_shares)
    ):
        bound = gilbert_mcmillan(x, draws, y, other_draws, alpha=alpha)
        wrong += chance * other * (bound(level) > divergence + 1e-12)
        # alpha = 1 takes off only the expected error
        mean += chance * other * gilbert_mcmillan(x, draws, y, other_draws, alpha=1.0)(level)
    assert wrong <= alpha
    assert mean <= divergence + 1e-12


def test_the_expected_error_is_not_taken_off_twice() -> None:
    """The plug-in less nothing exceeds the divergence on average: the bias is real."""
    x_and_y = itertools.product(histograms(7, (0.5, 0.5)), histograms(7, (0.5, 0.5)))
    mean = sum(a * b * np.maximum(x - y, 0).sum() / 7 for (x, a), (y, b) in x_and_y)
    assert mean > 0.1


@pytest.mark.parametrize("claim", SCALABLE, ids=str)
@pytest.mark.parametrize("event", [(0.9, 0.1), (0.6, 0.3), (0.5, 0.5), (0.02, 0.001), (0.1, 0.6)])
def test_verdict_and_strength_agree(claim: Claim, event: tuple[float, float]) -> None:
    assert hasattr(claim, "strength")
    finding = curve_finding(claim, Curve(events=(event,)))
    assert finding.strength_lower is not None
    refuted = finding.lower_bound > allowed(claim)
    assert refuted == (finding.strength_lower > claim.strength)


@pytest.mark.parametrize("claim", SCALABLE, ids=str)
def test_the_strength_is_the_largest_refuted(claim: Claim) -> None:
    curve = Curve(events=((0.9, 0.1), (0.3, 0.001)))
    strength = curve_finding(claim, curve).strength_lower
    assert strength is not None
    for factor, refuted in ((0.999, True), (1.01, False)):
        weaker = claim.with_strength(strength * factor)  # type: ignore[attr-defined]
        assert (curve_finding(weaker, curve).lower_bound > allowed(weaker)) is refuted


@pytest.mark.parametrize(("p", "q"), [(0.9, 0.1), (0.6, 0.3), (0.02, 0.001), (0.5, 0.2)])
def test_a_gaussian_strength_is_a_difference_of_normal_quantiles(p: float, q: float) -> None:
    """An event refutes mu exactly if `q < Phi(Phi^-1(p) - mu)` (Dong, Roth and Su 2022)."""
    exact_mu = norm.ppf(p) - norm.ppf(q)
    finding = curve_finding(GaussianDP(0.5), Curve(events=((p, q),)))
    assert finding.strength_lower is not None
    assert exact_mu - 1e-3 <= finding.strength_lower <= exact_mu + 1e-9


def test_a_claim_is_compared_with_what_it_allows() -> None:
    assert allowed(ApproxDP(1.0, 0.01)) == 0.01
    assert allowed(PureDP(1.0)) == allowed(GaussianDP(1.0)) == 0.0
    finding = curve_finding(ApproxDP(1.0, 0.01), Curve(events=((0.5, 0.1),)))
    assert finding.lower_bound == pytest.approx(0.5 - math.e * 0.1)
    assert finding.strength_lower == pytest.approx(math.log(0.49 / 0.1))


def test_a_profile_has_no_strength() -> None:
    claim = Profile(PureDP(1.0).delta)
    finding = curve_finding(claim, Curve(events=((0.9, 0.1),)))
    assert finding.strength_lower is None
    assert finding.lower_bound == pytest.approx(0.9 - math.e * 0.1, abs=1e-3)
    assert level_finding(claim, hoeffding(9, 10, 1, 10, alpha=0.5), 1.0).strength_lower is None


def test_a_claim_without_a_profile_is_refused() -> None:
    with pytest.raises(UnsupportedClaim, match=r"must have a privacy profile.*got 1\.0"):
        allowed(1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("claim", SCALABLE, ids=str)
def test_a_bound_at_one_level_agrees_with_its_strength(claim: Claim) -> None:
    assert hasattr(claim, "strength")
    for hits, other_hits in ((900, 100), (600, 300), (500, 500)):
        bound = hoeffding(hits, 1000, other_hits, 1000, alpha=0.05)
        finding = level_finding(claim, bound, 0.8)
        assert finding.strength_lower is not None
        refuted = finding.lower_bound > allowed(claim)
        assert refuted == (finding.strength_lower > claim.strength)


def test_nothing_overflows() -> None:
    curve = Curve(events=((0.9, 1e-9),))
    assert curve.delta_lower(1e6) == 0.0
    assert curve_finding(PureDP(1e6), curve).lower_bound < 0.0
    assert hoeffding(9, 10, 0, 10, alpha=0.1)(1e6) < 0.0
    assert gilbert_mcmillan(np.array([9, 1]), 10, np.array([0, 9]), 9, alpha=0.1)(1e6) < 0.0


def test_a_curve_falls_and_its_two_readings_agree() -> None:
    curve = Curve(events=((0.9, 0.4), (0.5, 0.05), (0.1, 0.0005)))
    levels = np.linspace(0.0, 6.0, 60)
    deltas = [curve.delta_lower(level) for level in levels]
    assert deltas == sorted(deltas, reverse=True)
    for level, delta in zip(levels, deltas, strict=True):
        assert curve.epsilon_lower(delta) == pytest.approx(level, abs=1e-9) or delta == 0.0
    assert curve.epsilon_lower(0.0) == pytest.approx(math.log(200))


def test_several_events_share_alpha() -> None:
    three = exact(np.array([9, 8, 7]), 10, np.array([1, 1, 0]), 10, alpha=0.3)
    alone = exact(np.array([8]), 10, np.array([1]), 10, alpha=0.1)
    assert three.events[1] == alone.events[0]


def test_the_search_for_a_strength_ends() -> None:
    claim = PureDP(1.0)
    assert largest_strength(claim, lambda other: False) == 0.0
    assert (largest_strength(claim, lambda other: True) or 0.0) > 1e5
    found = largest_strength(claim, lambda other: other.strength < 1e-3)
    assert found == pytest.approx(1e-3, rel=1e-3)


def test_ranked_scores_are_counted_as_a_loop_would() -> None:
    rng = np.random.default_rng(0)
    scores = rng.integers(8, size=60).astype(np.float64)
    labels = rng.random(60) < 0.5
    events = ranked(scores, labels.astype(np.float64), (~labels).astype(np.float64))
    assert len(events.thresholds) == 8
    for threshold, hits, other in zip(
        events.thresholds, events.hits, events.neighbour_hits, strict=True
    ):
        assert hits == sum(1 for s, y in zip(scores, labels, strict=True) if s > threshold and y)
        assert other == sum(
            1 for s, y in zip(scores, labels, strict=True) if s > threshold and not y
        )


def test_many_scores_are_thinned_but_the_rarest_events_stay() -> None:
    scores = np.arange(100_000.0)
    events = ranked(scores, np.ones(100_000), np.zeros(100_000))
    assert len(events.thresholds) < 600
    assert events.hits[0] == 1.0
    assert events.hits[-1] == 100_000.0
    below_a_bin = events.hits[events.hits < 390]
    assert len(below_a_bin) > 12
    assert (below_a_bin[1:] / below_a_bin[:-1]).max() <= 2.0


def test_the_event_with_the_largest_expected_strength_is_chosen() -> None:
    events = Ranked(
        thresholds=np.array([3.0, 2.0, 1.0, -np.inf]),
        hits=np.array([5.0, 400.0, 900.0, 1000.0]),
        neighbour_hits=np.array([0.0, 40.0, 300.0, 1000.0]),
    )
    sizes = Sizes(draws=100_000, neighbour_draws=100_000, alpha=0.05)
    strength, event = strongest(PureDP(1.0), expected_exact(events, sizes))
    assert event == 1
    assert strength < math.log(10.0)
    assert exact_events(PureDP(3.0), events, sizes) == [1]  # nothing else would refute 3
    assert exact_events(PureDP(0.1), events, sizes) == [1, 2]  # 0.9 - e^0.1 0.3 is the larger
    assert curve_events(events, sizes) == [1, 2]


def test_expected_bounds_come_near_to_the_bounds() -> None:
    """With training large enough to know p and q, it is what expected counts certify."""
    events = Ranked(
        thresholds=np.array([1.0, -np.inf]),
        hits=np.array([3e9, 1e10]),
        neighbour_hits=np.array([1e9, 1e10]),
    )
    sizes = Sizes(draws=1000, neighbour_draws=2000, alpha=0.05)
    certified = exact(np.array([300]), 1000, np.array([200]), 2000, alpha=0.05)
    expected = expected_exact(events, sizes)(0.5)[0]
    assert expected == pytest.approx(certified.excess(0.5), abs=2e-3)
    by_name = hoeffding(300, 1000, 200, 2000, alpha=0.05)(0.5)
    assert expected_hoeffding(events, sizes)(0.5)[0] == pytest.approx(by_name)
