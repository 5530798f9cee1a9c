"""The finders that climb: evolve, gp, and auto, which shares the proposals out."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from dpaudit.domains import categories, explorable, floats, integers, vectors
from dpaudit.neighbours import (
    ABSENT,
    Pair,
    Slot,
    Structured,
    add_or_remove_one,
    group,
    query_answers,
    replace_one,
)
from dpaudit.search import (
    AutoFinder,
    Bandit,
    EvolveFinder,
    Features,
    Memory,
    Mutations,
    Shares,
    Surrogate,
    fingerprint,
    make_finder,
)
from dpaudit.search import auto as auto_module
from dpaudit.search.features import DIFFERENCE, REST, SIZE
from dpaudit.search.mutations import CHANGES
from dpaudit.search.shares import LEAST

RELATIONS: list[Structured] = [
    replace_one(floats(0, 1), max_records=4),
    add_or_remove_one(categories("a", "b", "c"), max_records=4),
    query_answers(3),
    group(add_or_remove_one(integers(0, 9), max_records=5), 2),
    replace_one(vectors(20, 0, 1), max_records=3),
]
by_relation = pytest.mark.parametrize(
    "relation", RELATIONS, ids=lambda relation: relation.describe()
)


def _rng(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


def _best_after(
    name: str, relation: Structured, count: int, score: Callable[[Pair], float]
) -> float:
    finder = make_finder(name, relation, _rng())
    best = 0.0
    for _ in range(count):
        pair = finder.ask()
        assert pair is not None
        finder.tell(pair, score(pair))
        best = max(best, score(pair))
    return best


@by_relation
def test_every_change_stays_in_the_relation_and_changes_something(relation: Structured) -> None:
    rng = _rng()
    mutations = Mutations(relation, rng)
    parents = [relation.random_pair(rng) for _ in range(20)]
    changed = []
    for parent in parents:
        slots = mutations.slots(parent)
        assert slots is not None
        changed += [(parent, mutations.changed(slots)) for _ in range(10)]
    assert all(child is not None and relation.contains(child) for _, child in changed)
    moved = [parent.key() != child.key() for parent, child in changed if child is not None]
    assert np.mean(moved) > 0.7


@by_relation
def test_every_cross_stays_in_the_relation(relation: Structured) -> None:
    rng = _rng()
    mutations = Mutations(relation, rng)
    parents = [mutations.slots(relation.random_pair(rng)) for _ in range(20)]
    for one, other in itertools.pairwise(parents):
        assert one is not None
        assert other is not None
        child = mutations.crossed(one, other)
        assert child is None or relation.contains(child)


def test_every_kind_of_change_is_used_somewhere() -> None:
    rng = _rng()
    relation = query_answers(3)
    domain = explorable(relation.domain)
    slots = [Slot(0.0, 0.0), Slot(0.0, 1.0), Slot(1.0, 0.5)]
    for change in dict.fromkeys(CHANGES):
        found = [change(slots, domain, rng) for _ in range(20)]
        assert any(one is not None and list(one) != slots for one in found), change.__name__


def test_the_difference_is_passed_on() -> None:
    domain = floats(0, 1)
    slots = [Slot(0.25, 0.25), Slot(1.0, 0.0)]
    passed = next(change for change in CHANGES if change.__name__ == "_pass_on")
    assert passed(slots, domain, _rng()) == [Slot(0.25, 0.0), Slot(1.0, 1.0)]
    absent = [Slot(0.25, 0.25), Slot(1.0, ABSENT)]
    assert passed(absent, domain, _rng()) == [Slot(0.25, ABSENT), Slot(1.0, 1.0)]


def test_evolve_climbs_where_records_must_be_equal() -> None:
    """Seven records alike to the last bit, of which chance makes hardly four."""

    def alike(pair: Pair) -> float:
        inside = pair.data[(pair.data > 0.1) & (pair.data < 0.45)]
        return float(np.unique(inside, return_counts=True)[1].max(initial=0))

    relation = add_or_remove_one(floats(0, 1), max_records=7)
    assert _best_after("evolve", relation, 300, alike) == 7.0


def test_gp_climbs_a_smooth_hill_faster_than_chance() -> None:
    def hill(pair: Pair) -> float:
        return float(np.exp(-30.0 * np.sum((pair.data[0] - [0.3, 0.7, 0.55]) ** 2)))

    relation = replace_one(vectors(3, 0, 1), max_records=1)
    assert _best_after("gp", relation, 45, hill) > 0.9
    assert _best_after("random", relation, 45, hill) < 0.9


def test_gp_is_not_fitted_before_anything_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("nothing was to be learned")

    monkeypatch.setattr(Surrogate, "learn", refuse)
    relation = RELATIONS[0]
    for name in ("gp", "auto"):
        finder = make_finder(name, relation, _rng())
        for _ in range(60):
            pair = finder.ask()
            assert pair is not None
            finder.tell(pair, 0.0)


def test_what_is_waited_for_counts_as_known() -> None:
    """At its expected score, so that only the doubt shrinks: else a batch lies in one place."""
    relation, memory = replace_one(floats(0, 1), max_records=1), Memory()
    bandit, rng = Bandit(relation, _rng(), memory), _rng()
    for _ in range(6):
        pair = relation.random_pair(rng)
        memory.tell(pair, float(1.0 - abs(pair.data[0] - 0.4)))
    pair = relation.random_pair(rng)
    known = relation.align(pair)
    assert known is not None
    row = Features(relation).row(known)[np.newaxis]
    assert bandit._learn()
    mean, deviation = bandit._model.predict(row)
    assert memory.meet(pair)
    assert bandit._learn()
    mean_waiting, deviation_waiting = bandit._model.predict(row)
    assert mean_waiting == pytest.approx(mean, abs=1e-6)
    assert deviation_waiting < 0.9 * deviation


@by_relation
def test_a_pair_is_a_row_of_numbers_in_the_unit_interval(relation: Structured) -> None:
    features, rng = Features(relation), _rng()
    for _ in range(30):
        pair = relation.random_pair(rng)
        slots = relation.align(pair)
        assert slots is not None
        row = features.row(slots)
        assert row.shape == features.groups.shape
        assert np.all((row >= 0.0) & (row <= 1.0))


def test_the_columns_of_a_row() -> None:
    features = Features(add_or_remove_one(floats(0, 1), max_records=4))
    row = features.row([Slot(0.5, 0.5), Slot(1.0, 1.0), Slot(0.25, ABSENT), Slot(0.5, 0.5)])
    assert row[features.groups == SIZE].tolist() == [1.0, 0.75, 0.5]
    assert row[features.groups == DIFFERENCE].tolist()[:4] == [1.0, 0.0, 0.25, 0.0]
    assert row[features.groups == REST].tolist() == [0.5, pytest.approx(2 / 3), 0.5, 1.0]


def test_scales_are_learned_by_group() -> None:
    rng = _rng()
    rows = rng.random((60, 6))
    groups = np.array([0, 0, 1, 1, 2, 2])
    scores = 0.5 + 0.5 * np.sin(8.0 * rows[:, 2])  # only the second group matters
    model = Surrogate(groups)
    model.fit_scales(rows, scores, np.full(60, 1e-4))
    _, first, second, third, _ = model.scales
    assert second < min(first, third) - 1.0


def _scored(start: dict[str, float], scores: dict[str, float], turns: int = 20) -> Shares:
    """Shares after every strategy has proposed pairs that all score the same."""
    shares = Shares(start)
    for turn in range(turns):
        for name, score in scores.items():
            shares.note_proposal(f"{name} {turn}", name)
            shares.note_score(f"{name} {turn}", score)
    return shares


def test_no_strategy_starves_and_the_one_that_earns_gets_most() -> None:
    found = _scored(auto_module.START, dict.fromkeys(auto_module.START, 0.0) | {"gp": 2.0}).now()
    assert found["gp"] == pytest.approx(1.0 - 3 * LEAST)
    assert all(share >= LEAST - 1e-9 for share in found.values())
    assert sum(found.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("score", [0.0, 0.8])
def test_strategies_that_score_alike_keep_their_first_shares(score: float) -> None:
    start = auto_module.START
    assert _scored(start, dict.fromkeys(start, score)).now() == pytest.approx(Shares(start).now())


def test_a_strategy_not_tried_yet_counts_as_usual() -> None:
    found = _scored({"one": 0.5, "other": 0.5}, {"one": 3.0}).now()
    assert found == pytest.approx({"one": 0.5, "other": 0.5})


def test_a_strategy_is_paid_by_the_first_score_of_its_pairs() -> None:
    shares = _scored({"one": 0.5, "other": 0.5}, {"one": 1.0, "other": 1.0}, turns=1)
    before = shares.now()
    shares.note_score("other 0", 9.0)
    assert shares.now() == before


def test_as_long_as_nothing_shows_auto_looks_everywhere() -> None:
    finder = AutoFinder(RELATIONS[0], _rng())
    for _ in range(120):
        pair = finder.ask()
        assert pair is not None
        finder.tell(pair, 0.0)
    told = finder.own_state()["shares"]
    others = [len(pairs) for name, pairs in told.items() if name != "spread"]
    assert len(told["spread"]) > max(others)
    assert min(others) > 0


def test_auto_turns_to_what_earns() -> None:
    finder = AutoFinder(RELATIONS[0], _rng())
    for turn in range(80):
        pair = finder.ask()
        assert pair is not None
        theirs = dict(finder.own_state()["shares"]["evolve"])
        finder.tell(pair, 1.0 if turn == 0 or fingerprint(pair) in theirs else 0.0)
    counts = {name: len(pairs) for name, pairs in finder.own_state()["shares"].items()}
    assert counts["evolve"] > max(counts["spread"], counts["gp"], counts["random"])


def test_a_parent_of_elsewhere_is_passed_over() -> None:
    finder = EvolveFinder(RELATIONS[0], _rng())
    stranger = Pair("a", "b")
    finder.tell(stranger, 9.0)
    found = [finder.ask() for _ in range(10)]
    assert all(pair is not None for pair in found)
    assert fingerprint(stranger) not in {fingerprint(pair) for pair in found if pair is not None}
