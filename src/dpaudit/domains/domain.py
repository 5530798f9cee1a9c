"""What a domain must offer, what a search asks beyond that, and the checks that ours share."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Sequence
from numbers import Real
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpaudit.domains.chooser import Chooser
from dpaudit.domains.showing import canonical
from dpaudit.errors import InvalidDomain

EDGE_SHARE = 0.25  # of the random draws: bugs live at the edges
ODD_SHARE = 0.5  # of the random draws, where odd values are let in
MOST_EDGES = 8
MOST_SIMPLER = 12
TRIES = 8  # of a random change before it is settled without chance


@runtime_checkable
class Domain(Protocol):
    """What a record may be. Any object with these methods is a domain."""

    __slots__ = ()

    def edges(self) -> tuple[Any, ...]:
        """The extreme and the plain records, the most promising first; never more than eight."""

    def draw(self, rng: np.random.Generator) -> Any:
        """One random record: an edge a quarter of the time."""

    def dataset(self, records: Sequence[Any]) -> Any:
        """The data that a mechanism receives for these records, built anew."""

    def unpack(self, data: Any) -> list[Any]:
        """The records of a dataset: the inverse of `dataset`; InvalidDomain if it is not one."""

    def contains(self, record: Any) -> bool:
        """Whether this is a record of the domain."""


@runtime_checkable
class Explorable(Domain, Protocol):
    """A domain that a search can steer through and whose records can be made plainer.

    All of ours are. `explorable` makes one of any domain.
    """

    __slots__ = ()

    def choose(self, chooser: Chooser, name: str) -> Any:
        """A record built of the chooser's answers; `Unsuitable` if they lead to none.

        The questions are `name`, or begin with it: no two of one record are the same.
        """

    def coordinates(self, record: Any) -> tuple[float, ...]:
        """Where the record lies: as many numbers for every record, each in [0, 1]."""

    def near(self, record: Any, rng: np.random.Generator) -> Any:
        """Another record, a small or a large change away; the same one if there is no other."""

    def plainness(self, record: Any) -> float:
        """How much a reader has to take in: 0 is the plainest record, more is less plain."""

    def simpler(self, record: Any) -> tuple[Any, ...]:
        """Some plainer records, the plainest first; at most twelve, each strictly plainer."""

    def grid(self, points: int) -> tuple[Any, ...]:
        """About this many records evenly spread, the edges among them; the same every time."""


def bounds(name: str, low: Any, high: Any) -> tuple[float, float]:
    """Both bounds as floats, if they are finite numbers in order."""
    for side, bound in (("low", low), ("high", high)):
        if not is_real(bound):
            raise InvalidDomain(f"{name} needs a number for {side}, got {bound!r}.")
        if not abs(bound) <= sys.float_info.max:
            raise InvalidDomain(
                f"{name} needs a finite {side}, got {bound!r}. Give the bound that the data keep."
            )
    if low > high:
        raise InvalidDomain(f"{name} needs low <= high, got low={low!r}, high={high!r}. Swap them.")
    return float(low) + 0.0, float(high) + 0.0  # + 0.0: no negative zero


def whole(name: str, side: str, number: Any) -> int:
    """The number, if it is whole; `name` and `side` say who needs it and for what."""
    if isinstance(number, (bool, np.bool_)):
        raise InvalidDomain(f"{name} needs a whole number for {side}, got {number!r}.")
    try:
        return operator.index(number)
    except TypeError as error:
        text = f"{name} needs a whole number for {side}, got {number!r}."
        raise InvalidDomain(text) from error


def is_real(value: Any) -> bool:
    """Whether this is a number with a place on the line: no NaN, no truth value."""
    return isinstance(value, Real) and not isinstance(value, bool) and bool(value == value)


def between(low: float, high: float, share: float) -> float:
    """The number this share of the way from low to high."""
    # Not low + share * (high - low): the width of the widest ranges overflows.
    return min(max((1.0 - share) * low + share * high, low), high)


def spread(points: int) -> tuple[float, ...]:
    """This many shares from 0 to 1, evenly spread.

    >>> spread(3), spread(1)
    ((0.0, 0.5, 1.0), (0.5,))
    """
    if whole("grid", "points", points) < 1:
        raise InvalidDomain(f"a grid needs at least 1 point, got {points}.")
    return tuple(step / (points - 1) for step in range(points)) if points > 1 else (0.5,)


def one_of(choices: Sequence[Any], rng: np.random.Generator) -> Any:
    """One of these, each as likely as the other."""
    return choices[int(rng.integers(len(choices)))]


def distinct(records: Iterable[Any]) -> tuple[Any, ...]:
    """The records, none twice, in their order.

    >>> distinct([1, 0.0, -0.0, True, 1])
    (1, 0.0, -0.0, True)
    """
    found: dict[str, Any] = {}
    for record in records:
        found.setdefault(canonical(record), record)
    return tuple(found.values())


def odd_edges(plain: Sequence[Any], odd: Sequence[Any]) -> tuple[Any, ...]:
    """The edges of a domain with odd values: half of them plain, if there are so many."""
    return (*plain[: MOST_EDGES // 2], *odd)[:MOST_EDGES]


def plainer(domain: Explorable, record: Any, candidates: Iterable[Any]) -> tuple[Any, ...]:
    """Those candidates that are plainer records of the domain, the plainest first."""
    limit = domain.plainness(record)
    inside = [candidate for candidate in distinct(candidates) if domain.contains(candidate)]
    scored = [(domain.plainness(candidate), candidate) for candidate in inside]
    below = sorted((entry for entry in scored if entry[0] < limit), key=lambda entry: entry[0])
    return tuple(candidate for _, candidate in below[:MOST_SIMPLER])


def moved(domain: Domain, record: Any, rng: np.random.Generator, change: Callable[[], Any]) -> Any:
    """Another record by a random change; an edge where no change leads to one."""
    key = canonical(record)
    for _ in range(TRIES):
        changed = change()
        if canonical(changed) != key:
            return changed
    others = [edge for edge in domain.edges() if canonical(edge) != key]
    return one_of(others, rng) if others else record


def short(bound: float) -> str:
    """The number as a reader writes it: `1`, not `1.0`."""
    return repr(bound).removesuffix(".0")


def as_array(data: Any, domain: Domain, *, kinds: str, ndim: int) -> NDArray[Any]:
    """The dataset as an array of these kinds of numbers."""
    table = np.asarray(data)
    if table.size == 0 and table.ndim >= 1 and len(table) == 0:
        return table
    if table.ndim != ndim or table.dtype.kind not in kinds:
        raise InvalidDomain(f"not a dataset of {domain}: {data!r}.")
    return table


def as_list(data: Any, domain: Domain) -> Sequence[Any]:
    """The dataset, if it is a list or tuple."""
    if not isinstance(data, (list, tuple)):
        raise InvalidDomain(f"a dataset of {domain} is a list, got {data!r}.")
    return data
