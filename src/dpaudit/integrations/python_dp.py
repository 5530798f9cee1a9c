"""python-dp (PyDP, over Google's library): algorithms, noise and the selection of partitions.

The library draws from a secure generator of its own, which an audit's `rng` does not reach.
"""

from collections.abc import Callable
from functools import partial
from itertools import takewhile
from typing import Any

import numpy as np

from dpaudit.domains import Domain, lists
from dpaudit.errors import InvalidMechanism
from dpaudit.integrations.building import any_float, any_integer, released, stated_claim
from dpaudit.mechanism import Subject, name_with_parameters
from dpaudit.neighbours import FixedPairs, add_or_remove_one, pairs, query_answers
from dpaudit.outputs import short

MAX_PARTITION_USERS = 1000  # larger partitions are not tried


def from_python_dp(thing: Any, *, records: Domain | None = None, max_records: int = 10) -> Subject:
    """Make a subject of an algorithm, a numerical mechanism or a partition selection of python-dp.

    The claim is the object's epsilon and delta. For an algorithm it covers one user more or less,
    who gives `linf_sensitivity` values to each of `l0_sensitivity` partitions; the output is the
    result on each partition, without entries that were added before. An algorithm does not tell its
    bounds and clamps values beyond them, so values go far out; pass `records` for other values. For
    a numerical mechanism the claim covers two values its sensitivity apart; for a selection of
    partitions, one user more in as many of them as one user may contribute to.

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
        return _subject(thing, _selected, _users_of(thing))
    raise InvalidMechanism(
        f"from_python_dp needs an algorithm, a numerical mechanism or a partition selection, got "
        f"{short(thing)}. An algorithm is made first: BoundedSum(epsilon=1, lower_bound=0, "
        "upper_bound=1)."
    )


def _of_algorithm(thing: Any, records: Domain | None, max_records: int) -> Subject:
    if records is None:
        records = any_float() if thing.dtype == "float" else any_integer()
    # A sensitivity that an algorithm does not take is a text there, which means 1.
    stated = thing.l0_sensitivity, thing.linf_sensitivity
    partitions, each = (found if isinstance(found, int) else 1 for found in stated)
    gives = partitions * each
    user = records if gives == 1 else lists(records, min_length=gives, max_length=gives)
    near = add_or_remove_one(user, max_records=max_records)
    return _subject(thing, partial(_computed, partitions, each), near)


def _of_noise(thing: Any) -> Subject:
    sensitivity = getattr(thing, "sensitivity", getattr(thing, "l2_sensitivity", None))
    if not sensitivity or not thing.epsilon:
        raise InvalidMechanism(
            f"{type(thing).__name__} states no epsilon or no sensitivity. Make one that does: "
            "GaussianMechanism(epsilon=1, delta=1e-6, sensitivity=1)."
        )
    return _subject(thing, _noised, query_answers(1, sensitivity))


def _users_of(thing: Any) -> FixedPairs:
    """One user more in every partition that a user may be in.

    Pairs end where the selection itself says that it always keeps a partition.
    """
    partitions, every = thing.max_partitions_contributed, range(MAX_PARTITION_USERS)
    fewer = takewhile(lambda users: thing.probability_of_keep(users) < 1.0, every)
    return pairs(([users] * partitions, [users + 1] * partitions) for users in fewer)


def _subject(thing: Any, release: Callable[..., Any], neighbours: Any) -> Subject:
    claim = stated_claim(thing.epsilon, getattr(thing, "delta", 0.0))
    return released(name_with_parameters(thing), partial(release, thing), claim, neighbours)


def _computed(partitions: int, each: int, thing: Any, data: Any) -> Any:
    """The result on every partition; `quick_result` forgets earlier entries."""
    values = np.asarray(data).reshape(len(data), partitions, each)
    found = [thing.quick_result(values[:, place].ravel().tolist()) for place in range(partitions)]
    return found[0] if partitions == 1 else found


def _noised(thing: Any, data: Any) -> float:
    return float(thing.add_noise(float(data[0])))


def _selected(thing: Any, data: Any) -> Any:
    """Whether each partition of this size is kept."""
    kept = [thing.should_keep(int(users)) for users in data]
    return kept[0] if len(kept) == 1 else kept
