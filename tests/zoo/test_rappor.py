"""RAPPOR: its filters, exact distributions, and the losses by enumeration."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from exact import DRAWS, LUCK, Floats, assert_counts, draw
from scipy import stats

from dpaudit.zoo import SALT, ZOO, OneTimeRappor, Rappor, RapporOneHashClaim, positions

BUILDS = pytest.mark.parametrize("build", [Rappor, OneTimeRappor, RapporOneHashClaim])
MANY = [
    Rappor(),
    OneTimeRappor(),
    Rappor(0.5, 0.2, 0.7, hashes=2, bits=4, salt=0),
    Rappor(0.3, 0.0, 1.0, hashes=1, bits=4),
    Rappor(0.1, 0.6, 0.9, hashes=3, bits=4),
    OneTimeRappor(0.3, hashes=2, bits=4, salt=0),
]


def filter_of(mechanism: Any, value: int) -> frozenset[int]:
    settings = {"hashes": mechanism.hashes, "bits": mechanism.bits, "salt": mechanism.salt}
    return positions(value, **settings)


def chances_of_ones(mechanism: Any, value: int) -> Floats:
    """`Pr[sent = 1]` for every bit, by the story: a coin or the bit, then `p` or `q`."""
    p, q = (mechanism.p, mechanism.q) if isinstance(mechanism, Rappor) else (0.0, 1.0)
    chances = []
    for bit in range(mechanism.bits):
        own = 1 if bit in filter_of(mechanism, value) else 0
        ways = ((mechanism.f / 2, 0), (mechanism.f / 2, 1), (1 - mechanism.f, own))
        chances.append(math.fsum(chance * (q if kept == 1 else p) for chance, kept in ways))
    return np.array(chances)


def log_ratios(mechanism: Any, value: int, other: int) -> Floats:
    """For all `2^bits` outputs, how much likelier they are with `value` than with `other`."""
    mine, theirs = (chances_of_ones(mechanism, each) for each in (value, other))
    ones, zeros = np.log(mine / theirs), np.log((1 - mine) / (1 - theirs))
    ratios = np.zeros(1)
    for zero, one in zip(zeros, ones, strict=True):
        ratios = np.add.outer(ratios, [zero, one]).ravel()
    return ratios


def test_the_filters_are_fixed_for_ever() -> None:
    filters = [sorted(filter_of(Rappor(), value)) for value in (0, 1, 9)]
    assert filters == [[3, 4, 10, 14], [1, 2, 11, 14], [6, 16, 18, 19]]


@pytest.mark.parametrize(("hashes", "bits"), [(1, 2), (4, 20), (19, 20), (2, 1000)])
def test_a_filter_sets_as_many_bits_as_there_are_hashes(hashes: int, bits: int) -> None:
    for value in range(100):
        places = positions(value, hashes=hashes, bits=bits, salt=0)
        assert len(places) == hashes
        assert all(0 <= place < bits for place in places)


def test_hashing_spreads_over_all_bits() -> None:
    places = itertools.chain.from_iterable(
        positions(value, hashes=4, bits=20, salt=1) for value in range(2000)
    )
    assert_counts(np.bincount(list(places), minlength=20), np.full(20, 1 / 20))


def test_the_default_salt_is_the_first_with_one_position_shared_by_0_and_1() -> None:
    def shared(salt: int) -> int:
        zero, one = (positions(value, hashes=4, bits=20, salt=salt) for value in (0, 1))
        return len(zero & one)

    assert Rappor().salt == OneTimeRappor().salt == RapporOneHashClaim().salt == SALT
    assert shared(SALT) == 1
    assert all(shared(salt) != 1 for salt in range(SALT))


@pytest.mark.parametrize("value", [0, 7])
@BUILDS
def test_every_bit_is_sent_with_its_probability(build: Callable[..., Any], value: int) -> None:
    outputs = draw(build(), np.array([value]))
    assert outputs.shape == (DRAWS, 20)
    assert set(np.unique(outputs).tolist()) == {0, 1}
    for ones, chance in zip(outputs.sum(axis=0), chances_of_ones(build(), value), strict=True):
        assert stats.binomtest(int(ones), DRAWS, chance).pvalue > LUCK


@pytest.mark.parametrize(
    "mechanism",
    [
        Rappor(0.5, 0.2, 0.7, hashes=2, bits=4),
        RapporOneHashClaim(0.5, 0.2, 0.7, hashes=2, bits=4),
        Rappor(0.3, 0.0, 1.0, hashes=1, bits=3),
        OneTimeRappor(0.3, hashes=2, bits=4),
    ],
    ids=repr,
)
def test_the_bits_of_all_draws_are_independent(mechanism: Any) -> None:
    """Also those of one call: a permanent response that stayed would fill a few cells only."""
    for value in (0, 1):
        outputs = draw(mechanism, np.array([value]))
        rows = np.array(list(itertools.product([0, 1], repeat=mechanism.bits)))
        chances = chances_of_ones(mechanism, value)
        exact = np.where(rows == 1, chances, 1 - chances).prod(axis=1)
        codes = outputs @ 2 ** np.arange(mechanism.bits)[::-1]
        assert_counts(np.bincount(codes, minlength=2**mechanism.bits), exact)


@pytest.mark.parametrize("mechanism", MANY, ids=repr)
def test_the_loss_is_the_largest_log_ratio_over_all_outputs(mechanism: Any) -> None:
    for value, other in [(1, 0), (0, 1), (9, 0), (5, 2)]:
        ratios = log_ratios(mechanism, value, other)
        assert len(ratios) == 2**mechanism.bits
        assert mechanism.loss(value, other) == pytest.approx(ratios.max(), rel=1e-9, abs=1e-12)


def test_the_losses_of_0_and_1_are_those_of_six_bits() -> None:
    assert Rappor().loss(1, 0) == pytest.approx(6 * math.log(0.5125 / 0.4875), rel=1e-12)
    assert Rappor().loss(1, 0) == pytest.approx(0.30006, abs=5e-6)
    assert OneTimeRappor().loss(1, 0) == pytest.approx(6 * math.log(0.525 / 0.475), rel=1e-12)
    assert OneTimeRappor().loss(1, 0) == pytest.approx(0.6005, abs=5e-5)


@pytest.mark.parametrize("mechanism", MANY, ids=repr)
def test_no_two_values_cost_more_than_the_promise(mechanism: Any) -> None:
    for value, other in itertools.combinations(range(30), 2):
        shared = len(filter_of(mechanism, value) & filter_of(mechanism, other))
        assert mechanism.loss(value, other) == mechanism.loss(other, value) <= mechanism.epsilon
        assert (mechanism.loss(value, other) == mechanism.epsilon) == (shared == 0)
    assert mechanism.loss(4, 4) == 0


def test_the_promise_is_that_of_the_paper() -> None:
    """`h ln(q* (1 - p*) / (p* (1 - q*)))`, and `2 h ln((1 - f/2) / (f/2))` for one time."""
    one, zero = 0.25 * (0.2 + 0.7) + 0.5 * 0.7, 0.25 * (0.2 + 0.7) + 0.5 * 0.2
    exact = 2 * math.log(one * (1 - zero) / (zero * (1 - one)))
    assert Rappor(0.5, 0.2, 0.7, hashes=2).epsilon == pytest.approx(exact, rel=1e-12)
    assert RapporOneHashClaim(0.5, 0.2, 0.7, hashes=2).epsilon == pytest.approx(exact / 2)
    assert OneTimeRappor(0.3, hashes=5).epsilon == pytest.approx(10 * math.log(0.85 / 0.15))


@pytest.mark.parametrize("f", [1e-300, 1e-17, 1 - 1e-15])
def test_an_extreme_f_has_a_finite_epsilon(f: float) -> None:
    exact = 8 * math.log((1 - f / 2) / (f / 2))
    assert OneTimeRappor(f).epsilon == pytest.approx(exact, rel=1e-12, abs=1e-14)
    assert Rappor(f, 0.0, 1.0).epsilon == pytest.approx(exact, rel=1e-12, abs=1e-14)


@BUILDS
def test_the_true_epsilon_is_the_largest_loss_of_the_neighbours(build: Any) -> None:
    entry = ZOO[build.name]
    mechanism: Any = entry.factory()
    assert entry.true_epsilon is not None
    domain = entry.neighbours().domain  # type: ignore[attr-defined]
    sides = itertools.permutations(range(domain.low, domain.high + 1), 2)
    losses = {pair: loss_by_bits(mechanism, *pair) for pair in sides}
    assert entry.true_epsilon == pytest.approx(max(losses.values()), rel=1e-9)
    assert entry.true_epsilon == pytest.approx(losses[entry.pair.data[0], entry.pair.neighbour[0]])
    assert entry.claim.epsilon == mechanism.epsilon
    assert entry.keeps_claim == (entry.true_epsilon <= entry.claim.epsilon)


def loss_by_bits(mechanism: Any, value: int, other: int) -> float:
    """The bits are independent: the largest log-ratio is the sum of those of the bits."""
    mine, theirs = (chances_of_ones(mechanism, each) for each in (value, other))
    ones, zeros = np.log(mine / theirs), np.log((1 - mine) / (1 - theirs))
    return float(np.maximum(ones, zeros).sum())


def test_the_wrong_claim_is_made_for_the_same_mechanism() -> None:
    right, wrong = Rappor(), RapporOneHashClaim()
    np.testing.assert_array_equal(draw(right, [5], 1000), draw(wrong, [5], 1000))
    assert right.epsilon == pytest.approx(4 * wrong.epsilon)
