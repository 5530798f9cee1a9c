"""StatDP: an event that is easy to say, and Fisher's exact test of its thinned hits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpaudit.arrays import Floats
from dpaudit.bounds import fisher_log_tail
from dpaudit.claims import Claim, PureDP
from dpaudit.errors import UnsupportedClaim
from dpaudit.guessing import LabelledRows, Share
from dpaudit.testers.statdp_events import PlainEvent, counted_events
from dpaudit.testers.tester import (
    Finding,
    HeldOutTester,
    Method,
    Parts,
    Rng,
    largest_strength,
)

_MIN_SHARE = 1e-3  # of the outputs, times e^epsilon: events with fewer hits are not chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class StatDP(HeldOutTester):
    """Choose an event on some outputs, thin its hits by `e^-epsilon`, and compare them on others.

    If `P(A) <= e^epsilon Q(A)`, hits of the data that are kept with probability `e^-epsilon` are no
    likelier than hits of the neighbour, which Fisher's exact test asks. The event is the one with
    the smallest p-value in a sixth of the outputs, as published: a value or word of one coordinate
    if it has few, else an interval between ten cuts; the same of the mean, the least and the
    largest number of a row, of how many entries it has and how often each value occurs in it, and
    these two together with a coordinate. The published post-processing that compares an output with
    the one without noise needs the code, and is left out.

    The p-value is the mean over `thinnings`, 200 as published, and counts twice: a mean of p-values
    is a valid one only then. `thinnings=1` is the plain test, which more often turns on luck. It
    tests pure DP.

    Source: Ding, Wang, Wang, Zhang and Kifer 2018, "Detecting violations of differential privacy";
    the post-processings are those of Bichsel et al. 2021.

    >>> rng = np.random.default_rng(0)
    >>> yes, no = ["yes"] * 900 + ["no"] * 100, ["yes"] * 100 + ["no"] * 900
    >>> found = StatDP().examine(yes, no, PureDP(1.0), alpha=0.05, rng=rng)
    >>> 1.0 < found.lower_bound < 2.2  # log(9) = 2.197
    True
    """

    thinnings: int = 200
    method: ClassVar[Method] = Method(
        source="Ding, Wang, Wang, Zhang and Kifer 2018, StatDP", guarantee="exact"
    )
    _share = Share(training=1.0 / 6.0, most=100_000)

    def __post_init__(self) -> None:
        whole = isinstance(self.thinnings, int) and not isinstance(self.thinnings, bool)
        if not (whole and self.thinnings >= 1):
            raise ValueError(f"thinnings must be a whole number >= 1, got {self.thinnings!r}.")

    def threshold(self, claim: Claim) -> float:
        """The claim's epsilon."""
        if isinstance(claim, PureDP):
            return claim.epsilon
        raise UnsupportedClaim(
            f"StatDP thins by e^-epsilon, so it cannot test {claim}: use HistogramTester, or claim "
            "PureDP."
        )

    def _certify(self, parts: Parts, claim: Claim, *, alpha: float, rng: Rng) -> Finding:
        learned, held_out = parts
        event = self._chosen(learned, claim)
        held = event.holds(held_out.table)
        hits, neighbour_hits = (
            int(np.count_nonzero(held & side)) for side in (held_out.labels, ~held_out.labels)
        )
        draws, neighbour_draws = map(len, held_out.sides)
        luck = rng.random(self.thinnings)
        counts = (hits, draws, neighbour_hits, neighbour_draws)
        return self._finding(counts, luck, claim, alpha=alpha)

    def best(self, claim: Claim, draws: int, neighbour_draws: int, *, alpha: float) -> Finding:
        """What is refuted if all outputs of the data hit and no other does, with average luck."""
        n, m = self._share.held_out(draws), self._share.held_out(neighbour_draws)
        luck = (np.arange(self.thinnings) + 0.5) / self.thinnings
        return self._finding((n, n, 0, m), luck, claim, alpha=alpha)

    def _chosen(self, learned: LabelledRows, claim: Claim) -> PlainEvent:
        """The event with the smallest p-value at the claim's epsilon; any if none is likelier."""
        draws, neighbour_draws = map(len, learned.sides)
        events, hits, neighbour_hits = counted_events(learned)
        growth = math.exp(min(self.threshold(claim), 700.0))
        thinned = np.floor(hits / growth + 0.5)  # about the mean over thinnings
        frequent = hits + neighbour_hits > _MIN_SHARE * draws * growth
        likelier = np.flatnonzero(frequent & (thinned * neighbour_draws > neighbour_hits * draws))
        if len(likelier) == 0:
            return events[0]
        counts = thinned[likelier], neighbour_hits[likelier]
        logs = fisher_log_tail(counts[0], draws, counts[1], neighbour_draws)
        return events[int(likelier[np.argmin(logs)])]

    def _finding(
        self, counts: tuple[int, int, int, int], luck: Floats, claim: Claim, *, alpha: float
    ) -> Finding:
        self.threshold(claim)  # refuses other claims

        def refuted(other: Claim) -> bool:
            assert isinstance(other, PureDP)
            return thinned_p_value(*counts, epsilon=other.epsilon, luck=luck) <= alpha

        strength = largest_strength(claim, refuted)
        assert strength is not None
        return Finding(lower_bound=strength, strength_lower=strength)


def thinned_p_value(
    hits: int,
    draws: int,
    neighbour_hits: int,
    neighbour_draws: int,
    *,
    epsilon: float,
    luck: Floats,
) -> float:
    """The p-value of `P(A) <= e^epsilon Q(A)`: twice the mean over thinnings, or that of the only.

    `luck` holds a uniform number for each thinning: it is the quantile of the binomial of kept
    hits. So the p-value does not fall as epsilon grows (docs/mathematics.md, section 7).

    >>> print(round(thinned_p_value(60, 100, 30, 100, epsilon=0.0, luck=np.array([0.5])), 7))
    1.65e-05
    >>> print(round(thinned_p_value(60, 100, 30, 100, epsilon=1.0, luck=np.array([0.5])), 3))
    0.927
    """
    from scipy.stats import binom  # half a second to load

    kept = binom.ppf(luck, hits, math.exp(-epsilon)) if epsilon > 0.0 else np.full(len(luck), hits)
    counts, times = np.unique(np.maximum(kept, 0.0), return_counts=True)
    logs = fisher_log_tail(counts, draws, neighbour_hits, neighbour_draws)
    mean = float(np.exp(logs) @ times) / len(luck)
    return min(1.0, mean if len(luck) == 1 else 2.0 * mean)
