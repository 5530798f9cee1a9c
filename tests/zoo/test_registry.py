"""Every entry of the zoo tells the truth about its mechanism, as far as it can be checked alike."""

import dataclasses
import importlib
import itertools
from typing import Any

import numpy as np
import pytest

import dpaudit
from dpaudit import zoo
from dpaudit.integrations import load_mechanism
from dpaudit.mechanism import as_mechanism
from dpaudit.neighbours import Pair
from dpaudit.zoo import GROUPS, ZOO, GaussianCount, ZooEntry

ENTRIES = pytest.mark.parametrize("entry", ZOO.values(), ids=lambda entry: entry.name)


# Mistakes of the code, which are what these two are there for.
DRAWS_ARE_FROZEN = "FixedSeed"
RAISES_ON_SOME_DATA = "RaisesOnEmpty"


def test_the_zoo_is_closed_and_every_mechanism_has_its_own_name() -> None:
    assert len(ZOO) == sum(map(len, GROUPS))
    assert set(ZOO) == set(zoo.__all__) - {"ZOO", "ZooEntry"}
    with pytest.raises(TypeError):
        ZOO["mine"] = ZOO["SVT1"]  # type: ignore[index]


def test_the_zoo_has_right_and_wrong_ones_of_every_kind_of_claim() -> None:
    kinds = {(type(entry.claim).__name__, entry.keeps_claim) for entry in ZOO.values()}
    assert kinds == set(itertools.product(("PureDP", "ApproxDP", "RenyiDP"), (True, False)))


@ENTRIES
def test_an_entry_agrees_with_its_mechanism(entry: ZooEntry) -> None:
    mechanism: Any = entry.factory()
    assert mechanism.name == entry.name == type(mechanism).__name__
    assert as_mechanism(mechanism).name.partition("(")[0] == entry.name
    assert mechanism == entry.factory()
    assert hash(mechanism) == hash(entry.factory())
    if hasattr(mechanism, "epsilon"):
        assert entry.claim.epsilon == mechanism.epsilon
    if isinstance(mechanism, GaussianCount):
        assert entry.claim.delta(mechanism.epsilon) == mechanism.delta
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(mechanism, dataclasses.fields(mechanism)[0].name, 2.0)


@ENTRIES
def test_an_entry_agrees_with_itself(entry: ZooEntry) -> None:
    assert entry.keeps_claim == (entry.bug == "")
    assert entry.source != ""
    if entry.true_epsilon is not None:
        assert entry.keeps_claim == (entry.true_epsilon <= entry.claim.epsilon)


@ENTRIES
def test_the_pair_is_one_of_the_neighbours(entry: ZooEntry) -> None:
    relation = entry.neighbours()
    assert relation.contains(entry.pair)
    assert not relation.contains(Pair(entry.pair.data, entry.pair.data))


@ENTRIES
def test_the_mechanism_takes_all_of_its_neighbours(entry: ZooEntry) -> None:
    rng = np.random.default_rng(1)
    relation = entry.neighbours()
    pairs = [entry.pair, *relation.edge_pairs(), *(relation.random_pair(rng) for _ in range(20))]
    with np.errstate(all="raise"):
        for pair in pairs:
            for data in (pair.data, pair.neighbour):
                if entry.name == RAISES_ON_SOME_DATA and len(data) == 0:
                    continue
                for size in (1, 7):
                    assert len(as_mechanism(entry.factory()).draw(data, size, rng)) == size


@ENTRIES
def test_draws_come_from_the_generator_alone(entry: ZooEntry) -> None:
    mechanism = as_mechanism(entry.factory())
    first, second, third = (
        mechanism.draw(entry.pair.data, 5_000, np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, second)
    frozen = np.array_equal(first, third, equal_nan=np.asarray(first).dtype.kind == "f")
    assert frozen == (entry.name == DRAWS_ARE_FROZEN)


def test_the_old_name_of_the_zoo_still_works() -> None:
    old = importlib.import_module("dpaudit.mechanisms")
    assert old is dpaudit.zoo is importlib.import_module("dpaudit.zoo")
    assert load_mechanism("dpaudit.mechanisms:LaplaceCount").name == "LaplaceCount"
