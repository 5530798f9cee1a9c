"""python-dp (PyDP, over Google's library): algorithms, noise and the selection of partitions.

The library draws from a secure generator of its own: an audit's `rng` does not reach it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import takewhile
from typing import Any

import numpy as np

from dpaudit.claims import ApproxDP, Claim, PureDP
from dpaudit.domains import Domain, lists
from dpaudit.errors import InvalidMechanism
from dpaudit.integrations.unbounded import any_float, any_integer
from dpaudit.mechanism import Mechanism, Subject, one_at_a_time
from dpaudit.neighbours import FixedPairs, add_or_remove_one, pairs, query_answers
from dpaudit.outputs import short

MOST_USERS = 1000  # of a partition, where its selection is still worth a look


def from_python_dp(thing: Any, *, records: Domain | None = None, max_records: int = 10) -> Subject:
    """Make a subject of an algorithm, a numerical mechanism or a partition selection of python-dp.

    All promise what their epsilon and delta say. An algorithm does so for one user more or less,
    who gives `linf_sensitivity` values to each of `l0_sensitivity` partitions; its output is the
    result on each of them. Objects do not tell their bounds, and clamp what is beyond them, so
    values go far out; `records` says what a value may be where narrower or wider ones are wanted.
    A numerical mechanism must not tell two values its sensitivity apart; a selection of partitions,
    whether one user more is in as many of them as one may contribute to.

    An algorithm forgets the entries that were added to it before.

    >>> import dpaudit
    >>> from pydp.algorithms.numerical_mechanisms import LaplaceMechanism
    >>> print(dpaudit.integrations.from_python_dp(LaplaceMechanism(epsilon=0.5, sensitivity=2.0)))
    LaplaceMechanism: 0.5-DP; 1 query answer in [-2, 4], each moving by at most 2
    """
    if callable(getattr(thing, "quick_result", None)):
        return _of_algorithm(thing, records, max_records)
    if callable(getattr(thing, "add_noise", None)):
        return _of_noise(thing)
    if callable(getattr(thing, "should_keep", None)):
        return _of_selection(thing)
    raise InvalidMechanism(
        f"from_python_dp needs an algorithm, a numerical mechanism or a partition selection, got "
        f"{short(thing)}. An algorithm is made first: BoundedSum(epsilon=1, lower_bound=0, "
        "upper_bound=1)."
    )


def _of_algorithm(thing: Any, records: Domain | None, max_records: int) -> Subject:
    value = records if records is not None else _values(thing.dtype)
    partitions, each = (_count(thing, name) for name in ("l0_sensitivity", "linf_sensitivity"))
    gives = partitions * each
    user = value if gives == 1 else lists(value, min_length=gives, max_length=gives)
    return _subject(
        thing,
        partial(_computed, thing, partitions, each),
        add_or_remove_one(user, max_records=max_records),
    )


def _of_noise(thing: Any) -> Subject:
    sensitivity = getattr(thing, "sensitivity", getattr(thing, "l2_sensitivity", None))
    if not sensitivity or not thing.epsilon:
        raise InvalidMechanism(
            f"{type(thing).__name__} says no epsilon or no sensitivity. Make one that does: "
            "GaussianMechanism(epsilon=1, delta=1e-6, sensitivity=1)."
        )
    return _subject(thing, partial(_noised, thing), query_answers(1, sensitivity))


def _of_selection(thing: Any) -> Subject:
    return _subject(thing, partial(_selected, thing), users_of(thing))


def users_of(thing: Any) -> FixedPairs:
    """One user more in every partition that a user may be in, until all of them are kept for sure.

    Where the selection says itself that it always keeps a partition there is nothing more to see.
    """
    partitions = thing.max_partitions_contributed
    fewer = takewhile(lambda users: thing.probability_of_keep(users) < 1.0, range(MOST_USERS))
    return pairs(([users] * partitions, [users + 1] * partitions) for users in fewer)


def _subject(thing: Any, release: Callable[..., Any], neighbours: Any) -> Subject:
    return Subject(
        mechanism=Mechanism(name=type(thing).__name__, function=one_at_a_time(release)),
        claim=_claim(thing.epsilon, getattr(thing, "delta", 0.0)),
        neighbours=neighbours,
    )


def _claim(epsilon: float, delta: float) -> Claim:
    return PureDP(epsilon) if delta == 0 else ApproxDP(epsilon, delta)


def _values(dtype: str) -> Domain:
    return any_float() if dtype == "float" else any_integer()


def _count(thing: Any, name: str) -> int:
    """A sensitivity; an algorithm that does not take it says so in words, and means 1."""
    found = getattr(thing, name)
    return found if isinstance(found, int) else 1


def _computed(thing: Any, partitions: int, each: int, data: Any) -> Any:
    """The result on every partition; the object is told to forget what it has seen before."""
    values = np.asarray(data).reshape(len(data), partitions, each)
    found = [thing.quick_result(values[:, place].ravel().tolist()) for place in range(partitions)]
    return found[0] if partitions == 1 else found


def _noised(thing: Any, data: Any) -> float:
    noised: float = thing.add_noise(float(data[0]))
    return noised


def _selected(thing: Any, data: Any) -> Any:
    """Whether each partition is kept, by the number of its users."""
    kept = [thing.should_keep(int(users)) for users in data]
    return kept[0] if len(kept) == 1 else kept
