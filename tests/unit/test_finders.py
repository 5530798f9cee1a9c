"""What holds for every finder: pairs of its relation, no pair twice, giving up at the end."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
import pytest

from dpaudit.domains import categories, floats, integers, records
from dpaudit.neighbours import (
    Pair,
    Relation,
    add_or_remove_one,
    group,
    pairs,
    query_answers,
    replace_one,
)
from dpaudit.search import (
    FINDERS,
    Finder,
    Memory,
    OptunaFinder,
    as_finder,
    fingerprint,
    make_finder,
)

needs_optuna = pytest.mark.skipif(
    importlib.util.find_spec("optuna") is None, reason="Optuna is an extra"
)
NAMES = [
    pytest.param(name, marks=[needs_optuna] if name == "optuna" else []) for name in sorted(FINDERS)
]
SEARCHES = [param for param in NAMES if param.values != ("fixed",)]

RELATIONS: list[Relation] = [
    replace_one(floats(-1, 1), max_records=5),
    add_or_remove_one(categories("a", "b", "c"), max_records=4),
    query_answers(3),
    add_or_remove_one(records(age=integers(0, 9), smokes=categories("yes", "no")), max_records=3),
    group(replace_one(floats(-1, 1), max_records=5), 2),
]


@dataclass(frozen=True)
class Bare:
    """A user's own relation: it can do what it must, and no more."""

    inner: Relation

    def edge_pairs(self) -> Iterator[Pair]:
        return self.inner.edge_pairs()

    def random_pair(self, rng: np.random.Generator) -> Pair:
        return self.inner.random_pair(rng)

    def contains(self, pair: Pair) -> bool:
        return self.inner.contains(pair)

    def describe(self) -> str:
        return f"bare: {self.inner.describe()}"


