"""What an event seen in training promises to certify on fresh draws."""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats

_WORDINESS = 0.02  # what a further comparison must add to the score, relative and absolute
HOPELESS = -1e3  # the score of an event that certifies nothing, however well it goes


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedBound:
    """Scores events by the epsilon they would certify at `delta` with `draws` fresh draws a side.

    It is `log((p_lower - delta) / q_upper)`. First p and q are set back by `_caution` standard
    errors of training, for the best of many is partly luck; then they are bounded as by Clopper and
    Pearson at `alpha / 2` each, as if the expected number of fresh draws hit. So three hits in
    fifty count for little, and so does an event too rare to be certified.
    """

    epsilon: float
    delta: float
    draws: int
    alpha: float
    totals: tuple[float, float]  # training draws of the data, of its neighbour

    def score(
        self, ones: Floats, zeros: Floats, comparisons: npt.NDArray[np.int64] | int
    ) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Score events by their hits; also tell whether they are likelier on the data.

        `comparisons` says how many an event makes: a longer event must be clearly better.
        """
        data, neighbour = self.totals
        caution = _caution(comparisons)
        likelier = self._promised(ones, data, zeros, neighbour, caution)
        rarer = self._promised(zeros, neighbour, ones, data, caution)
        best = np.maximum(likelier, rarer)
        height = np.abs(np.where(best > 0, best, best - HOPELESS))
        cost = _WORDINESS * (np.asarray(comparisons) - 1) * np.maximum(height, 1.0)
        return best - cost, likelier >= rarer

    def _promised(
        self, p_hits: Floats, p_of: float, q_hits: Floats, q_of: float, caution: Floats
    ) -> Floats:
        z = -NormalDist().inv_cdf(self.alpha / 2)
        p = 1 - upper_bound(p_of - p_hits, p_of, caution)
        q = upper_bound(q_hits, q_of, caution)
        excess = 1 - upper_bound(self.draws * (1 - p), self.draws, z) - self.delta
        promised = np.log(np.maximum(excess, 1e-300))
        promised -= np.log(upper_bound(self.draws * q, self.draws, z))
        # Where nothing can be certified, how far training broke the claim tells better from worse.
        broken = self._excess(p_hits, p_of, q_hits, q_of)
        uncertain = np.where(excess > 0, HOPELESS, 2 * HOPELESS) + broken
        return np.where((excess > 0) & (promised > 0), promised, uncertain)

    def _excess(self, p_hits: Floats, p_of: float, q_hits: Floats, q_of: float) -> Floats:
        """By how many standard errors training broke the claim."""
        claimed = math.exp(min(self.epsilon, 6.0))
        p, q = p_hits / max(p_of, 1.0), q_hits / max(q_of, 1.0)
        variance = (p_hits + 1.0) / max(p_of, 1.0) ** 2
        variance = variance + claimed**2 * (q_hits + 1.0) / max(q_of, 1.0) ** 2
        return np.asarray((p - self.delta - claimed * q) / np.sqrt(variance))


def _caution(comparisons: npt.NDArray[np.int64] | int) -> Floats:
    """Grow with the number of events of that length, among which the best was sought.

    One standard error for a threshold, 2.5 for an interval or a pair: chosen by what the events
    found in 300 and in 3000 training draws of eight mechanisms would certify.
    """
    return np.asarray(1.0 + 1.5 * np.log2(comparisons), dtype=np.float64)


def upper_bound(hits: Floats, draws: float, z: Floats | float) -> Floats:
    """The Clopper-Pearson upper bound at `z` normal standard deviations, for any real `hits`.

    In closed form by the cube root of the F distribution (Paulson 1942), a few percent off: good
    to rank thousands of events, not to certify one.

    >>> round(float(upper_bound(np.array(5.0), 100, 1.645)), 3)  # exact: 0.102
    0.102
    """
    successes, failures = hits + 1.0, np.maximum(draws - hits, 1e-9)
    a, b = 1 / (9 * successes), 1 / (9 * failures)
    # w = F^(1/3) solves ((1 - b) w - (1 - a))^2 = z^2 (b w^2 + a)
    bottom = (1 - b) ** 2 - z * z * b
    inner = np.maximum((1 - a) ** 2 * b + (1 - b) ** 2 * a - z * z * a * b, 0.0)
    w = ((1 - a) * (1 - b) + z * np.sqrt(inner)) / np.where(bottom > 0, bottom, 1.0)
    odds = successes * np.maximum(w, 0.0) ** 3
    return np.where((bottom > 0) & (b < 1), odds / (odds + failures), 1.0)
