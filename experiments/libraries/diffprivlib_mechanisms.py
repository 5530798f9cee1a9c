"""Mechanisms of diffprivlib: noise on one number, and choices among candidates.

A mechanism claims its epsilon and delta for two values its sensitivity apart, or for any two
labels where it has no sensitivity. `Vector` changes a function and is audited with the model that
uses it, logistic regression.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from entry import Entry

import dpaudit
from dpaudit import PureDP, Subject
from dpaudit.inside import shown_coins

Matrix = npt.NDArray[np.float64]

OUT_OF_RANGE = "values below the lower and above the upper bound"
ABOVE_FLOATS = "whole numbers that a float cannot hold"
VOTERS = 4
SLOW = 30_000  # draws where one takes a tenth of a thousandth of a second or more


def made(kind: str, **given: Any) -> Any:
    """A mechanism of diffprivlib by its name."""
    return getattr(importlib.import_module("diffprivlib.mechanisms"), kind)(**given)


def of(kind: str, **given: Any) -> Callable[[], Subject]:
    """Who makes a subject of a mechanism, with the claim that it makes."""
    return lambda: dpaudit.integrations.from_diffprivlib(made(kind, **given))


def on(neighbours: Callable[[], Any], kind: str, **given: Any) -> Callable[[], Subject]:
    """The same, with other neighbours."""
    return lambda: replace(of(kind, **given)(), neighbours=neighbours())


def around(low: float, high: float) -> Callable[[], Any]:
    """Numbers that lie one apart."""
    return lambda: dpaudit.query_answers(1, 1.0, low=low, high=high)


def whole(*starts: int) -> Callable[[], Any]:
    """Each of these whole numbers and the next one."""
    return lambda: dpaudit.pairs([(np.array([each]), np.array([each + 1])) for each in starts])


def state_of(rng: np.random.Generator) -> np.random.RandomState:
    """The generator in the form that diffprivlib takes."""
    return np.random.RandomState(shown_coins(rng).bit_generator)


def votes(kind: str, dtype: type[np.integer[Any]]) -> Callable[[], Subject]:
    """The winner of a vote: one vote more raises one score by 1, so the scores are monotonic."""

    def winner(data: Any, rng: np.random.Generator) -> Any:
        scores = list(np.bincount(data, minlength=3).astype(dtype))
        given = {"epsilon": 1.0, "sensitivity": 1, "monotonic": True, "utility": scores}
        return made(kind, **given, random_state=state_of(rng)).randomise()

    return lambda: Subject(
        mechanism=dpaudit.one_at_a_time(winner),
        claim=PureDP(1.0),
        neighbours=dpaudit.add_or_remove_one(dpaudit.integers(0, 2), max_records=VOTERS),
    )


def bingham(dimensions: int) -> Callable[[], Subject]:
    """The first direction of a covariance matrix: one record of norm 1 is replaced by another."""

    def direction(data: Matrix, rng: np.random.Generator) -> Matrix:
        found: Matrix = made("Bingham", epsilon=1.0, random_state=state_of(rng)).randomise(data)
        return found**2  # a direction has no sign

    return lambda: Subject(
        mechanism=dpaudit.one_at_a_time(direction),
        claim=PureDP(1.0),
        neighbours=dpaudit.pairs(list(_matrices(dimensions))),
    )


def _matrices(dimensions: int) -> Iterator[tuple[Matrix, Matrix]]:
    first, second = (np.outer(axis, axis) for axis in np.eye(dimensions)[:2])
    for weight in (0.0, 1.0, 5.0):  # of the other records, which all lie on the second axis
        yield weight * second + first, weight * second + second


RANGE = {"lower": 0, "upper": 10}
STREETS = [("north", "south", 2), ("north", "west", 1), ("south", "west", 1)]
ONE = {"epsilon": 1.0, "sensitivity": 1}

ENTRIES: tuple[Entry, ...] = (
    Entry("Laplace", of("Laplace", **ONE), tight=1.0),
    Entry("Laplace, delta 0.01", of("Laplace", **ONE, delta=0.01)),
    Entry("LaplaceTruncated", of("LaplaceTruncated", **ONE, **RANGE), tight=1.0),
    Entry("LaplaceFolded", of("LaplaceFolded", **ONE, **RANGE)),
    Entry("LaplaceBoundedDomain", of("LaplaceBoundedDomain", **ONE, **RANGE)),
    Entry(
        "LaplaceBoundedDomain, values out of range",
        on(around(-5, 15), "LaplaceBoundedDomain", **ONE, **RANGE),
        watched=OUT_OF_RANGE,
    ),
    Entry("LaplaceBoundedNoise", of("LaplaceBoundedNoise", **ONE, delta=0.01)),
    Entry("Staircase", of("Staircase", **ONE), tight=1.0),
    Entry("Uniform", of("Uniform", delta=0.1, sensitivity=1)),
    Entry("Snapping", of("Snapping", **ONE, **RANGE)),
    Entry(
        "Snapping, values out of range",
        on(around(-5, 15), "Snapping", **ONE, **RANGE),
        watched=OUT_OF_RANGE,
    ),
    Entry("Gaussian", of("Gaussian", **ONE, delta=1e-3)),
    Entry("GaussianAnalytic", of("GaussianAnalytic", **ONE, delta=1e-3)),
    Entry("GaussianDiscrete", of("GaussianDiscrete", **ONE, delta=1e-3), samples=50_000),
    Entry(
        "GaussianDiscrete, values above 2^53",
        on(whole(2**53 + 2, 2**60 + 128), "GaussianDiscrete", **ONE, delta=1e-3),
        samples=20_000,
        watched=ABOVE_FLOATS,
    ),
    Entry("Geometric", of("Geometric", **ONE), tight=1.0),
    Entry("Geometric, sensitivity 10^6", of("Geometric", epsilon=1, sensitivity=10**6)),
    Entry(
        "Geometric, values above 2^53",
        on(whole(2**53 + 2, 2**60 + 128), "Geometric", **ONE),
        watched=ABOVE_FLOATS,
    ),
    Entry("GeometricTruncated", of("GeometricTruncated", **ONE, **RANGE), tight=1.0),
    Entry(
        "GeometricTruncated, values out of range",
        on(whole(-3, -1, 0, 9, 10, 12), "GeometricTruncated", **ONE, **RANGE),
        watched=OUT_OF_RANGE,
    ),
    Entry("GeometricFolded", of("GeometricFolded", **ONE, lower=0.5, upper=10)),
    Entry("Binary", of("Binary", epsilon=1.0, value0="no", value1="yes"), tight=1.0),
    Entry("Exponential", of("Exponential", **ONE, utility=[1, 0, 0]), samples=SLOW),
    Entry(
        "Exponential, monotonic scores",
        votes("Exponential", np.int64),
        samples=SLOW,
        watched="an empty dataset",
    ),
    Entry(
        "Exponential, monotonic scores of type uint8",
        votes("Exponential", np.uint8),
        samples=SLOW,
        watched="scores of an unsigned type; an empty dataset",
    ),
    Entry("PermuteAndFlip", of("PermuteAndFlip", **ONE, utility=[1.0, 0.0, 0.0]), samples=SLOW),
    Entry(
        "PermuteAndFlip, monotonic scores",
        votes("PermuteAndFlip", np.int64),
        samples=SLOW,
        watched="an empty dataset",
    ),
    Entry(
        "ExponentialCategorical",
        of("ExponentialCategorical", epsilon=1.0, utility_list=STREETS),
        samples=SLOW,
    ),
    Entry(
        "ExponentialHierarchical",
        of("ExponentialHierarchical", epsilon=1.0, hierarchy=["a", "b", "c", "d"]),
    ),
    Entry(
        "ExponentialHierarchical, two levels",
        of("ExponentialHierarchical", epsilon=1.0, hierarchy=[["a"], ["b", "c"]]),
        samples=SLOW,
    ),
    Entry("Bingham", bingham(2), samples=5_000),
)
