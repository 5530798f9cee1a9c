"""Canaries of one run under independence: the verdict, the bound, the trace, and every claim."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from dpaudit.arrays import Floats, Labels
from dpaudit.claims import ZCDP, ApproxDP, Claim, GaussianDP, Profile, PureDP, RenyiDP
from dpaudit.errors import InvalidSamples
from dpaudit.results import Null
from dpaudit.training.gaussian_hand import GaussianHand, shifts_around
from dpaudit.training.hands import GuessingHand, Hands, ceiling
from dpaudit.training.independent import independent

CLAIMS: list[Claim] = [
    PureDP(0.5),
    ApproxDP(0.5, 1e-3),
    GaussianDP(0.5),
    RenyiDP(2.0, 0.2),
    ZCDP(0.1),
    Profile(GaussianDP(0.5).delta),
]


def canaries(number: int, shift: float, seed: int) -> tuple[Floats, Labels]:
    """Scores with unit noise, higher by `shift` where the canary is in."""
    rng = np.random.default_rng(seed)
    bits = rng.random(number) < 0.5
    return rng.normal(size=number) + shift * bits, bits


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
@pytest.mark.parametrize("noise", [1.0, None])
def test_every_claim_is_refuted_where_it_is_far_from_kept(
    claim: Claim, noise: float | None
) -> None:
    scores, bits = canaries(150, 3.0, seed=1)
    finding, trace = independent(scores, bits, claim, 1e-4, noise=noise, rng=2)
    assert finding.refuted
    assert finding.null is Null.INDEPENDENT_CANARIES
    assert finding.log_evidence >= math.log(1e4)
    assert trace.refuted_after is not None
    assert trace.refuted_after <= 120
    if isinstance(claim, Profile):
        assert finding.lower_bound is finding.ceiling is None
    else:
        assert finding.lower_bound is not None
        assert finding.ceiling is not None
        assert claim.strength <= finding.lower_bound < finding.ceiling  # type: ignore[attr-defined]


def test_a_claim_that_is_kept_by_far_is_not_refuted_and_still_bounded() -> None:
    scores, bits = canaries(600, 2.0, seed=3)
    finding, trace = independent(scores, bits, GaussianDP(2.2), noise=1.0, rng=4)
    assert not finding.refuted
    assert trace.refuted_after is None
    assert finding.lower_bound is not None
    assert 1.1 <= finding.lower_bound <= 2.0


@pytest.mark.parametrize("noise", [3.0, None])
def test_units_of_the_scores_do_not_matter(noise: float | None) -> None:
    scores, bits = canaries(150, 2.0, seed=5)
    moved = 3.0 * scores if noise else 3.0 * scores + 1e9
    plain, _ = independent(scores, bits, GaussianDP(1.0), noise=noise and 1.0, rng=6)
    other, _ = independent(moved, bits, GaussianDP(1.0), noise=noise, rng=6)
    assert other.log_evidence == pytest.approx(plain.log_evidence, abs=0.2)


@pytest.mark.parametrize("factor", [0.0, 1e-200, 1e300])
def test_strange_scores_neither_warn_nor_fail(factor: float) -> None:
    scores, bits = canaries(60, 2.0, seed=7)
    for noise in (None, 1.0):
        finding, _ = independent(factor * scores, bits, PureDP(1.0), noise=noise, rng=8)
        assert math.isfinite(finding.log_evidence)


def test_the_same_rng_gives_the_same_finding() -> None:
    scores, bits = canaries(100, 1.0, seed=9)
    found = [independent(scores, bits, GaussianDP(1.0), rng=rng)[0] for rng in (1, 1, 2)]
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_the_trace_is_short_and_ends_at_the_last_canary() -> None:
    scores, bits = canaries(3000, 1.0, seed=10)
    _, trace = independent(scores, bits, PureDP(8.0), rng=11)
    numbers = [seen for seen, _ in trace.points]
    assert numbers[:64] == list(range(1, 65))
    assert numbers[-1] == 3000
    assert len(numbers) <= 1000


def test_a_bet_depends_on_earlier_canaries_and_its_own_score_alone() -> None:
    """What comes later does not change the wealth before: neither scores nor bits."""
    claim = GaussianDP(0.5)
    scores, bits = canaries(60, 2.0, seed=12)
    paths = []
    for later in (0.0, 50.0):
        hands = Hands(claim, 1e-9, [(0.5, GaussianHand(claim)), (0.5, GuessingHand(claim))])
        changed = np.where(np.arange(60) < 40, scores, scores + later)
        for place in range(60):
            some = slice(place, place + 1)
            hands.see([changed[some]] * 2, bits[some], draws=place + 1)
        paths.append(hands.trace.points)
    assert paths[0][:40] == paths[1][:40]
    assert paths[0][40:] != paths[1][40:]


@pytest.mark.parametrize("claim", CLAIMS[:5], ids=str)
def test_each_payoff_of_the_gaussian_hand_is_fair_on_a_pair_that_keeps_the_claim(
    claim: Claim,
) -> None:
    """Its mean over both labels and the normal pair on the claim, by numerical integration."""
    kept = float(shifts_around(claim)[16])
    while any(
        GaussianDP(kept).delta(level) > claim.delta(level) for level in np.arange(0.0, 6.0, 0.1)
    ):
        kept *= 0.95  # the Gaussian that keeps a claim of another kind is smaller
    if isinstance(claim, PureDP):
        kept = 0.0
    grid = np.linspace(-8.0, 8.0, 3201)
    density = {side: norm.pdf(grid - kept * side) / norm.pdf(grid).sum() for side in (0, 1)}
    scores, bits = canaries(50, 2.0, seed=13)
    hand = GaussianHand(claim, noise=1.0)
    hand.bet(scores, bits, settled=0)
    hand.bet(scores[:1], bits[:1], settled=0)  # learns the first fifty
    guess = hand.log_odds(grid)
    up, down = (paid[0] for paid in hand._book.log_payoffs(guess, guess[None]))
    place = list(hand._book.active).index(hand.place)
    mean = 0.5 * (np.exp(up[place]) @ density[1] + np.exp(down[place]) @ density[0])
    assert mean <= 1.0 + 1e-9


def test_payoffs_that_are_averaged() -> None:
    """The wealth after some canaries is the mean of what each alone would have left."""
    claim = GaussianDP(0.5)
    scores, bits = canaries(50, 2.0, seed=14)
    kinds = (lambda averaged: GaussianHand(claim, noise=1.0, averaged=averaged),)
    for make in (*kinds, lambda averaged: GuessingHand(claim, averaged=averaged)):

        def wealth_after(some: slice, *, averaged: bool, make=make) -> float:  # type: ignore[no-untyped-def]
            hand = make(averaged)
            for place in range(20):
                hand.bet(scores[place : place + 1], bits[place : place + 1], settled=0)
            hand.bet(scores[some], bits[some], settled=0)
            return float(np.exp(hand.log_wealth[0]))

        alone = [wealth_after(slice(place, place + 1), averaged=False) for place in range(40, 44)]
        together = wealth_after(slice(40, 44), averaged=True)
        assert together == pytest.approx(np.mean(alone), rel=1e-9)


def test_the_ceiling_is_what_perfect_guesses_refute() -> None:
    bits = np.random.default_rng(15).random(500) < 0.5
    finding, _ = independent(1.0 * bits, bits, PureDP(4.0), rng=16)
    assert finding.lower_bound is not None
    assert finding.ceiling is not None
    assert 0.75 * finding.ceiling < finding.lower_bound < finding.ceiling
    assert finding.right >= finding.guesses - 3
    assert ceiling(PureDP(1.0), guesses=1000, alpha=0.05) == pytest.approx(
        math.log(1000 / math.log(20)), abs=0.01
    )


def test_shifts_lie_around_the_gaussian_that_keeps_the_claim() -> None:
    assert shifts_around(GaussianDP(1.3))[16] == pytest.approx(1.3)
    assert shifts_around(ApproxDP(4.376, 1e-3))[16] == pytest.approx(1.33, abs=0.1)
    assert shifts_around(ZCDP(0.5))[16] == pytest.approx(1.0, abs=0.3)
    assert np.all(np.diff(shifts_around(PureDP(1.0))) >= 0.0)


@pytest.mark.parametrize(
    ("scores", "bits", "words"),
    [
        ([1.0, 2.0], [1], "one score and one bit"),
        ([1.0, math.nan], [1, 0], "finite"),
        ([1.0, 2.0], [1, 2], "0 or 1"),
    ],
)
def test_what_is_no_canary_is_refused(scores: list[float], bits: list[int], words: str) -> None:
    with pytest.raises(InvalidSamples, match=words):
        independent(scores, bits, PureDP(1.0))


def test_settings_that_make_no_sense_are_refused() -> None:
    scores, bits = canaries(4, 1.0, seed=17)
    with pytest.raises(TypeError, match="claim"):
        independent(scores, bits, 1.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="alpha"):
        independent(scores, bits, PureDP(1.0), 0.0)
    with pytest.raises(ValueError, match="noise"):
        independent(scores, bits, PureDP(1.0), noise=0.0)
