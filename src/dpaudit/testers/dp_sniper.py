"""DP-Sniper: the surest outputs of a classifier, as many as have a given probability elsewhere."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy.special import expit

from dpaudit.architecture import Guesser
from dpaudit.arrays import Floats, Labels
from dpaudit.claims import Claim, point_of
from dpaudit.errors import UnsupportedClaim
from dpaudit.guessing import Classifier, LabelledRows, Share, learn
from dpaudit.outputs import Table
from dpaudit.testers.event_bound import exact
from dpaudit.testers.logistic import PlainLogistic
from dpaudit.testers.tester import Finding, HeldOutTester, Method, Parts, Rng, check_choices

_FIT_SHARE = 2.0 / 3.0  # of the training outputs; the neighbour's others set the threshold
_RIDGE = 1e-3  # as published
_DECIMALS = 3  # of a probability, as published: scores do not hang on rounding errors


@dataclass(frozen=True, slots=True, kw_only=True)
class DPSniper(HeldOutTester):
    """Shoot where a classifier is surest: the event has probability `c` on the neighbour.

    A classifier learns the probability that an output came from the data. The event is the top of
    these probabilities; its threshold, and the chance with which a tie belongs to it, are those at
    which a share `c` of the neighbour's outputs is inside. Fresh outputs bound it as by Clopper and
    Pearson: `epsilon >= log((p_lower - delta) / q_upper)`. It certifies at most about `log(1/c)`,
    since it leaves alone what is rarer on the neighbour, in pure and approximate DP.

    - `classifier`: `"logistic"` regression of the standardised numbers, as published; `"neural"`, a
      small network (needs torch, runs on `device`).

    Two fifths of the outputs learn, one fifth of the neighbour's sets the threshold and two fifths
    certify, in the published proportion. Unlike the published code, which adds the chance of a tie
    to a count, it tosses a coin for each tie, so that hits are binomial and the bound is exact. The
    regression is fitted to the end rather than by steps, and the network has two layers of 64 (10
    and 5 there).

    Source: Bichsel, Steffen, Bogunovic and Vechev 2021, "DP-Sniper: black-box discovery of
    differential privacy violations using classifiers".

    >>> from dpaudit.claims import PureDP
    >>> rng = np.random.default_rng(0)
    >>> ones, zeros = 1.0 + rng.laplace(size=40_000), rng.laplace(size=40_000)
    >>> found = DPSniper().examine(ones, zeros, PureDP(0.5), alpha=0.05, rng=rng)
    >>> 0.5 < found.lower_bound < 1.0
    True
    """

    c: float = 0.01
    classifier: Literal["logistic", "neural"] = "logistic"
    device: str | None = None
    method: ClassVar[Method] = Method(
        source="Bichsel, Steffen, Bogunovic and Vechev 2021, DP-Sniper", guarantee="exact"
    )
    _share = Share(training=0.6, most=3_000_000)

    def __post_init__(self) -> None:
        if not 0.0 < self.c < 1.0:
            raise ValueError(f"c must be a probability in (0, 1), got {self.c!r}.")
        check_choices(self, classifier=("logistic", "neural"))

    def threshold(self, claim: Claim) -> float:
        """The claim's epsilon."""
        return _point(claim)[0]

    def _certify(self, parts: Parts, claim: Claim, *, alpha: float, rng: Rng) -> Finding:
        learned, held_out = parts
        fit, rest = learned.parted(_FIT_SHARE)
        guesser = self._learned(fit, rng)
        event = top_share(_scores(guesser, rest.sides[1]), self.c)
        hits = event.holds(_scores(guesser, held_out.table), rng)
        counts = [
            int(np.count_nonzero(hits & side)) for side in (held_out.labels, ~held_out.labels)
        ]
        draws = [int(np.count_nonzero(side)) for side in (held_out.labels, ~held_out.labels)]
        return _finding(counts, draws, claim, alpha=alpha)

    def best(self, claim: Claim, draws: int, neighbour_draws: int, *, alpha: float) -> Finding:
        """What is certified if all outputs of the data hit, and a share `c` of the neighbour's."""
        n, m = self._share.held_out(draws), self._share.held_out(neighbour_draws)
        return _finding([n, int(self.c * m)], [n, m], claim, alpha=alpha)

    def _learned(self, fit: LabelledRows, rng: Rng) -> Guesser:
        classifier: Classifier = "neural"
        if self.classifier == "logistic":
            classifier = PlainLogistic(features="values", ridge=_RIDGE)
        return learn(classifier, fit, device=self.device, rng=rng)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopShare:
    """The event that a score is above a threshold, or at it and a coin falls right."""

    threshold: float
    tie: float  # the chance of an output at the threshold

    def holds(self, scores: Floats, rng: Rng) -> Labels:
        """Tell for each score whether it is inside; one coin for each tie."""
        inside, ties = scores > self.threshold, np.flatnonzero(scores == self.threshold)
        inside[ties] = rng.random(len(ties)) < self.tie
        return inside


def top_share(scores: Floats, share: float) -> TopShare:
    """The event that holds this share of some scores, ties in part.

    >>> top_share(np.array([3.0, 2.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0]), 0.2)
    TopShare(threshold=2.0, tie=0.25)
    """
    wanted, ordered = share * len(scores), np.sort(scores)[::-1]
    threshold = float(ordered[min(math.floor(wanted), len(ordered) - 1)])
    above, ties = (int(np.count_nonzero(one)) for one in (scores > threshold, scores == threshold))
    return TopShare(threshold=threshold, tie=(wanted - above) / ties)


def _scores(guesser: Guesser, table: Table) -> Floats:
    return np.round(expit(guesser.log_odds(table)), _DECIMALS)


def _finding(hits: list[int], draws: list[int], claim: Claim, *, alpha: float) -> Finding:
    counts = np.array(hits)
    curve = exact(counts[:1], draws[0], counts[1:], draws[1], alpha=alpha)
    epsilon = curve.epsilon_lower(_point(claim)[1])
    return Finding(lower_bound=epsilon, strength_lower=epsilon)


def _point(claim: Claim) -> tuple[float, float]:
    if point := point_of(claim):
        return point
    raise UnsupportedClaim(
        f"DPSniper bounds an epsilon, so it cannot test {claim}: use HockeyStickTester, or claim "
        "PureDP or ApproxDP."
    )
