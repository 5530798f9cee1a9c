"""Counts of records by bin, released all or above a threshold: two honest, three broken.

Data are the numbers of bins, `0` to `bins - 1`, one for each record; a neighbour has one record
more or less, so that one count moves by 1. One row per draw, one column per bin.
"""

import math
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from dpaudit.arrays import Counts, Floats
from dpaudit.claims import ApproxDP, PureDP
from dpaudit.domains import integers
from dpaudit.errors import InvalidMechanism
from dpaudit.neighbours import Pair, add_or_remove_one
from dpaudit.zoo.checks import require_positive
from dpaudit.zoo.entry import ZooEntry

BINS = 5
DELTA = 0.01  # large for a delta, so that what happens so often can be seen


@dataclass(frozen=True, slots=True)
class NoisyHistogram:
    """The counts, each with Laplace noise of scale `1 / epsilon`: exactly `epsilon`-DP.

    A record is in one bin only, so the noise of a single count is enough for all of them.

    >>> NoisyHistogram(1.0)([0, 3, 3], 2, np.random.default_rng(0)).shape
    (2, 5)
    """

    epsilon: float = 1.0
    _: KW_ONLY
    bins: int = BINS
    name: ClassVar[str] = "NoisyHistogram"

    def __post_init__(self) -> None:
        require_positive(self.name, epsilon=self.epsilon)
        require_bins(self.name, self.bins)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        return noisy(counted(self.name, data, self.bins), 1 / self.epsilon, size, rng)


@dataclass(frozen=True, slots=True)
class NoisyHistogramScaleEpsilon:
    """`NoisyHistogram` whose noise has the scale `epsilon`: exactly `1 / epsilon`-DP.

    That breaks every claim below 1; at `epsilon = 1` the two are the same.

    >>> NoisyHistogramScaleEpsilon(0.1)([0, 3, 3], 2, np.random.default_rng(0)).shape
    (2, 5)
    """

    epsilon: float = 1.0
    _: KW_ONLY
    bins: int = BINS
    name: ClassVar[str] = "NoisyHistogramScaleEpsilon"

    def __post_init__(self) -> None:
        require_positive(self.name, epsilon=self.epsilon)
        require_bins(self.name, self.bins)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        return noisy(counted(self.name, data, self.bins), self.epsilon, size, rng)


@dataclass(frozen=True, slots=True)
class ThresholdedHistogram:
    """The noisy counts of bins in use, low ones left out (NaN): exactly `(epsilon, delta)`-DP.

    With `t = 1 + ln(1 / (2 delta)) / epsilon` a bin with one record shows with probability
    `Pr[1 + Lap(1 / epsilon) >= t] = e^(-epsilon (t - 1)) / 2 = delta`, and without that record
    never: `delta` is exact at `epsilon`. Counts above 0 are told apart no better than by
    `NoisyHistogram`, whose delta at a level `e < epsilon` is `1 - e^((e - epsilon) / 2)`, and as
    well once they are high: the least epsilon at `delta` is `epsilon + 2 ln(1 - delta)`.

    >>> ThresholdedHistogram(1.0, 1e-5)([0] + [3] * 99, 1, np.random.default_rng(0)).round(-1)
    array([[ nan,  nan,  nan, 100.,  nan]])
    """

    epsilon: float = 1.0
    delta: float = DELTA
    _: KW_ONLY
    bins: int = BINS
    name: ClassVar[str] = "ThresholdedHistogram"

    def __post_init__(self) -> None:
        check_threshold(self.name, self.epsilon, self.delta, self.bins)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        counts = counted(self.name, data, self.bins)
        return thresholded(counts, self.epsilon, self.delta, size, rng)


@dataclass(frozen=True, slots=True)
class ThresholdedHistogramNoDelta:
    """`ThresholdedHistogram`, sold as `epsilon`-DP: no epsilon holds without a delta.

    A bin that shows was in use for sure.

    >>> ThresholdedHistogramNoDelta()([3] * 99, 1, np.random.default_rng(0)).round(-1)
    array([[ nan,  nan,  nan, 100.,  nan]])
    """

    epsilon: float = 1.0
    delta: float = DELTA
    _: KW_ONLY
    bins: int = BINS
    name: ClassVar[str] = "ThresholdedHistogramNoDelta"

    def __post_init__(self) -> None:
        check_threshold(self.name, self.epsilon, self.delta, self.bins)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        counts = counted(self.name, data, self.bins)
        return thresholded(counts, self.epsilon, self.delta, size, rng)


@dataclass(frozen=True, slots=True)
class HistogramThresholdBeforeNoise:
    """`ThresholdedHistogram` that compares the true counts: the record that lifts one is seen.

    Between counts on two sides of the threshold an output of one is never an output of the other,
    so neither an epsilon nor a delta below 1 holds.

    >>> HistogramThresholdBeforeNoise()([0] * 4 + [3] * 99, 1, np.random.default_rng(0)).round(-1)
    array([[ nan,  nan,  nan, 100.,  nan]])
    """

    epsilon: float = 1.0
    delta: float = DELTA
    _: KW_ONLY
    bins: int = BINS
    name: ClassVar[str] = "HistogramThresholdBeforeNoise"

    def __post_init__(self) -> None:
        check_threshold(self.name, self.epsilon, self.delta, self.bins)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        counts = counted(self.name, data, self.bins)
        shown = counts >= threshold(self.epsilon, self.delta)
        return np.where(shown, noisy(counts, 1 / self.epsilon, size, rng), math.nan)