def _rng(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


def _asked(finder: Finder, limit: int) -> list[Pair]:
    """Ask and tell; the score of a pair depends on the pair alone."""
    found: list[Pair] = []
    while len(found) < limit and (pair := finder.ask()) is not None:
        found.append(pair)
        finder.tell(pair, int(fingerprint(pair), 16) % 3 / 2)
    return found


def _without_swaps(found: Iterator[Pair]) -> list[Pair]:
    memory = Memory()
    return [pair for pair in found if memory.meet(pair)]


by_name = pytest.mark.parametrize("name", NAMES)
by_relation = pytest.mark.parametrize(
    "relation",
    [*RELATIONS, Bare(RELATIONS[0])],
    ids=lambda relation: relation.describe(),
)


@by_name
@by_relation
def test_every_finder_proposes_new_pairs_of_its_relation(name: str, relation: Relation) -> None:
    found = _asked(make_finder(name, relation, _rng()), 14)
    again = _asked(make_finder(name, relation, _rng()), 14)
    assert found
    assert [pair.key() for pair in found] == [pair.key() for pair in again]
    assert len({pair.key() for pair in found}) == len(found)
    assert all(relation.contains(pair) for pair in found)


@by_name
def test_a_batch_is_asked_for_before_anything_is_told(name: str) -> None:
    finder = make_finder(name, RELATIONS[0], _rng())
    batch = [finder.ask() for _ in range(10)]
    assert len({pair.key() for pair in batch if pair is not None}) == 10


@pytest.mark.parametrize("relation", RELATIONS, ids=lambda relation: relation.describe())
def test_auto_begins_with_the_edges_and_goes_on(relation: Relation) -> None:
    edges = _without_swaps(relation.edge_pairs())
    found = _asked(make_finder("auto", relation, _rng()), len(edges) + 3)
    assert found[: len(edges)] == edges
    assert len(found) == len(edges) + 3


def test_auto_of_a_bare_relation_is_edges_then_random_pairs() -> None:
    bare = Bare(RELATIONS[0])
    edges = list(bare.edge_pairs())
    found = _asked(make_finder("auto", bare, _rng()), len(edges) + 20)
    assert found[: len(edges)] == edges
    assert len(found) == len(edges) + 20


@pytest.mark.parametrize("name", NAMES)
def test_a_finder_gives_up_when_nothing_is_new(name: str) -> None:
    relation = add_or_remove_one(categories("a"), max_records=3)  # three pairs in all
    finder = make_finder(name, relation, _rng())
    assert len(_asked(finder, 1000)) == 3
    assert finder.ask() is None


@pytest.mark.parametrize("name", SEARCHES)
def test_a_pair_told_of_is_not_proposed(name: str) -> None:
    relation = replace_one(categories("a", "b"), max_records=1)  # one pair, two ways round
    finder = make_finder(name, relation, _rng())
    finder.tell(Pair(["a"], ["b"]), 0.0)
    assert finder.ask() is None


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("score", [-0.1, float("nan")])
def test_a_score_below_zero_is_refused(name: str, score: float) -> None:
    finder = make_finder(name, RELATIONS[0], _rng())
    pair = finder.ask()
    assert pair is not None
    with pytest.raises(ValueError, match=r"a score must be a number of at least 0, got (-0.1|nan)"):
        finder.tell(pair, score)


@pytest.mark.parametrize("name", SEARCHES)
def test_the_score_of_a_pair_outside_the_relation_does_no_harm(name: str) -> None:
    finder = make_finder(name, RELATIONS[0], _rng())
    finder.tell(Pair(["no", "numbers"], {}), 3.0)
    assert len(_asked(finder, 10)) == 10


def test_given_pairs_come_once_and_in_order() -> None:
    given = [Pair([3.0], []), Pair([1.0], []), Pair([2.0], [])]
    finder = as_finder(pairs(given), "auto", _rng())
    assert _asked(finder, 10) == given
    assert finder.ask() is None


def test_the_name_of_the_finder_is_followed() -> None:
    relation = replace_one(floats(0, 1))
    found = _asked(as_finder(relation, "random", _rng()), 5)
    assert found == _asked(make_finder("random", relation, _rng()), 5)


@pytest.mark.parametrize(
    "given", [pairs([([1.0], [])]), [([1.0], [])], make_finder("random", RELATIONS[0], _rng())]
)
def test_a_name_is_refused_where_it_would_be_ignored(given: Any) -> None:
    with pytest.raises(ValueError, match=r"leave out finder='grid'"):
        as_finder(given, "grid", _rng())


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(ValueError, match=r"one of 'auto', .*'random'.*, got 'oracle'"):
        as_finder(replace_one(floats(0, 1)), "oracle", _rng())


def test_vizier_says_why_it_is_not_there() -> None:
    with pytest.raises(ValueError, match=r"no finder 'vizier'.*finder='gp'"):
        make_finder("vizier", RELATIONS[0], _rng())


def test_optuna_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ImportError, match=r"pip install 'dpaudit\[optuna\]'"):
        make_finder("optuna", RELATIONS[0], _rng())


@needs_optuna
def test_any_sampler_of_optuna_will_do(capfd: pytest.CaptureFixture[str]) -> None:
    optuna: Any = importlib.import_module("optuna")
    relation = replace_one(floats(0, 1), max_records=2)
    for sampler in (optuna.samplers.RandomSampler(seed=7), optuna.samplers.TPESampler(seed=7)):
        finder = OptunaFinder(relation, _rng(), Memory(), sampler=sampler)
        assert len(_asked(finder, 12)) == 12
    assert capfd.readouterr() == ("", "")


@needs_optuna
def test_optuna_learns_the_later_score() -> None:
    optuna: Any = importlib.import_module("optuna")
    sampler = optuna.samplers.RandomSampler(seed=7)
    finder = OptunaFinder(replace_one(floats(0, 1), max_records=2), _rng(), sampler=sampler)
    pair = finder.ask()
    assert pair is not None
    finder.tell(pair, 0.25)
    finder.tell(pair, 0.75)
    with mock.patch.object(sampler, "before_trial", wraps=sampler.before_trial) as learning:
        assert finder.ask() is not None
    study = learning.call_args.args[0]
    assert [trial.value for trial in study.trials] == [0.75, None]
