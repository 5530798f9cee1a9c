"""Counts of records by bin, released all or above a threshold: two honest, three broken.

Data are the numbers of bins, `0` to `bins - 1`, one for each record; a neighbour has one record
more or less, so one count moves by 1. One row per draw, one column per bin.
"""

import math
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np

from dpaudit.arrays import Counts, Floats
from dpaudit.claims import ApproxDP, PureDP
from dpaudit.domains import integers
from dpaudit.errors import InvalidMechanism
from dpaudit.neighbours import Pair, add_or_remove_one
from dpaudit.zoo.frame import Allowed, AtLeastOne, EpsilonMechanism, Shown, entry, with_laplace

__all__ = [
    "HistogramThresholdBeforeNoise",
    "NoisyHistogram",
    "NoisyHistogramScaleEpsilon",
    "ThresholdedHistogram",
    "ThresholdedHistogramNoDelta",
]

BINS = 5
DELTA = 0.01  # large for a delta, so that an audit can see what happens as rarely as this

# Above 1/2 the formula of the threshold is no longer exact.
AtMostHalf = Annotated[float, Allowed(lambda value: 0 < value <= 0.5, "0 < {} <= 0.5")]


@dataclass(frozen=True, slots=True)
class NoisyHistogram(EpsilonMechanism):
    """The counts, each with Laplace noise of scale `1 / epsilon`: exactly `epsilon`-DP.

    A record is in one bin only, so the noise of a single count is enough for all of them.

    >>> NoisyHistogram(1.0)([0, 3, 3], 2, np.random.default_rng(0)).shape
    (2, 5)
    """

    _: KW_ONLY
    bins: AtLeastOne = BINS

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        return with_laplace(counted(self.name, data, self.bins), 1 / self.epsilon, size, rng)


@dataclass(frozen=True, slots=True)
class NoisyHistogramScaleEpsilon(NoisyHistogram):
    """`NoisyHistogram` whose noise has the scale `epsilon`: exactly `1 / epsilon`-DP.

    That breaks every claim below 1; at `epsilon = 1` the two are the same.

    >>> NoisyHistogramScaleEpsilon(0.1)([0, 3, 3], 2, np.random.default_rng(0)).shape
    (2, 5)
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        return with_laplace(counted(self.name, data, self.bins), self.epsilon, size, rng)


@dataclass(frozen=True, slots=True)
class ThresholdedHistogram(EpsilonMechanism):
    """The noisy counts of bins in use, low ones left out (NaN): exactly `(epsilon, delta)`-DP.

    With `t = 1 + ln(1 / (2 delta)) / epsilon` a bin with one record shows with probability
    `Pr[1 + Lap(1 / epsilon) >= t] = e^(-epsilon (t - 1)) / 2 = delta`, and without that record
    never: `delta` is exact at `epsilon`. Counts above 0 are told apart no better than by
    `NoisyHistogram`, whose delta at a level `e < epsilon` is `1 - e^((e - epsilon) / 2)`, and as
    well once they are high: the least epsilon at `delta` is `epsilon + 2 ln(1 - delta)`.

    >>> ThresholdedHistogram(1.0, 1e-5)([0] + [3] * 99, 1, np.random.default_rng(0)).round(-1)
    array([[ nan,  nan,  nan, 100.,  nan]])
    """

    delta: AtMostHalf = DELTA
    _: KW_ONLY
    bins: AtLeastOne = BINS

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        counts = counted(self.name, data, self.bins)
        answers = with_laplace(counts, 1 / self.epsilon, size, rng)
        shown = (counts > 0) & (answers >= threshold(self.epsilon, self.delta))
        return np.where(shown, answers, math.nan)


@dataclass(frozen=True, slots=True)
class ThresholdedHistogramNoDelta(ThresholdedHistogram):
    """`ThresholdedHistogram`, sold as `epsilon`-DP: no epsilon holds without a delta.

    A bin that shows was in use for sure.

    >>> ThresholdedHistogramNoDelta()([3] * 99, 1, np.random.default_rng(0)).round(-1)
    array([[ nan,  nan,  nan, 100.,  nan]])
    """


@dataclass(frozen=True, slots=True)
class HistogramThresholdBeforeNoise(ThresholdedHistogram):
    """`ThresholdedHistogram` that compares the true counts: the record that lifts one is seen.

    Between counts on two sides of the threshold an output of one is never an output of the other,
    so neither an epsilon nor a delta below 1 holds.

    >>> HistogramThresholdBeforeNoise()([0] * 4 + [3] * 99, 1, np.random.default_rng(0)).round(-1)
    array([[ nan,  nan,  nan, 100.,  nan]])
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        counts = counted(self.name, data, self.bins)
        shown = counts >= threshold(self.epsilon, self.delta)
        return np.where(shown, with_laplace(counts, 1 / self.epsilon, size, rng), math.nan)


