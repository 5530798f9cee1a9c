"""The zoo: mechanisms that keep their claim and mechanisms that break it, with the truth beside.

Every mechanism is a frozen value, called as `(data, size, rng)`. `ZOO` lists them with their claim,
their exact epsilon where it is known, the bug in one sentence, and a pair that shows it.

>>> broken = ZOO["ClippedSum"]
>>> print(broken.claim, broken.keeps_claim, broken.true_epsilon, broken.pair)
1-DP False 2.0 data=[1.0], neighbour=[-1.0]
>>> broken.factory()
ClippedSum(epsilon=1.0, bound=1.0)
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from dpaudit.claims import ApproxDP, PureDP
from dpaudit.domains import floats, integers
from dpaudit.mechanisms.additive import ClippedSum, GaussianCount, Geometric, LaplaceCount
from dpaudit.mechanisms.mean import (
    DPLaplace,
    NonDPGaussian1,
    NonDPGaussian2,
    NonDPLaplace1,
    NonDPLaplace2,
)
from dpaudit.mechanisms.randomized_response import RandomizedResponse
from dpaudit.mechanisms.sparse_vector import SVT1, SVT3, SVT4, SVT5, SVT6
from dpaudit.neighbours import Pair, Relation, add_or_remove_one, query_answers, replace_one

__all__ = [
    "SVT1",
    "SVT3",
    "SVT4",
    "SVT5",
    "SVT6",
    "ZOO",
    "ClippedSum",
    "DPLaplace",
    "GaussianCount",
    "Geometric",
    "LaplaceCount",
    "NonDPGaussian1",
    "NonDPGaussian2",
    "NonDPLaplace1",
    "NonDPLaplace2",
    "RandomizedResponse",
    "ZooEntry",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooEntry:
    """A mechanism of the zoo, what it claims and what is true.

    `true_epsilon` is the least epsilon that holds at the claim's delta for all neighbours, with
    data of any length; infinite if none does, None if it is not known in closed form. `pair` shows
    the bug, or is a hard one for a mechanism that has none; it is one of `neighbours()`.
    """

    name: str
    factory: Callable[[], Callable[..., npt.NDArray[np.generic]]]
    claim: PureDP | ApproxDP
    keeps_claim: bool
    true_epsilon: float | None
    bug: str
    source: str
    pair: Pair
    neighbours: Callable[[], Relation]


_DP_AUDITORIUM = "Kong, Medina, Ribero and Syed 2023, DP-Auditorium, section 6.1"
_SVT = "Lyu, Su and Li 2017, Understanding the sparse vector technique, algorithm"
_SIX_RECORDS = partial(add_or_remove_one, floats(0, 1), max_records=6)
_ONE_TO_SIX_RECORDS = partial(_SIX_RECORDS, min_records=1)  # a mean of no records is not defined
_TEN_ANSWERS = partial(query_answers, 10)


def _pair(data: Sequence[float], neighbour: Sequence[float]) -> Pair:
    return Pair(np.array(data, dtype=np.float64), np.array(neighbour, dtype=np.float64))


_COUNT_PAIR = _pair([1], [])
_MEAN_PAIR = _pair([0, 1], [0])
_ANSWERS_PAIR = _pair([1] * 5 + [0] * 5, [0] * 5 + [1] * 5)

_ENTRIES = (
    ZooEntry(
        name="LaplaceCount",
        factory=LaplaceCount,
        claim=PureDP(1.0),
        keeps_claim=True,
        true_epsilon=1.0,
        bug="",
        source="Dwork, McSherry, Nissim and Smith 2006, Calibrating noise to sensitivity",
        pair=_COUNT_PAIR,
        neighbours=_SIX_RECORDS,
    ),
    ZooEntry(
        name="Geometric",
        factory=Geometric,
        claim=PureDP(1.0),
        keeps_claim=True,
        true_epsilon=1.0,
        bug="",
        source="Ghosh, Roughgarden and Sundararajan 2009, Universally utility-maximizing "
        "privacy mechanisms",
        pair=_COUNT_PAIR,
        neighbours=_SIX_RECORDS,
    ),
    ZooEntry(
        name="GaussianCount",
        factory=GaussianCount,
        claim=ApproxDP(1.0, 1e-5),
        keeps_claim=True,
        true_epsilon=1.0,
        bug="",
        source="Balle and Wang 2018, Improving the Gaussian mechanism, theorem 8",
        pair=_COUNT_PAIR,
        neighbours=_SIX_RECORDS,
    ),
    ZooEntry(
        name="RandomizedResponse",
        factory=RandomizedResponse,
        claim=PureDP(1.0),
        keeps_claim=True,
        true_epsilon=1.0,
        bug="",
        source="Warner 1965, Randomized response",
        pair=Pair(np.array([1]), np.array([0])),
        neighbours=partial(replace_one, integers(0, 1), max_records=1),
    ),
    ZooEntry(
        name="DPLaplace",
        factory=DPLaplace,
        claim=PureDP(1.0),
        keeps_claim=True,
        true_epsilon=1.0,
        bug="",
        source=_DP_AUDITORIUM,
        pair=_MEAN_PAIR,
        neighbours=_SIX_RECORDS,
    ),
    ZooEntry(
        name="SVT1",
        factory=SVT1,
        claim=PureDP(1.0),
        keeps_claim=True,
        true_epsilon=1.0,
        bug="",
        source=f"{_SVT} 1",
        pair=_ANSWERS_PAIR,
        neighbours=_TEN_ANSWERS,
    ),
    ZooEntry(
        name="ClippedSum",
        factory=ClippedSum,
        claim=PureDP(1.0),
        keeps_claim=False,
        true_epsilon=2.0,
        bug="The noise is for records that move the sum by the bound; "
        "a replaced record moves it by twice the bound.",
        source="a common slip: the sensitivity of adding a record, used for replacing one",
        pair=_pair([1], [-1]),
        neighbours=partial(replace_one, floats(-1, 1), max_records=5),
    ),
    ZooEntry(
        name="NonDPLaplace1",
        factory=NonDPLaplace1,
        claim=PureDP(1.0),
        keeps_claim=False,
        true_epsilon=math.inf,
        bug="The scale of the noise tells the true number of records.",
        source=_DP_AUDITORIUM,
        pair=_MEAN_PAIR,
        neighbours=_ONE_TO_SIX_RECORDS,
    ),
    ZooEntry(
        name="NonDPLaplace2",
        factory=NonDPLaplace2,
        claim=PureDP(1.0),
        keeps_claim=False,
        true_epsilon=None,
        bug="The noise knows only a noisy count, but the mean is divided by the true one.",
        source=_DP_AUDITORIUM,
        pair=_MEAN_PAIR,
        neighbours=_ONE_TO_SIX_RECORDS,
    ),
    ZooEntry(
        name="NonDPGaussian1",
        factory=NonDPGaussian1,
        claim=ApproxDP(1.0, 1e-5),
        keeps_claim=False,
        true_epsilon=None,
        bug="The scale of the noise tells the true number of records.",
        source=_DP_AUDITORIUM,
        pair=_MEAN_PAIR,
        neighbours=_ONE_TO_SIX_RECORDS,
    ),
    ZooEntry(
        name="NonDPGaussian2",
        # At epsilon = 1 this pair keeps the claim: its hockey-stick divergence is 0.
        factory=partial(NonDPGaussian2, epsilon=0.1),
        claim=ApproxDP(0.1, 1e-5),
        keeps_claim=False,
        true_epsilon=None,
        bug="The noise knows only a noisy count, but the mean is divided by the true one.",
        source=_DP_AUDITORIUM,
        pair=_MEAN_PAIR,
        neighbours=_ONE_TO_SIX_RECORDS,
    ),
    ZooEntry(
        name="SVT3",
        factory=SVT3,
        claim=PureDP(1.0),
        keeps_claim=False,
        true_epsilon=math.inf,
        bug="It releases the very noisy answer that passed the test, "
        "which bounds the noisy threshold.",
        source=f"{_SVT} 3 (Roth 2011, lecture notes)",
        pair=_ANSWERS_PAIR,
        neighbours=_TEN_ANSWERS,
    ),
    ZooEntry(
        name="SVT4",
        factory=SVT4,
        claim=PureDP(1.0),
        keeps_claim=False,
        true_epsilon=1.75,
        bug="The noise on the queries leaves out the factor 2 and the cutoff.",
        source=f"{_SVT} 4 (Lee and Clifton 2014)",
        pair=_ANSWERS_PAIR,
        neighbours=_TEN_ANSWERS,
    ),
    ZooEntry(
        name="SVT5",
        factory=SVT5,
        claim=PureDP(1.0),
        keeps_claim=False,
        true_epsilon=math.inf,
        bug="Queries get no noise and all are answered: the order of the answers shows.",
        source=f"{_SVT} 5 (Stoddard, Chen and Machanavajjhala 2014)",
        pair=_ANSWERS_PAIR,
        neighbours=_TEN_ANSWERS,
    ),
    ZooEntry(
        name="SVT6",
        factory=SVT6,
        claim=PureDP(1.0),
        keeps_claim=False,
        true_epsilon=math.inf,
        bug="There is no cutoff: every answered query costs privacy.",
        source=f"{_SVT} 6 (Chen, Xiao, Zhang and Xu 2015)",
        pair=_ANSWERS_PAIR,
        neighbours=_TEN_ANSWERS,
    ),
)

ZOO: Mapping[str, ZooEntry] = MappingProxyType({entry.name: entry for entry in _ENTRIES})
