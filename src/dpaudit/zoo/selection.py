"""Choosing the best: the exponential mechanism, a private median, and report noisy max.

The exponential mechanism of McSherry and Talwar (2007), "Mechanism design via differential
privacy": what has the utility `u` comes out with weight `e^(epsilon u / 2)`, where a neighbour
moves every utility by at most 1. Half of epsilon pays for the weight itself, the other half for the
sum of all weights.

Report noisy max: data are the answers of queries, each of which moves by at most 1 between
neighbours. Every answer gets its own noise of scale `2/epsilon`; the place of the largest may be
told, its value may not. Dwork and Roth (2014), "The algorithmic foundations of differential
privacy", section 3.3; the four variants are algorithms 5 to 8 of Ding, Wang, Wang, Zhang and Kifer
(2018), "Detecting violations of differential privacy". DP-Auditorium calls it NoisyMax.

The place `i` comes with probability `E[prod_j F(Z + gap_j)]`, where `gap_j` is how far answer `i`
lies above answer `j`, `Z` is the noise and `F` its distribution function. Between neighbours each
gap moves by at most 2. The density of the noise is log-concave, so what this gains falls as any gap
grows: the worst pair has one answer as far below all others as the range allows.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.arrays import Counts, Floats
from dpaudit.zoo.frame import (
    DP_AUDITORIUM,
    FIVE_ANSWERS,
    SIX_RECORDS,
    EpsilonMechanism,
    entry,
    pair_of,
    with_laplace,
)

__all__ = [
    "ExponentialMechanism",
    "NoisyMaxExponential",
    "NoisyMaxLaplace",
    "NoisyMaxValueExponential",
    "NoisyMaxValueLaplace",
    "PrivateMedian",
    "PrivateMedianHalfNoise",
]


@dataclass(frozen=True, slots=True)
class ExponentialMechanism(EpsilonMechanism):
    """The place of a good score: each with weight `e^(epsilon * score / 2)`. It is `epsilon`-DP.

    A place has the probability `1 / (1 + S)`, where `S` sums `e^(epsilon * (other - own) / 2)` over
    the other scores. A neighbour divides `S` by at most `e^epsilon`, so the loss is at most
    `log((1 + S) / (1 + S e^-epsilon))`: always less than `epsilon`, which is the supremum over
    scores of any size. Of `k` scores in a range of width `w >= 2`, `S` is at most
    `(k - 1) e^(epsilon * w / 2)`, and there the bound is reached.

    >>> ExponentialMechanism(1.0)([0.0, 99.0, 0.0], 4, np.random.default_rng(0)).tolist()
    [1, 1, 1, 1]
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Counts:
        scores = np.asarray(data, dtype=np.float64)
        weights = np.exp(self.epsilon / 2 * (scores - scores.max()))
        return rng.choice(len(weights), size=size, p=weights / weights.sum())


@dataclass(frozen=True, slots=True)
class PrivateMedian(EpsilonMechanism):
    """A point of [0, 1] with about as many records below as above: `epsilon`-DP when one is added.

    The utility of a point is `-|records below - records above|`. A record added or removed moves
    one of the two counts by 1 (none at the record itself), so the sensitivity is exactly 1; were a
    record replaced, it would be 2. The density `e^(epsilon * utility / 2)`, normalised, is constant
    between records. Records outside [0, 1] are clipped to it.

    The bound is met in the limit: where a new record brings the counts nearer to each other, the
    weight grows by `e^(epsilon / 2)`, elsewhere it shrinks by as much. A set of probability `p`
    gains `-log(p + (1 - p) e^-epsilon)`, which tends to `epsilon` as `p` falls to 0.

    It is the JointMedian of DP-Auditorium: Gillenwater, Joseph and Kulesza (2021), "Differentially
    private quantiles", for one quantile; Smith (2011), "Privacy-preserving statistical estimation
    with optimal convergence rates", algorithm 2.

    >>> PrivateMedian(99.0)([0.1, 0.5, 0.5, 0.6, 0.9], 3, np.random.default_rng(0)).round().tolist()
    [1.0, 1.0, 1.0]
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        return near_the_median(data, self.epsilon / 2, size, rng)


@dataclass(frozen=True, slots=True)
class PrivateMedianHalfNoise(EpsilonMechanism):
    """`PrivateMedian` with the density `e^(epsilon * utility)`: twice the exponent, half the noise.

    The 2 below epsilon pays for the sum of the weights, which moves too. Without it the privacy
    loss is `2 * epsilon`, met in the limit.

    >>> PrivateMedianHalfNoise(1.0)([0.2, 0.9], 5, np.random.default_rng(0)).shape
    (5,)
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        return near_the_median(data, self.epsilon, size, rng)