def require_bins(name: str, bins: int) -> None:
    """Refuse a histogram without bins."""
    if bins < 1:
        raise InvalidMechanism(f"{name} needs at least 1 bin, got {bins!r}.")


def check_threshold(name: str, epsilon: float, delta: float, bins: int) -> None:
    """Refuse parameters without a threshold, or with one that lone records pass most of the time.

    Above a delta of 1/2 the formula of the threshold is no longer exact.
    """
    require_positive(name, epsilon=epsilon, delta=delta)
    if delta > 0.5:
        raise InvalidMechanism(f"{name} needs a delta of at most 0.5, got {delta!r}.")
    require_bins(name, bins)


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


def noisy(counts: Counts, scale: float, size: int, rng: np.random.Generator) -> Floats:
    """Give every count its own noise, in every draw."""
    return counts + rng.laplace(scale=scale, size=(size, len(counts)))


def threshold(epsilon: float, delta: float) -> float:
    """Give the threshold that a noisy count of one record passes with probability `delta`.

    >>> round(threshold(1.0, 0.01), 4)
    4.912
    """
    return 1 + math.log(1 / (2 * delta)) / epsilon


def thresholded(
    counts: Counts, epsilon: float, delta: float, size: int, rng: np.random.Generator
) -> Floats:
    """Give the noisy counts that pass the threshold, of bins in use; NaN for the others."""
    answers = noisy(counts, 1 / epsilon, size, rng)
    shown = (counts > 0) & (answers >= threshold(epsilon, delta))
    return np.where(shown, answers, math.nan)


_SIX_RECORDS_OF_BINS = partial(add_or_remove_one, integers(0, BINS - 1), max_records=6)
_DING = "Ding, Wang, Wang, Zhang and Kifer 2018, Detecting violations of differential privacy"
_KOROLOVA = (
    "Korolova, Kenthapadi, Mishra and Ntoulas 2009, Releasing search queries and clicks privately"
)


def _records_in_bin_0(count: int) -> Pair:
    """Give so many records in one bin, and one record less."""
    return Pair(np.zeros(count, dtype=np.int64), np.zeros(count - 1, dtype=np.int64))


ENTRIES = (
    ZooEntry(
        name="NoisyHistogram",
        factory=NoisyHistogram,
        claim=PureDP(1.0),
        keeps_claim=True,
        true_epsilon=1.0,
        bug="",
        source="Dwork, McSherry, Nissim and Smith 2006, Calibrating noise to sensitivity; "
        f"{_DING}, algorithm 9",
        pair=_records_in_bin_0(1),
        neighbours=_SIX_RECORDS_OF_BINS,
    ),
    ZooEntry(
        name="NoisyHistogramScaleEpsilon",
        # At epsilon = 1 the mistake changes nothing.
        factory=partial(NoisyHistogramScaleEpsilon, epsilon=0.1),
        claim=PureDP(0.1),
        keeps_claim=False,
        true_epsilon=10.0,
        bug="The scale of the noise is epsilon where it should be 1/epsilon.",
        source=f"{_DING}, algorithm 10",
        pair=_records_in_bin_0(1),
        neighbours=_SIX_RECORDS_OF_BINS,
    ),
    ZooEntry(
        name="ThresholdedHistogram",
        factory=ThresholdedHistogram,
        claim=ApproxDP(1.0, DELTA),
        keeps_claim=True,
        true_epsilon=1 + 2 * math.log1p(-DELTA),
        bug="",
        source=f"{_KOROLOVA}; Bun, Nissim and Stemmer 2016, Simultaneous private learning of "
        "multiple concepts (stability-based histogram)",
        pair=_records_in_bin_0(1),
        neighbours=_SIX_RECORDS_OF_BINS,
    ),
    ZooEntry(
        name="ThresholdedHistogramNoDelta",
        factory=ThresholdedHistogramNoDelta,
        claim=PureDP(1.0),
        keeps_claim=False,
        true_epsilon=math.inf,
        bug="Empty bins are never released: a bin that shows tells that somebody is in it, "
        "which only a delta allows.",
        source=f"a common slip: the delta of the threshold left out of the claim ({_KOROLOVA})",
        pair=_records_in_bin_0(1),
        neighbours=_SIX_RECORDS_OF_BINS,
    ),
    ZooEntry(
        name="HistogramThresholdBeforeNoise",
        factory=HistogramThresholdBeforeNoise,
        claim=ApproxDP(1.0, DELTA),
        keeps_claim=False,
        true_epsilon=math.inf,
        bug="The true counts are compared with the threshold, not the noisy ones: "
        "whether a bin shows is known without any noise.",
        source=f"a common slip: small counts suppressed before the noise, not after ({_KOROLOVA})",
        pair=_records_in_bin_0(5),
        neighbours=_SIX_RECORDS_OF_BINS,
    ),
)
