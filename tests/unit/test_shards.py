"""Draws in shards: the same whoever takes them, in whatever portions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dpaudit
from dpaudit.arrays import Labels
from dpaudit.auditing import Budget, Run, Shards, shard_size
from dpaudit.mechanism import as_mechanism
from dpaudit.neighbours import Pair
from dpaudit.outputs import Outputs

PAIR = Pair([1.0], [])


class Asked:
    """A noisy count that notes how many draws each call was asked for."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Any:
        self.sizes.append(size)
        return len(data) + rng.laplace(size=size)


def shards(
    samples: int = 10_000,
    *,
    number: int = 0,
    seconds: float | None = None,
    seed: int = 5,
    mechanism: Callable[..., Any] | None = None,
) -> tuple[Shards, Run, list[int]]:
    """The shards of one pair, their run, and how many outputs were seen each time."""
    run = Run(
        mechanism=as_mechanism(mechanism or Asked()),
        claim=dpaudit.PureDP(1.0),
        alpha=1e-6,
        budget=Budget(samples, seconds),
        entropy=seed,
    )
    seen: list[int] = []

    def see(outputs: Outputs, labels: Labels) -> None:
        assert len(outputs) == len(labels)
        seen.append(len(labels))

    return Shards(run, PAIR, number, see=see), run, seen


def taken(portions: list[int], **more: Any) -> tuple[list[float], list[bool]]:
    ours, _, _ = shards(**more)
    numbers: list[float] = []
    labels: list[bool] = []
    for size in portions:
        table, some = ours.take(size)
        assert len(some) == size
        numbers += table.numbers[:, 0].tolist()
        labels += some.tolist()
    return numbers, labels


@pytest.mark.parametrize("portions", [[700], [1] * 700, [8, 1, 91, 300, 300], [333, 367]], ids=len)
def test_the_draws_do_not_depend_on_the_portions(portions: list[int]) -> None:
    assert taken(portions) == taken([350, 350])


def test_every_pair_and_every_seed_has_draws_of_its_own() -> None:
    first = taken([100])[0]
    assert not set(first) & set(taken([100], number=1)[0])
    assert not set(first) & set(taken([100], seed=6)[0])


def test_a_longer_budget_begins_with_the_same_draws() -> None:
    numbers, _ = taken([900], samples=1_500)
    assert taken([900, 4_000], samples=20_000)[0][:900] == numbers


def test_shards_grow_with_the_past_and_are_powers_of_two() -> None:
    before, sizes = 0, []
    while before < 10**7:
        sizes.append(shard_size(before))
        before += sizes[-1]
    assert sizes == sorted(sizes)
    assert all(size & (size - 1) == 0 for size in sizes)
    assert (sizes[0], sizes[-1]) == (8, 65_536)
    past = np.cumsum([0, *sizes[:-1]])
    later = past >= 80
    assert np.all(np.array(sizes)[later] <= past[later] / 5)


def test_what_is_drawn_is_paid_for_and_what_is_not_taken_waits() -> None:
    ours, run, seen = shards()
    ours.take(10)
    assert (ours.made, ours.waiting, run.budget.spent) == (16, 6, 16)
    ours.take(6)
    assert (ours.waiting, run.budget.spent) == (0, 16)
    assert sum(seen) == 16


def test_the_last_shard_is_cut_where_the_budget_ends() -> None:
    ours, run, _ = shards(200)
    _, labels = ours.take(1_000)
    assert len(labels) == run.budget.samples - run.budget.reserve == run.budget.spent
    table, labels = ours.take(1)
    assert len(table) == len(labels) == 0


def test_with_a_limit_of_seconds_calls_are_as_large_as_is_wanted() -> None:
    asked = Asked()
    ours, _, _ = shards(100_000, seconds=60.0, mechanism=asked)
    for _ in range(12):
        ours.take(2_000)
    assert max(asked.sizes) >= 500  # of one side; by its place alone no shard would be so large


def test_a_row_depends_on_nothing_that_comes_later() -> None:
    """The last output of each call has a field: nobody knows of it before it is taken."""

    def late(data: Any, size: int, rng: np.random.Generator) -> list[object]:
        return [*[None] * (size - 1), {"late": 1.0}]

    ours, run, _ = shards(mechanism=late)
    ours.take(1)
    assert run.encoder.names == ("output",)
    ours.take(7)
    assert "output['late']" in run.encoder.names