@dataclass(frozen=True, slots=True)
class NoisyMaxLaplace(EpsilonMechanism):
    """The place of the largest answer after Laplace noise, correct (algorithm 5).

    Of five answers, one that lies `g` scales of the noise below four equal ones comes out with
    probability `(49 e^-g - e^-4g) / 240`. From `g + epsilon` to `g` it gains
    `epsilon + log((49 - e^-3g) / (49 - e^-3(g + epsilon)))`: always less than `epsilon`, which is
    the supremum over answers of any size. With answers in [-1, 2] the largest `g` is `epsilon / 2`.

    >>> NoisyMaxLaplace(1.0)([0.0, 99.0, 0.0], 4, np.random.default_rng(0)).tolist()
    [1, 1, 1, 1]
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Counts:
        noisy = with_laplace(data, 2 / self.epsilon, size, rng)
        return np.asarray(np.argmax(noisy, axis=1), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class NoisyMaxExponential(EpsilonMechanism):
    """The place of the largest answer after exponential noise, correct (algorithm 6).

    Of `n` answers, one that lies `g >= 0` scales of the noise below the others, all equal, comes
    out with probability `e^-g / n`. Two answers' moves are `epsilon` scales: exactly `epsilon`-DP.
    It is permute-and-flip: Ding, Kifer, Steinke, Wang, Xiao and Zhang (2021), "The
    permute-and-flip mechanism is identical to report-noisy-max with exponential noise".

    >>> NoisyMaxExponential(1.0)([0.0, 99.0, 0.0], 4, np.random.default_rng(0)).tolist()
    [1, 1, 1, 1]
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Counts:
        noisy = with_exponential(data, 2 / self.epsilon, size, rng)
        return np.asarray(np.argmax(noisy, axis=1), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class NoisyMaxValueLaplace(EpsilonMechanism):
    """The largest of the answers with Laplace noise, its value and not its place (algorithm 7).

    A low value says that all `n` noises were low. Each answer's move costs `epsilon / 2`, and they
    add up to `n * epsilon / 2`: reached wherever the value is below all answers of both sides.

    >>> NoisyMaxValueLaplace(1.0)([0.0, 900.0, 0.0], 2, np.random.default_rng(0)).round(-2).tolist()
    [900.0, 900.0]
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        return np.asarray(np.max(with_laplace(data, 2 / self.epsilon, size, rng), axis=1))


@dataclass(frozen=True, slots=True)
class NoisyMaxValueExponential(EpsilonMechanism):
    """The largest of the answers with exponential noise, its value and not its place (algorithm 8).

    The noise is never negative, so no value lies below the largest answer: where that moves, some
    values can come from one side only, and no epsilon holds.

    >>> outputs = NoisyMaxValueExponential(1.0)([0.0, 9.0, 0.0], 50, np.random.default_rng(0))
    >>> bool(outputs.min() >= 9.0)
    True
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        return np.asarray(np.max(with_exponential(data, 2 / self.epsilon, size, rng), axis=1))


def near_the_median(data: Any, rate: float, size: int, rng: np.random.Generator) -> Floats:
    """Draw points of [0, 1] with density `e^(-rate * |records below - records above|)`, normalised.

    An interval between neighbouring records is picked by its length times its weight, then a point
    of it, each as likely as any other: exact, with no grid.
    """
    records = np.sort(np.clip(np.asarray(data, dtype=np.float64), 0.0, 1.0))
    edges = np.unique(np.concatenate([[0.0], records, [1.0]]))
    below = np.searchsorted(records, edges[:-1], side="right")
    imbalance = np.abs(below - (len(records) - below))
    # The largest weight is 1: with many records on one side, all of them would vanish.
    weights = np.diff(edges) * np.exp(-rate * (imbalance - imbalance.min()))
    picked = rng.choice(len(weights), size=size, p=weights / weights.sum())
    return rng.uniform(edges[picked], edges[picked + 1])


def with_exponential(data: Any, scale: float, size: int, rng: np.random.Generator) -> Floats:
    """Give every answer its own exponential noise, in every draw: one row per draw."""
    answers = np.asarray(data, dtype=np.float64)
    return answers + rng.exponential(scale=scale, size=(size, len(answers)))


_MEDIAN = pair_of([0.9, 1], [0.9]), SIX_RECORDS
_ONE_BELOW = pair_of([-1, 2, 2, 2, 2], [0, 1, 1, 1, 1]), FIVE_ANSWERS
_VALUE = pair_of([1] * 5, [2] * 5), FIVE_ANSWERS
_DING = "Ding, Wang, Wang, Zhang and Kifer 2018, Detecting violations, algorithm"

ENTRIES = (
    entry(
        ExponentialMechanism,
        _ONE_BELOW,
        # Five scores in a range of width 3; a wider range comes nearer to 1, and never there.
        true_epsilon=math.log((1 + 4 * math.exp(1.5)) / (1 + 4 * math.exp(0.5))),
        source="McSherry and Talwar 2007, Mechanism design via differential privacy",
    ),
    entry(
        PrivateMedian,
        _MEDIAN,
        source=f"{DP_AUDITORIUM} (JointMedian); Gillenwater, Joseph and Kulesza 2021, "
        "Differentially private quantiles; Smith 2011, algorithm 2",
    ),
    entry(
        PrivateMedianHalfNoise,
        _MEDIAN,
        true_epsilon=2.0,
        bug="The exponent lacks the factor 1/2: "
        "nothing is left to pay for the sum of the weights, which moves too.",
        source="a common slip: the exponential mechanism without the 2 below epsilon",
    ),
    entry(
        NoisyMaxLaplace,
        _ONE_BELOW,
        # Reached on the pair; answers in a wider range come nearer to 1, and never there.
        true_epsilon=1 + math.log((49 - math.exp(-1.5)) / (49 - math.exp(-4.5))),
        source=f"{_DING} 5 (Dwork and Roth 2014, section 3.3)",
    ),
    entry(
        NoisyMaxExponential,
        (pair_of([1, 1, 1, 1, 1], [0, 2, 2, 2, 2]), FIVE_ANSWERS),
        source=f"{_DING} 6 (Dwork and Roth 2014, section 3.3)",
    ),
    entry(
        NoisyMaxValueLaplace,
        _VALUE,
        true_epsilon=2.5,
        bug="It releases the largest noisy answer itself: a low one tells of all five answers.",
        source=f"{_DING} 7",
    ),
    entry(
        NoisyMaxValueExponential,
        _VALUE,
        true_epsilon=math.inf,
        bug="It releases the largest noisy answer itself, which never lies below the true one.",
        source=f"{_DING} 8",
    ),
)
