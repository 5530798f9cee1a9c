"""The exponential mechanism: over a list of scores, and over an interval for a private median.

McSherry and Talwar (2007), "Mechanism design via differential privacy": what has the utility `u`
comes out with weight `e^(epsilon u / 2)`, where a neighbour moves every utility by at most 1. Half
of epsilon pays for the weight itself, the other half for the sum of all weights.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpaudit.claims import PureDP
from dpaudit.neighbours import query_answers
from dpaudit.zoo.checks import require_positive
from dpaudit.zoo.entry import DP_AUDITORIUM, SIX_RECORDS, ZooEntry, pair_of


@dataclass(frozen=True, slots=True)
class ExponentialMechanism:
    """The place of a good score: each with weight `e^(epsilon * score / 2)`. It is `epsilon`-DP.

    A place has the probability `1 / (1 + S)`, where `S` sums `e^(epsilon * (other - own) / 2)` over
    the other scores. A neighbour divides `S` by at most `e^epsilon`, so the loss is at most
    `log((1 + S) / (1 + S e^-epsilon))`: always less than `epsilon`, which is the supremum over
    scores of any size. Of `k` scores in a range of width `w >= 2`, `S` is at most
    `(k - 1) e^(epsilon * w / 2)`, and there the bound is reached.

    >>> ExponentialMechanism(1.0)([0.0, 99.0, 0.0], 4, np.random.default_rng(0)).tolist()
    [1, 1, 1, 1]
    """

    epsilon: float = 1.0
    name: ClassVar[str] = "ExponentialMechanism"

    def __post_init__(self) -> None:
        require_positive(self.name, epsilon=self.epsilon)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        scores = np.asarray(data, dtype=np.float64)
        weights = np.exp(self.epsilon / 2 * (scores - scores.max()))
        return rng.choice(len(weights), size=size, p=weights / weights.sum())


@dataclass(frozen=True, slots=True)
class PrivateMedian:
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

    epsilon: float = 1.0
    name: ClassVar[str] = "PrivateMedian"

    def __post_init__(self) -> None:
        require_positive(self.name, epsilon=self.epsilon)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        return near_the_median(data, self.epsilon / 2, size, rng)


@dataclass(frozen=True, slots=True)
class PrivateMedianHalfNoise:
    """`PrivateMedian` with the density `e^(epsilon * utility)`: twice the exponent, half the noise.

    The 2 below epsilon pays for the sum of the weights, which moves too. Without it the privacy
    loss is `2 * epsilon`, met in the limit.

    >>> PrivateMedianHalfNoise(1.0)([0.2, 0.9], 5, np.random.default_rng(0)).shape
    (5,)
    """

    epsilon: float = 1.0
    name: ClassVar[str] = "PrivateMedianHalfNoise"

    def __post_init__(self) -> None:
        require_positive(self.name, epsilon=self.epsilon)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        return near_the_median(data, self.epsilon, size, rng)


def near_the_median(
    data: Any, rate: float, size: int, rng: np.random.Generator
) -> npt.NDArray[np.float64]:
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


_MEDIAN_PAIR = pair_of([0.9, 1], [0.9])

ENTRIES = (
    ZooEntry(
        name="ExponentialMechanism",
        factory=ExponentialMechanism,
        claim=PureDP(1.0),
        keeps_claim=True,
        # Five scores in a range of width 3; a wider range comes nearer to 1, and never there.
        true_epsilon=math.log((1 + 4 * math.exp(1.5)) / (1 + 4 * math.exp(0.5))),
        bug="",
        source="McSherry and Talwar 2007, Mechanism design via differential privacy",
        pair=pair_of([-1, 2, 2, 2, 2], [0, 1, 1, 1, 1]),
        neighbours=partial(query_answers, 5),
    ),
    ZooEntry(
        name="PrivateMedian",
        factory=PrivateMedian,
        claim=PureDP(1.0),
        keeps_claim=True,
        true_epsilon=1.0,
        bug="",
        source=f"{DP_AUDITORIUM} (JointMedian); Gillenwater, Joseph and Kulesza 2021, "
        "Differentially private quantiles; Smith 2011, algorithm 2",
        pair=_MEDIAN_PAIR,
        neighbours=SIX_RECORDS,
    ),
    ZooEntry(
        name="PrivateMedianHalfNoise",
        factory=PrivateMedianHalfNoise,
        claim=PureDP(1.0),
        keeps_claim=False,
        true_epsilon=2.0,
        bug="The exponent lacks the factor 1/2: "
        "nothing is left to pay for the sum of the weights, which moves too.",
        source="a common slip: the exponential mechanism without the 2 below epsilon",
        pair=_MEDIAN_PAIR,
        neighbours=SIX_RECORDS,
    ),
)
