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
    exponential,
    gradient_descent,
    histograms,
    local,
    mean,
    noisy_max,
    rappor,
    slips,
    snapping,
    sparse_vector,
    staircase,
    sums,
)
from dpaudit.zoo.additive import (
    ClassicalGaussianCount,
    ClassicalGaussianCountTooLoose,
    ClippedSum,
    GaussianCount,
    LaplaceCount,
    gaussian_delta,
)
from dpaudit.zoo.discrete import (
    Geometric,
    RoundedGeometric,
    RoundedGeometricNaturalLog,
    TruncatedGeometric,
)
from dpaudit.zoo.entry import ZooEntry, pair_of
from dpaudit.zoo.exponential import ExponentialMechanism, PrivateMedian, PrivateMedianHalfNoise
from dpaudit.zoo.gradient_descent import GradientDescent, ScaledGD
from dpaudit.zoo.histograms import (
    HistogramThresholdBeforeNoise,
    NoisyHistogram,
    NoisyHistogramScaleEpsilon,
    ThresholdedHistogram,
    ThresholdedHistogramNoDelta,
    counted,
    threshold,
)
from dpaudit.zoo.local import (
    KaryRandomizedResponse,
    OptimisedUnaryEncoding,
    RandomizedResponse,
    SymmetricUnaryEncoding,
    UnaryEncodingWholeEpsilon,
)
from dpaudit.zoo.mean import (
    ClippedMeanExactCount,
    DPGaussian,
    DPLaplace,
    NonDPGaussian1,
    NonDPGaussian2,
    NonDPLaplace1,
    NonDPLaplace2,
)
from dpaudit.zoo.noisy_max import (
    NoisyMaxExponential,
    NoisyMaxLaplace,
    NoisyMaxValueExponential,
    NoisyMaxValueLaplace,
)
from dpaudit.zoo.rappor import SALT, OneTimeRappor, Rappor, RapporOneHashClaim, positions
from dpaudit.zoo.slips import FixedSeed, RaisesOnEmpty, RareLeak
from dpaudit.zoo.snapping import Snapping, coin_tosses, snapped, uniform_floats
from dpaudit.zoo.sparse_vector import SVT1, SVT2, SVT3, SVT4, SVT5, SVT6, NumericalSVT
from dpaudit.zoo.staircase import Staircase
from dpaudit.zoo.sums import ForgottenBudget, LaplaceParallel, PrefixSum

__all__ = [
    "SVT1",
    "SVT2",
    "SVT3",
    "SVT4",
    "SVT5",
    "SVT6",
    "ZOO",
    "ClassicalGaussianCount",
    "ClassicalGaussianCountTooLoose",
    "ClippedMeanExactCount",
    "ClippedSum",
    "DPGaussian",
    "DPLaplace",
    "ExponentialMechanism",
    "FixedSeed",
    "ForgottenBudget",
    "GaussianCount",
    "Geometric",
    "GradientDescent",
    "HistogramThresholdBeforeNoise",
    "KaryRandomizedResponse",
    "LaplaceCount",
    "LaplaceParallel",
    "NoisyHistogram",
    "NoisyHistogramScaleEpsilon",
    "NoisyMaxExponential",
    "NoisyMaxLaplace",
    "NoisyMaxValueExponential",
    "NoisyMaxValueLaplace",
    "NonDPGaussian1",
    "NonDPGaussian2",
    "NonDPLaplace1",
    "NonDPLaplace2",
    "NumericalSVT",
    "OneTimeRappor",
    "OptimisedUnaryEncoding",
    "PrefixSum",
    "PrivateMedian",
    "PrivateMedianHalfNoise",
    "RaisesOnEmpty",
    "RandomizedResponse",
    "Rappor",
    "RapporOneHashClaim",
    "RareLeak",
    "RoundedGeometric",
    "RoundedGeometricNaturalLog",
    "ScaledGD",
    "Snapping",
    "Staircase",
    "SymmetricUnaryEncoding",
    "ThresholdedHistogram",
    "ThresholdedHistogramNoDelta",
    "TruncatedGeometric",
    "UnaryEncodingWholeEpsilon",
    "ZooEntry",
]

ROOMS = (
    additive,
    discrete,
    staircase,
    snapping,
    local,
    rappor,
    mean,
    sums,
    histograms,
    exponential,
    noisy_max,
    sparse_vector,
    gradient_descent,
    slips,
)

ZOO: Mapping[str, ZooEntry] = MappingProxyType(
    {entry.name: entry for room in ROOMS for entry in room.ENTRIES}
)
