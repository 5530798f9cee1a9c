"""A seed fixed inside a mechanism is noticed, and nobody else is accused."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from dpaudit.errors import HealthWarning
from dpaudit.mechanism import FrozenSeedCheck


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def warnings_of(
    draws: Callable[[int], Any], sizes: tuple[int, ...] = (100, 120, 90)
) -> list[warnings.WarningMessage]:
    check = FrozenSeedCheck("careless")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for size in sizes:
            check.see("data", draws(size))
    return caught


def fresh() -> Iterator[np.random.Generator]:
    return map(np.random.default_rng, range(1000))


@pytest.mark.parametrize(
    "draws",
    [
        lambda size: rng().normal(size=size),
        lambda size: rng().normal(size=(size, 2)),
        lambda size: rng().integers(0, 2, size=size),
        lambda size: [["a", "b"][bit] for bit in rng().integers(0, 2, size=(size,))],
        lambda size: np.where(rng().random(size) < 0.5, np.nan, 1.0),
        lambda size: [{"value": x} for x in rng().normal(size=(size,))],
    ],
)
def test_a_frozen_seed_is_noticed_once(draws: Callable[[int], Any]) -> None:
    """Null: a frozen seed repeats its outputs; 100 bits are too much alike to tell with rate 4e-9.

    Alternative: a check that sees no repeats, or warns at each of them; either changes the list of
    warnings for sure, power 1.
    """
    caught = warnings_of(draws)
    assert [warning.category for warning in caught] == [HealthWarning]
    assert "careless returned the same 100 outputs at two calls" in str(caught[0].message)


def test_constants_and_honest_mechanisms_are_not_accused() -> None:
    """Null: 90 bits of two calls agree with probability 2^-90; false alarms below 1e-26.

    Alternative: a check that accuses for 4 equal bits, caught with power 1 - 3e-6.
    """
    generators = fresh()
    assert warnings_of(lambda size: np.full(size, 3.0), (10_000,) * 3) == []
    assert warnings_of(lambda size: ["same"] * size) == []
    assert warnings_of(lambda size: np.zeros((size, 3))) == []
    assert warnings_of(lambda size: next(generators).normal(size=size)) == []
    assert warnings_of(lambda size: next(generators).integers(0, 2, size=size)) == []
    # Short calls with bits agree by chance now and then: not enough for an accusation.
    assert warnings_of(lambda size: next(generators).integers(0, 2, size=size), (4,) * 200) == []
    assert warnings_of(lambda size: rng().integers(0, 2, size=size), (50, 50)) == []


def test_sides_are_compared_with_themselves() -> None:
    check = FrozenSeedCheck()
    for key in "abc":
        check.see(key, rng().normal(size=100))
    with pytest.warns(HealthWarning, match="the mechanism returned the same 100 outputs"):
        check.see("a", rng().normal(size=100))


def test_a_reused_buffer_is_not_a_frozen_seed() -> None:
    buffer, generators = np.empty(100), fresh()
    check = FrozenSeedCheck()
    for _ in range(5):
        buffer[:] = next(generators).normal(size=100)
        check.see("data", buffer)


def test_the_check_forgets_old_datasets() -> None:
    check = FrozenSeedCheck()
    for number in range(500):
        check.see(str(number), np.zeros(10))
    assert len(check._seen) <= 64
