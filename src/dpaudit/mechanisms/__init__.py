"""The zoo: mechanisms that keep their claim and mechanisms that break it, with the truth beside.

Every mechanism is a frozen value, called as `(data, size, rng)`. `ZOO` lists them with their claim,
their exact epsilon where it is known, the bug in one sentence, and a pair that shows it.

>>> broken = ZOO["ClippedSum"]
>>> print(broken.claim, broken.keeps_claim, broken.true_epsilon, broken.pair)
1-DP False 2.0 data=[1.0], neighbour=[-1.0]
>>> broken.factory()
ClippedSum(epsilon=1.0, bound=1.0)
"""

from collections.abc import Mapping
from types import MappingProxyType

from dpaudit.mechanisms import additive, mean, randomized_response, sparse_vector
from dpaudit.mechanisms.additive import ClippedSum, GaussianCount, Geometric, LaplaceCount
from dpaudit.mechanisms.entry import ZooEntry
from dpaudit.mechanisms.mean import (
    DPLaplace,
    NonDPGaussian1,
    NonDPGaussian2,
    NonDPLaplace1,
    NonDPLaplace2,
)
from dpaudit.mechanisms.randomized_response import RandomizedResponse
from dpaudit.mechanisms.sparse_vector import SVT1, SVT3, SVT4, SVT5, SVT6

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


_ROOMS = (additive, randomized_response, mean, sparse_vector)

ZOO: Mapping[str, ZooEntry] = MappingProxyType(
    {entry.name: entry for room in _ROOMS for entry in room.ENTRIES}
)
