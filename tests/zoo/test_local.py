"""Local mechanisms: exact distributions, and the epsilons by enumeration."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from exact import DRAWS, Floats, assert_counts, draw

from dpaudit.zoo import (
    ZOO,
    KaryRandomizedResponse,
    OptimisedUnaryEncoding,
    RandomizedResponse,
    SymmetricUnaryEncoding,
    UnaryEncodingWholeEpsilon,
)

UNARY = [SymmetricUnaryEncoding, OptimisedUnaryEncoding, UnaryEncodingWholeEpsilon]
OF_CATEGORIES = [KaryRandomizedResponse, *UNARY]


def published(name: str, epsilon: float) -> tuple[float, float]:
    """The `p` and `q` of an encoding: how often one's own bit is set, and another."""
    half, whole = (math.exp(spent) / (math.exp(spent) + 1) for spent in (epsilon / 2, epsilon))
    return {
        "SymmetricUnaryEncoding": (half, 1 - half),
        "OptimisedUnaryEncoding": (0.5, 1 / (math.exp(epsilon) + 1)),
        "UnaryEncodingWholeEpsilon": (whole, 1 - whole),
    }[name]


def exact(name: str, epsilon: float, categories: int, own: int) -> Floats:
    """The probability of every output: of a category, or of a row of bits read as a number."""
    if name in ("RandomizedResponse", "KaryRandomizedResponse"):
        weights = np.where(np.arange(categories) == own, math.exp(epsilon), 1.0)
        return np.asarray(weights / weights.sum())
    p, q = published(name, epsilon)
    rows = np.array(list(itertools.product([0, 1], repeat=categories)))
    chances = np.where(np.arange(categories) == own, p, q)
    return np.asarray(np.where(rows == 1, chances, 1 - chances).prod(axis=1))


def largest_loss(name: str, epsilon: float, categories: int, own: int, other: int) -> float:
    mine, theirs = (exact(name, epsilon, categories, value) for value in (own, other))
    return float(np.max(np.log(mine / theirs)))


@pytest.mark.parametrize("bit", [0, 1])
def test_randomized_response(bit: int) -> None:
    outputs = draw(RandomizedResponse(1.0), np.array([bit]))
    assert set(outputs.tolist()) == {0, 1}
    kept = math.e / (1 + math.e)
    assert_counts(np.bincount(outputs != bit), np.array([kept, 1 - kept]))


@pytest.mark.parametrize(("epsilon", "categories"), [(1.0, 4), (0.3, 2), (2.5, 7)])
def test_k_ary_randomized_response(epsilon: float, categories: int) -> None:
    for own in range(categories):
        outputs = draw(KaryRandomizedResponse(epsilon, categories), np.array([own]))
        assert outputs.shape == (DRAWS,)
        observed = np.bincount(outputs, minlength=categories)
        assert_counts(observed, exact("KaryRandomizedResponse", epsilon, categories, own))
    loss = largest_loss("KaryRandomizedResponse", epsilon, categories, 1, 0)
    assert loss == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("build", UNARY)
@pytest.mark.parametrize(("epsilon", "categories"), [(1.0, 4), (0.3, 2), (2.5, 5)])
def test_unary_encodings(build: Any, epsilon: float, categories: int) -> None:
    for own in range(categories):
        outputs = draw(build(epsilon, categories), np.array([own]))
        assert outputs.shape == (DRAWS, categories)
        codes = outputs @ 2 ** np.arange(categories)[::-1]
        observed = np.bincount(codes, minlength=2**categories)
        assert_counts(observed, exact(build.name, epsilon, categories, own))
    times = 2 if build is UnaryEncodingWholeEpsilon else 1
    loss = largest_loss(build.name, epsilon, categories, 1, 0)
    assert loss == pytest.approx(times * epsilon, rel=1e-9)


@pytest.mark.parametrize("build", [RandomizedResponse, *OF_CATEGORIES])
def test_the_true_epsilon_is_reached_by_every_pair_and_passed_by_none(build: Any) -> None:
    entry, mechanism = ZOO[build.name], build()
    categories = getattr(mechanism, "categories", 2)
    assert entry.neighbours().domain.high == categories - 1  # type: ignore[attr-defined]
    for own, other in itertools.permutations(range(categories), 2):
        loss = largest_loss(entry.name, mechanism.epsilon, categories, own, other)
        assert loss == pytest.approx(entry.true_epsilon, rel=1e-12)


def test_the_whole_epsilon_on_every_bit_is_twice_the_budget() -> None:
    right, wrong = SymmetricUnaryEncoding(2.0), UnaryEncodingWholeEpsilon(1.0)
    np.testing.assert_array_equal(draw(right, [2], 1000), draw(wrong, [2], 1000))


@pytest.mark.parametrize("build", OF_CATEGORIES)
def test_a_huge_epsilon_does_not_overflow(build: Any) -> None:
    with np.errstate(all="raise"):
        outputs = draw(build(1e6), [3], 100)
    own = outputs if build is KaryRandomizedResponse else outputs @ np.arange(4)
    assert set(own.tolist()) == ({0, 3} if build is OptimisedUnaryEncoding else {3})


@pytest.mark.parametrize("build", OF_CATEGORIES)
@pytest.mark.parametrize("record", [-1, 4])
def test_a_record_that_is_no_category_is_refused(build: Any, record: int) -> None:
    message = f"{build.name} of 4 categories takes a record from 0 to 3, got {record}"
    with pytest.raises(ValueError, match=message):
        build()([record], 1, np.random.default_rng(0))
