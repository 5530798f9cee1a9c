"""Shrinking: plainer pairs, until none refutes; certified on fresh samples."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import dpaudit
from dpaudit import PureDP
from dpaudit.auditing import cost, simpler_pairs
from dpaudit.errors import InvalidRelation
from dpaudit.neighbours import ABSENT, Pair, Slot, Structured
from dpaudit.results import audit_from_json
from dpaudit.zoo import ClippedSum

Floats = npt.NDArray[np.float64]
SUMS = dpaudit.replace_one(dpaudit.floats(-1, 1), max_records=10)
COUNTS = dpaudit.add_or_remove_one(dpaudit.floats(0, 1), max_records=10)


def ten_records(seed: int) -> Pair:
    """A pair of ten records that the clipped sum tells apart, with nothing plain about it."""
    rng = np.random.default_rng(seed)
    data = rng.uniform(-1.0, 1.0, size=10)
    neighbour, place = data.copy(), int(rng.integers(10))
    data[place], neighbour[place] = rng.uniform(0.8, 1.0), -rng.uniform(0.8, 1.0)
    return Pair(data, neighbour)


# --- plainer pairs --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "relation",
    [
        SUMS,
        COUNTS,
        dpaudit.query_answers(4),
        dpaudit.group(COUNTS, 3),
        dpaudit.replace_one(
            dpaudit.records(age=dpaudit.integers(0, 99), sex=dpaudit.texts("m", "f"))
        ),
    ],
    ids=lambda relation: str(relation.describe()),
)
def test_every_plainer_pair_is_one_of_the_relation_and_costs_less(relation: Structured) -> None:
    rng = np.random.default_rng(3)
    for _ in range(10):
        pair = relation.random_pair(rng)
        slots = relation.align(pair)
        assert slots is not None
        for candidate in simpler_pairs(relation, pair):
            assert relation.contains(candidate)
            assert candidate.slots is not None
            assert cost(relation, candidate.slots) < cost(relation, slots)


def test_the_plainest_pair_has_nothing_plainer() -> None:
    pair = COUNTS.join([Slot(0.0, ABSENT)])
    assert pair is not None
    assert list(simpler_pairs(COUNTS, pair)) == []


def test_a_shared_record_can_take_the_place_of_the_one_that_differs() -> None:
    pair = COUNTS.join([Slot(0.731, 0.731), Slot(0.25, ABSENT)])
    assert pair is not None
    assert Pair(np.array([0.731]), np.array([])) in list(simpler_pairs(COUNTS, pair))


def test_a_pair_of_another_relation_has_no_plainer_ones() -> None:
    assert list(simpler_pairs(COUNTS, Pair([5.0], []))) == []


# --- the mechanism decides ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_ten_records_of_the_clipped_sum_become_one_at_the_edges(seed: int) -> None:
    """Null: the pair shrinks to -1 against 1, with a bound in (1, 2]; held for 30 of 30 seeds.

    The bound is above the true 2 with probability at most 1e-6.
    Alternative: shrinking ends early or goes past what refutes; caught always.
    """
    dpaudit.shrink(ClippedSum(), PureDP(1.0), ten_records(seed), SUMS, samples=9_000)  # imports
    start = time.process_time()  # not the clock on the wall: other tests may be running
    found = dpaudit.shrink(ClippedSum(), PureDP(1.0), ten_records(seed), SUMS, rng=seed)
    assert time.process_time() - start < 2.0
    assert found is not None
    assert sorted([*found.pair.data, *found.pair.neighbour]) == [-1.0, 1.0]
    assert 1.0 < found.epsilon_lower <= 2.0
    assert found.alpha == 1e-6


def test_what_is_needed_stays() -> None:
    """Null: the leak needs two equal records and a third one: three are left, two of them equal.

    (Records that are added or removed change nothing else.) Held for 30 of 30 other seeds.
    Alternative: a record less, which refutes with probability at most 1e-6; caught.
    """

    def leaks_at_equal_records(data: Any, size: int, rng: np.random.Generator) -> Floats:
        repeated = len(data) >= 3 and len(set(data)) < len(data)
        return np.full(size, 1.0) if repeated else rng.laplace(size=size)

    pair = Pair(np.array([0.3, 0.6, 0.9, 0.3]), np.array([0.3, 0.6, 0.9]))
    found = dpaudit.shrink(leaks_at_equal_records, PureDP(1.0), pair, COUNTS, rng=1)
    assert found is not None
    assert len(found.pair.data) == 3
    assert len(found.pair.neighbour) == 2
    assert found.event == "output = 1"


def test_the_same_seed_shrinks_alike() -> None:
    both = [dpaudit.shrink(ClippedSum(), PureDP(1.0), ten_records(5), SUMS, rng=4) for _ in "ab"]
    assert both[0] is not None
    assert both[0] == both[1]


def test_a_pair_that_does_not_refute_is_not_shown() -> None:
    """Null: 0.4-DP is accused of breaking 1-DP with probability at most 1e-6.

    Alternative: a pair is shown without fresh evidence; caught always.
    """
    pair = Pair(np.array([0.5, 0.4]), np.array([0.5]))
    assert dpaudit.shrink(noisy_sum, PureDP(1.0), pair, COUNTS, rng=1) is None


def noisy_sum(data: Any, size: int, rng: np.random.Generator) -> Floats:
    return float(np.sum(data)) + rng.laplace(size=size)


@pytest.mark.parametrize("samples", [1, 2_000, 9_000, 30_000])
def test_no_more_samples_are_drawn_than_allowed(samples: int) -> None:
    drawn = 0

    def counting(data: Any, size: int, rng: np.random.Generator) -> Floats:
        nonlocal drawn
        drawn += size
        return np.asarray(ClippedSum()(data, size, rng))

    dpaudit.shrink(counting, PureDP(1.0), ten_records(1), SUMS, samples=samples, rng=1)
    assert drawn <= samples


@pytest.mark.parametrize(
    ("pair", "neighbours", "error", "message"),
    [
        (([5.0], [0.0]), SUMS, InvalidRelation, "not a pair of replace one"),
        (([0.0], [0.0]), SUMS, InvalidRelation, "not a pair of replace one"),
        (([1.0], [0.0]), [([1.0], [0.0])], TypeError, "shrink needs a relation"),
    ],
)
def test_bad_input_is_refused(pair: Any, neighbours: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        dpaudit.shrink(ClippedSum(), PureDP(1.0), pair, neighbours)


# --- in an audit ----------------------------------------------------------------------------------


def test_an_audit_ends_with_as_few_records_as_the_leak_needs() -> None:
    """Null: the audit refutes and three records are left; held for 30 of 30 other seeds.

    Two records, which keep 1-DP, are shown with probability at most 1e-6.
    Alternative: nothing is shrunk, or too far; caught.
    """

    def leaks_when_crowded(data: Any, size: int, rng: np.random.Generator) -> Floats:
        return float(np.sum(data)) + rng.laplace(scale=0.2 if len(data) > 2 else 3.0, size=size)

    audit = dpaudit.audit(
        leaks_when_crowded, PureDP(1.0), dpaudit.replace_one(dpaudit.floats(0, 1)), rng=3
    )
    assert audit.refuted
    assert audit.counterexample is not None
    shown = audit.counterexample if audit.simplest is None else audit.simplest
    assert len(shown.pair.data) == 3
    assert shown.breaks(audit.claim)
    assert audit.samples <= 300_000


def test_given_pairs_are_not_shrunk() -> None:
    audit = dpaudit.audit(ClippedSum(), PureDP(1.0), [ten_records(2)], rng=1)
    assert audit.refuted
    assert audit.simplest is None


class TenFirst:
    """A finder that proposes an ugly pair and nothing else."""

    def ask(self) -> Pair:
        return ten_records(2)

    def tell(self, pair: Pair, score: float) -> None:
        pass


@pytest.mark.parametrize(
    "tester", [None, dpaudit.testers.HockeyStickTester()], ids=["bets", "trials"]
)
def test_an_ugly_pair_is_shown_with_the_simplest_one(tester: Any) -> None:
    """Null: the ugly pair refutes and shrinks to -1 against 1; held for 30 of 30 other seeds.

    Alternative: nothing is shrunk, or the draws are used twice; caught always.
    """
    audit = dpaudit.audit(ClippedSum(), PureDP(1.0), SUMS, finder=TenFirst(), tester=tester, rng=1)
    assert audit.tester == ("BettingTester" if tester is None else "HockeyStickTester")
    assert audit.counterexample is not None
    assert audit.counterexample.pair == ten_records(2)
    assert audit.simplest is not None
    assert sorted([*audit.simplest.pair.data, *audit.simplest.pair.neighbour]) == [-1.0, 1.0]
    assert audit.simplest.seed != audit.counterexample.seed
    assert "The simplest pair that still breaks the claim:" in str(audit)
    assert audit_from_json(audit.to_json()) == audit
