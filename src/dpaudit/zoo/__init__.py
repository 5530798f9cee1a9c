# ruff: noqa: F403 -- every module says in its __all__ which mechanisms it has
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

from dpaudit.zoo import (
    additive,
    discrete,
    gradient_descent,
    histograms,
    local,
    mean,
    selection,
    slips,
    sparse_vector,
    sums,
)
from dpaudit.zoo.additive import *
from dpaudit.zoo.additive import coin_tosses, gaussian_delta, snapped, uniform_floats
from dpaudit.zoo.discrete import *
from dpaudit.zoo.frame import ZooEntry, pair_of
from dpaudit.zoo.gradient_descent import *
from dpaudit.zoo.histograms import *
from dpaudit.zoo.histograms import counted, threshold
from dpaudit.zoo.local import *
from dpaudit.zoo.local import SALT, positions
from dpaudit.zoo.mean import *
from dpaudit.zoo.selection import *
from dpaudit.zoo.slips import *
from dpaudit.zoo.sparse_vector import *
from dpaudit.zoo.sums import *

__all__ = ["ZOO", "ZooEntry"]
__all__ += additive.__all__ + discrete.__all__ + local.__all__ + mean.__all__ + sums.__all__
__all__ += histograms.__all__ + selection.__all__ + sparse_vector.__all__
__all__ += gradient_descent.__all__ + slips.__all__

GROUPS = (
    additive.ENTRIES,
    discrete.ENTRIES,
    local.ENTRIES,
    mean.ENTRIES,
    sums.ENTRIES,
    histograms.ENTRIES,
    selection.ENTRIES,
    sparse_vector.ENTRIES,
    gradient_descent.ENTRIES,
    slips.ENTRIES,
)

ZOO: Mapping[str, ZooEntry] = MappingProxyType(
    {entry.name: entry for group in GROUPS for entry in group}
)
