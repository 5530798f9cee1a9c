"""The stopped wealth: bets against (epsilon, delta), one canary after the other from the surest.

Every guess is right with probability at most `p = e^epsilon / (1 + e^epsilon)`, but for what delta
allows, so a wealth that is multiplied by `q / p` after a right guess and by `(1 - q) / (1 - p)`
after a wrong one does not grow on average. `q` is predicted from the scores and from the bits
revealed before (docs/mathematics.md, section 11).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpaudit.architecture import Claim, Scalable
from dpaudit.arrays import Floats, Labels
from dpaudit.auditing import check_alpha
from dpaudit.claims import point_of
from dpaudit.errors import UnsupportedClaim
from dpaudit.results import Finding, Null
from dpaudit.training.guesses import checked_scores, right_by_sureness
from dpaudit.training.levels import climb, highest, reached
from dpaudit.training.reference import (
    MOST_SHIFT,
    accuracy_by_sureness,
    expected_log_wealth,
    middles,
)
from dpaudit.training.trade_off import remembered

_PLANNED = 0.6  # share of the first wealth that bets as the reference canaries would have it
_HALF_LIVES = (50.0, 500.0)  # guesses after which a learning bettor has forgotten half
_PRIOR_GUESSES = 5.0  # that a learning bettor starts with
_MARGIN = 0.7  # logarithm of wealth that the plan adds for what the mixture costs
_SURE = 1e-14  # no bettor stakes all: one wrong guess would end it
_MOST_EPSILON = 25.0  # no bets above it: some e^25 canaries would have to be guessed right
_SLACK = 1e-9  # of a logarithm of wealth: more than all rounding errors
_HALVINGS = 30
_FEW = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Stakes:
    """What bets against one `(epsilon, delta)` may win, and where they stop.

    A right guess multiplies the wealth by at most `1 + most_gain`; bets stop once the wealth
    reaches `aim`. `charge` is what delta can have added to the mean of the stopped wealth.
    """

    epsilon: float
    most_gain: float
    aim: float
    charge: float

    @property
    def fair(self) -> float:
        """The accuracy `p` that the claim allows."""
        return 1.0 / (1.0 + math.exp(-self.epsilon))

    @property
    def most(self) -> float:
        """The largest accuracy that may be predicted."""
        return min(self.fair * (1.0 + self.most_gain), 1.0 - _SURE)


def stakes(epsilon: float, delta: float, *, canaries: int, alpha: float) -> Stakes:
    """The stakes of a test at this alpha: `a = min(e^-epsilon, alpha / (4 m delta))`.

    The mean of the stopped wealth is at most `1 + m delta a C`, so reaching `C = 1/(alpha - m delta
    a)` has probability at most alpha.

    >>> print(round(stakes(1.0, 1e-5, canaries=10_000, alpha=0.05).aim, 2))
    26.67
    """
    lost = canaries * delta
    gain = math.exp(-epsilon)
    if lost > 0.0:
        gain = min(gain, alpha / (4.0 * lost))
    aim = 1.0 / (alpha - lost * gain)
    return Stakes(epsilon=epsilon, most_gain=gain, aim=aim, charge=lost * gain * aim)


def stopped_wealth(
    scores: npt.ArrayLike, bits: npt.ArrayLike, claim: Claim, alpha: float = 0.05
) -> Finding:
    """What the bets say of an `(epsilon, delta)` claim after one run.

    `guesses` and `right` count those that were staked before the bets stopped.

    >>> from dpaudit.claims import ApproxDP
    >>> rng = np.random.default_rng(1)
    >>> bits = rng.random(1000) < 0.5
    >>> finding = stopped_wealth(rng.normal(size=1000) + 2.0 * bits, bits, ApproxDP(1.0, 1e-5))
    >>> finding.refuted, finding.lower_bound > 2.0
    (True, True)
    """
    check_alpha(alpha)
    epsilon, delta = checked_point(claim)
    hits, canaries = right_by_sureness(scores, bits), len(checked_scores(scores))
    learned = learned_accuracies(hits)

    def bets(level: float) -> Bets:
        terms = stakes(level, delta, canaries=canaries, alpha=alpha)
        shift = planned_shift(terms, canaries)
        return play(hits, learned, terms, canaries=canaries, shift=shift)

    assert isinstance(claim, Scalable)  # all claims with a point are
    bound = climb(claim, lambda level: bets(level).reached)
    at_claim = bets(epsilon)
    return Finding(
        test="stopped wealth",
        source="this library",
        null=Null.ANY_MECHANISM,
        refuted=reached(claim, bound),
        log_evidence=at_claim.log_evidence,
        lower_bound=bound or 0.0,
        ceiling=wealth_ceiling(claim, canaries=canaries, alpha=alpha),
        guesses=at_claim.guesses,
        right=at_claim.right,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Bets:
    """How bets against one `(epsilon, delta)` ended."""

    reached: bool
    log_evidence: float
    guesses: int
    right: int


def play(
    hits: Labels, learned: Sequence[Floats], terms: Stakes, *, canaries: int, shift: float
) -> Bets:
    """Bet on one guess after the other until the wealth reaches its aim.

    Several bettors hold a share of the wealth each; a mean of wealths is a wealth. One expects
    reference canaries that lie `shift` apart, and `learned_accuracies` gives what the others, who
    learn, have to go by.
    """
    if terms.epsilon > _MOST_EPSILON:
        return Bets(reached=False, log_evidence=0.0, guesses=0, right=0)
    planned = accuracy_by_sureness(shift, middles(canaries)[: len(hits)])
    few = len(hits) // _FEW  # bets that end do so among the first guesses, as a rule
    first = _play(hits[:few], [one[:, :few] for one in learned], terms, planned[:few])
    return first if first.reached else _play(hits, learned, terms, planned)


def _play(hits: Labels, learned: Sequence[Floats], terms: Stakes, planned: Floats) -> Bets:
    share = (1.0 - _PLANNED) / len(learned)
    accuracies = [planned, *(_with_prior(one, terms.most) for one in learned)]
    weights = [_PLANNED] + [share] * len(learned)
    wealth = np.full(len(hits), -np.inf)
    staked = np.zeros(len(hits), dtype=np.bool_)
    for accuracy, weight in zip(accuracies, weights, strict=True):
        predicted = np.clip(accuracy, terms.fair, terms.most)
        staked |= predicted > terms.fair
        wealth = np.logaddexp(wealth, math.log(weight) + log_wealth(hits, predicted, terms.epsilon))
    return _ended(wealth, staked, hits, terms)


def log_wealth(hits: Labels, predicted: Floats, epsilon: float) -> Floats:
    """The logarithm of one bettor's wealth after each guess.

    >>> wealth = log_wealth(np.array([True, False]), np.array([0.9, 0.9]), math.log(3.0))
    >>> print(np.exp(wealth).round(3))  # 0.9 / 0.75, then times 0.1 / 0.25
    [1.2  0.48]
    """
    log_fair, log_unfair = -math.log1p(math.exp(-epsilon)), -math.log1p(math.exp(epsilon))
    gains = np.where(hits, np.log(predicted) - log_fair, np.log1p(-predicted) - log_unfair)
    return np.asarray(np.cumsum(gains))


def learned_accuracies(hits: Labels) -> list[Floats]:
    """Before each guess: how many guesses were right and how many there were, half forgotten.

    One pair of rows for each half-life and one that forgets nothing; no guess knows its own result.
    """
    from scipy.signal import lfilter

    known = np.concatenate([[0.0], hits[:-1]]) if len(hits) else np.zeros(0)
    made = (np.arange(len(hits)) > 0).astype(np.float64)
    keep = [0.5 ** (1.0 / half) for half in _HALF_LIVES] + [1.0]
    return [
        np.stack([lfilter([1.0], [1.0, -one], known), lfilter([1.0], [1.0, -one], made)])
        for one in keep
    ]


def _with_prior(counts: Floats, prior: float) -> Floats:
    right, made = counts
    return np.asarray((right + _PRIOR_GUESSES * prior) / (made + _PRIOR_GUESSES))


def _ended(wealth: Floats, staked: Labels, hits: Labels, terms: Stakes) -> Bets:
    """Stop at the first guess after which the wealth has reached its aim."""
    there = wealth >= math.log(terms.aim) + _SLACK
    stop = int(np.argmax(there)) + 1 if there.any() else len(wealth)
    last = float(wealth[stop - 1]) if stop else 0.0
    return Bets(
        reached=bool(there.any()),
        log_evidence=last - _SLACK - math.log1p(terms.charge),
        guesses=int(staked[:stop].sum()),
        right=int((staked & hits)[:stop].sum()),
    )


@remembered
def planned_shift(terms: Stakes, canaries: int) -> float:
    """The shift of the reference canaries at which the wealth reaches its aim half the time."""
    if terms.epsilon > _MOST_EPSILON:
        return MOST_SHIFT
    aim = math.log(terms.aim) - math.log(_PLANNED) + _MARGIN
    low, high = 0.0, MOST_SHIFT
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        gained = expected_log_wealth(middle, canaries, math.exp(terms.epsilon), terms.most_gain)
        low, high = (middle, high) if gained < aim else (low, middle)
    return high


@remembered
def wealth_ceiling(claim: Scalable, *, canaries: int, alpha: float) -> float:
    """The highest epsilon that perfect guesses could refute: `m log(1 + a) >= log C`.

    >>> from dpaudit.claims import PureDP
    >>> print(round(wealth_ceiling(PureDP(1.0), canaries=1000, alpha=0.05), 1))
    5.7
    """
    _, delta = checked_point(claim)
    return highest(claim, lambda level: within_reach(level, delta, canaries=canaries, alpha=alpha))


def within_reach(epsilon: float, delta: float, *, canaries: int, alpha: float) -> bool:
    """Whether perfect guesses would refute."""
    terms = stakes(epsilon, delta, canaries=canaries, alpha=alpha)
    possible = epsilon <= _MOST_EPSILON
    return possible and canaries * math.log1p(terms.most_gain) >= math.log(terms.aim)


def checked_point(claim: Claim) -> tuple[float, float]:
    """The `(epsilon, delta)` of a claim; other claims are refused."""
    if point := point_of(claim):
        return point
    raise UnsupportedClaim(
        f"the stopped wealth says nothing about {claim}. Use error_recursion, or the"
        " (epsilon, delta) that the claim implies."
    )