def counted(name: str, data: Any, bins: int) -> Counts:
    """Count the records of each bin.

    >>> counted("NoisyHistogram", [0, 3, 3], 5).tolist()
    [1, 0, 0, 2, 0]
    """
    records = np.asarray(data, dtype=np.int64)
    outside = records[(records < 0) | (records >= bins)]
    if len(outside) > 0:
        raise InvalidMechanism(
            f"{name} has the bins 0 to {bins - 1}, got a record in bin {outside[0]}. "
            f"Give it more bins, or other records."
        )
    return np.bincount(records, minlength=bins)


def threshold(epsilon: float, delta: float) -> float:
    """Give the threshold that a noisy count of one record passes with probability `delta`.

    >>> round(threshold(1.0, 0.01), 4)
    4.912
    """
    return 1 + math.log(1 / (2 * delta)) / epsilon


def _records_in_bin_0(count: int) -> Shown:
    """Give a pair of `count` records in one bin and one record less, with its neighbours."""
    pair = Pair(np.zeros(count, dtype=np.int64), np.zeros(count - 1, dtype=np.int64))
    return pair, partial(add_or_remove_one, integers(0, BINS - 1), max_records=6)


_DING = "Ding, Wang, Wang, Zhang and Kifer 2018, Detecting violations of differential privacy"
_KOROLOVA = (
    "Korolova, Kenthapadi, Mishra and Ntoulas 2009, Releasing search queries and clicks privately"
)

ENTRIES = (
    entry(
        NoisyHistogram,
        _records_in_bin_0(1),
        source="Dwork, McSherry, Nissim and Smith 2006, Calibrating noise to sensitivity; "
        f"{_DING}, algorithm 9",
    ),
    entry(
        partial(NoisyHistogramScaleEpsilon, epsilon=0.1),  # at epsilon = 1 nothing is wrong
        _records_in_bin_0(1),
        true_epsilon=10.0,
        bug="The scale of the noise is epsilon where it should be 1/epsilon.",
        source=f"{_DING}, algorithm 10",
    ),
    entry(
        ThresholdedHistogram,
        _records_in_bin_0(1),
        claim=ApproxDP(1.0, DELTA),
        true_epsilon=1 + 2 * math.log1p(-DELTA),
        source=f"{_KOROLOVA}; Bun, Nissim and Stemmer 2016, Simultaneous private learning of "
        "multiple concepts (stability-based histogram)",
    ),
    entry(
        ThresholdedHistogramNoDelta,
        _records_in_bin_0(1),
        claim=PureDP(1.0),
        true_epsilon=math.inf,
        bug="Empty bins are never released: a bin that shows tells that somebody is in it, "
        "which only a delta allows.",
        source=f"a common slip: the delta of the threshold left out of the claim ({_KOROLOVA})",
    ),
    entry(
        HistogramThresholdBeforeNoise,
        _records_in_bin_0(5),
        claim=ApproxDP(1.0, DELTA),
        true_epsilon=math.inf,
        bug="The true counts are compared with the threshold, not the noisy ones: "
        "whether a bin shows is known without any noise.",
        source=f"a common slip: small counts suppressed before the noise, not after ({_KOROLOVA})",
    ),
)
