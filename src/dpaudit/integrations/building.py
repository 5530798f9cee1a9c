"""What the integrations share: subjects around a release function, and inputs to audit them on."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.arrays import Counts, Floats
from dpaudit.claims import ApproxDP, Claim, PureDP
from dpaudit.domains import Domain, Refinable, floats, integers
from dpaudit.errors import InvalidMechanism
from dpaudit.mechanism import Mechanism, Subject, one_at_a_time
from dpaudit.neighbours import (
    FixedPairs,
    Pair,
    Relation,
    group,
    pairs,
    query_answers,
    replace_one,
)
from dpaudit.outputs import short

VECTOR_LENGTH = 3  # query answers in a vector whose length a library leaves open
FARTHEST_RECORD = 1000  # where a library states no bounds; a clamp cuts such records off


def needed(module: str, extra: str) -> Any:
    """Import a module of a library; ImportError says how to install it.

    >>> needed("math", "nothing").pi
    3.141592653589793
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"this needs {extra}, which is not installed: pip install 'dpaudit[{extra}]'."
        ) from error


def check_parts(thing: Any, *parts: str, needs: str, hint: str = "") -> None:
    """Raise InvalidMechanism unless an object has all these attributes."""
    for part in parts:
        if not hasattr(thing, part):
            raise InvalidMechanism(f"{needs}, got {short(thing)}, which has no {part}.{hint}")


def released(name: str, release: Callable[..., Any], claim: Claim, neighbours: Any) -> Subject:
    """A subject whose outputs come from `release(data)` or `release(data, rng)`, one per call."""
    function: Any = one_at_a_time(release)
    function.__name__ = name  # error messages use this name
    mechanism = Mechanism(name=name, function=function)
    return Subject(mechanism=mechanism, claim=claim, neighbours=neighbours)


def local_protocol(
    name: str, report: Callable[[Any], Any], inputs: Domain, epsilon: float
) -> Subject:
    """The report of one user who holds one of these inputs; any two inputs are neighbours.

    >>> print(local_protocol("constant", lambda value: 0, integers(1, 3), 0.0))
    constant: 0-DP; replace one of 1 record of integers(1, 3)
    """
    near = replace_one(inputs, max_records=1)
    return released(name, partial(_reported, report), PureDP(epsilon), near)


def _reported(report: Callable[[Any], Any], data: Any) -> Any:
    return report(first_value(data))


def first_value(data: Any) -> Any:
    """The only value of a dataset, as Python's own type: NumPy's hashes differ for some clients."""
    value = data[0]
    return value.item() if isinstance(value, np.generic) else value


def stated_claim(epsilon: float, delta: float) -> Claim:
    """The claim of an object that states its epsilon and delta.

    >>> print(stated_claim(1.0, 0.0), stated_claim(1.0, 1e-6))
    1-DP (1, 1e-06)-DP
    """
    return PureDP(epsilon) if delta == 0 else ApproxDP(epsilon, delta)


def apart(relation: Any, records: Domain, steps: int, max_records: int) -> Relation:
    """Datasets of records that are up to this number of steps of a relation apart.

    >>> print(apart(replace_one, integers(0, 1), 3, max_records=2).describe())
    groups of at most 3: replace one of at most 3 records of integers(0, 1)
    """
    found: Relation = group(relation(records, max_records=max(max_records, steps)), steps)
    return found


def any_float(*, nan: bool = True, infinite: bool = True) -> Refinable:
    """Floats up to `FARTHEST_RECORD`, with NaN and infinities where a library accepts them.

    >>> any_float().contains(math.nan), any_float(nan=False).contains(math.nan)
    (True, False)
    """
    odd = floats(-FARTHEST_RECORD, FARTHEST_RECORD).with_odd_values()
    if nan:
        return odd if infinite else odd.filter(_is_not_infinite, "not infinite")
    return odd.filter(_is_number, "no NaN") if infinite else odd.filter(math.isfinite, "finite")


def any_integer(*, least: int | None = None, narrow: bool = False) -> Refinable:
    """Integers up to `FARTHEST_RECORD`; `narrow` ones fit into eight bits.

    >>> print(any_integer(), any_integer(least=0, narrow=True))
    integers(-1000, 1000) integers(0, 100)
    """
    reach = FARTHEST_RECORD // 10 if narrow else FARTHEST_RECORD
    return integers(-reach if least is None else least, reach)


def _is_number(record: float) -> bool:
    return not math.isnan(record)


def _is_not_infinite(record: float) -> bool:
    return not math.isinf(record)


def answers(
    length: int | None,
    sensitivity: float,
    *,
    norm: float = np.inf,
    low: float | None = None,
    high: float | None = None,
    whole: bool = False,
    one_way: bool = False,
) -> Relation:
    """Query answers that move by at most the sensitivity in this norm; infinite bounds are none.

    Of `whole` numbers, and of numbers that only move up (`one_way`: monotonic scores), these are
    the extreme pairs.

    >>> print(answers(1, 2, high=math.inf).describe())
    1 query answer in [-2, 4], each moving by at most 2
    >>> print(next(answers(2, 3, norm=1, whole=True).edge_pairs()))
    data=[0, 0], neighbour=[3, 0]
    """
    length = length or VECTOR_LENGTH
    low = None if low is None or math.isinf(low) else low
    high = None if high is None or math.isinf(high) else high
    if whole:  # the bounds may be half integers
        least = None if low is None else math.ceil(low)
        return _extreme(_whole_moves(length, int(sensitivity), norm), least, high)
    if one_way:
        return _extreme(_moves_up(length, float(sensitivity)), low, high)
    return query_answers(length, sensitivity, norm=norm, low=low, high=high)


def _moves_up(length: int, sensitivity: float) -> Iterator[Floats]:
    places = np.arange(length)
    for shape in (places >= 0, places == 0, places > 0, places % 2 == 0, places == length - 1):
        yield sensitivity * shape.astype(np.float64)


def _whole_moves(length: int, sensitivity: int, norm: float) -> Iterator[Counts]:
    places = np.arange(length)
    first = (places == 0).astype(np.int64)
    yield sensitivity * first
    yield -sensitivity * first[::-1]
    each = int(sensitivity / length ** (1 / norm))
    while np.linalg.norm(np.full(length, each), ord=norm) > sensitivity:  # a root was rounded up
        each -= 1
    for signs in (np.ones(length), np.where(places % 2 == 0, 1, -1)):
        yield each * signs.astype(np.int64)
    if norm == 1:  # the first answers take the remainder
        yield each + (places < sensitivity - each * length).astype(np.int64)


def _extreme(moves: Iterator[NDArray[Any]], low: float | None, high: float | None) -> FixedPairs:
    """Each move from three starts, shifted to begin at `low`; what stays below `high`, once."""
    kept: dict[str, Pair] = {}
    for move in moves:
        for start in (np.zeros_like(move), np.arange(len(move)), np.full(len(move), 10)):
            sides = np.array([start, start + move], move.dtype)
            sides += 0 if low is None else low - sides.min()
            pair = Pair(*sides)
            if (high is None or sides.max() <= high) and np.any(pair.data != pair.neighbour):
                kept.setdefault(pair.key(), pair)
    return pairs(kept.values())
