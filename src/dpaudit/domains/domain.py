"""What a domain offers, what a search asks of it, and what all of ours share."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpaudit.architecture import Domain, Explorable
from dpaudit.domains.showing import canonical, shown
from dpaudit.errors import InvalidDomain

if TYPE_CHECKING:
    from dpaudit.domains.wrapping import Filtered, Mapped

EDGE_SHARE = 0.25  # of the random draws: bugs live at the edges
ODD_SHARE = 0.5  # of the random draws, where odd values are allowed
MAX_EDGES = 8  # of a domain
MAX_SIMPLER = 12  # records that `simpler` gives
MAX_CHANGES = 8  # random changes tried before another edge is taken


class Unsuitable(Exception):
    """The choices made so far lead to no record or pair: choose again."""


class Refinable(Explorable):
    """The base of our domains, which can be filtered, mapped and given odd values."""

    __slots__ = ()

    def edges(self) -> tuple[Any, ...]:
        """The plain edges; where odd values are allowed, at most four of them, then odd ones."""
        if odd := self.odd_values():
            return (*self.without_odd_values().edges()[: MAX_EDGES // 2], *odd)[:MAX_EDGES]
        return self.plain_edges()

    def plain_edges(self) -> tuple[Any, ...]:
        """The edges without odd values; a domain whose parts may be odd gives these alone."""
        raise NotImplementedError

    def draw(self, rng: np.random.Generator) -> Any:
        return one_of(self.edges(), rng) if rng.random() < EDGE_SHARE else self.draw_anywhere(rng)

    def draw_anywhere(self, rng: np.random.Generator) -> Any:
        """One random record, which is an edge only by chance."""

    def dataset(self, records: Sequence[Any]) -> Any:
        return [self.released(record) for record in records]

    def unpack(self, data: Any) -> list[Any]:
        plain = data.tolist() if isinstance(data, np.ndarray) and data.ndim == 1 else data
        if not isinstance(plain, (list, tuple)):
            raise InvalidDomain(f"a dataset of {self} is a list, got {data!r}.")
        return [self.restored(seen) for seen in plain]

    def why_not(self, record: Any) -> str | None:
        """Why this is no record of the domain, in words; None if it is one.

        >>> from dpaudit.domains import floats, integers, records
        >>> floats(0, 1).why_not(50.0)
        '50.0 is not in floats(0, 1)'
        >>> records(age=integers(0, 120), x=floats(0, 1)).why_not({"age": 200, "x": 0.5})
        "the field 'age': 200 is not in integers(0, 120)"
        """
        if self.contains(record):
            return None
        return self.why_not_part(record) or f"{shown(record)} is not in {self}"

    def why_not_part(self, record: Any) -> str | None:
        """Which part of a record outside of the domain is to blame, and why; None if none is."""
        return None

    def filter(self, predicate: Callable[[Any], object], name: str | None = None) -> Filtered:
        """The records of which the predicate is true; it sees what a mechanism would see.

        >>> from dpaudit.domains import integers
        >>> integers(0, 10).filter(lambda number: number < 7, "small").edges()
        (0, 1, 5)
        """
        from dpaudit.domains.wrapping import filtered  # is itself refinable

        return filtered(self, predicate, name)

    def map(
        self,
        function: Callable[[Any], Any],
        inverse: Callable[[Any], Any] | None = None,
        name: str | None = None,
    ) -> Mapped:
        """The same records, but a mechanism sees what the function makes of them.

        `inverse` gives the record back; without it a dataset cannot be unpacked.

        >>> from dpaudit.domains import integers
        >>> integers(0, 9).map(lambda number: f"user{number}").dataset([3, 5])
        ['user3', 'user5']
        """
        from dpaudit.domains.wrapping import Mapped, name_of  # is itself refinable

        if not callable(function):
            raise InvalidDomain(f"map needs a function of one record, got {function!r}.")
        if inverse is not None and not callable(inverse):
            raise InvalidDomain(
                f"map needs a function for inverse, got {inverse!r}. Or leave it out."
            )
        named = name_of(function, name)
        return Mapped(inner=self, function=function, inverse=inverse, name=named)

    def with_odd_values(self) -> Refinable:
        """The same domain and a few records that should not be there: clipping bugs live there.

        >>> from dpaudit.domains import integers
        >>> integers(0, 10).with_odd_values().odd_values()
        (11, -1, 9223372036854775807, -9223372036854775808)
        """
        from dpaudit.domains.wrapping import with_odd  # is itself refinable

        return with_odd(self, self.beyond())

    def without_odd_values(self) -> Refinable:
        """The domain before `with_odd_values`."""
        return self

    def odd_values(self) -> tuple[Any, ...]:
        """The records that `with_odd_values` added, the most promising first."""
        return ()

    def beyond(self) -> tuple[Any, ...]:
        """The records that `with_odd_values` would add."""
        return ()

    def released(self, record: Any) -> Any:
        """What a mechanism sees of this record, built anew."""
        return copy.deepcopy(record)

    def restored(self, seen: Any) -> Any:
        """The record of which a mechanism sees this: the inverse of `released`."""
        return seen

    def moved(self, record: Any, rng: np.random.Generator, change: Callable[[], Any]) -> Any:
        """Another record by a random change; an edge where no change leads to one."""
        key = canonical(record)
        for _ in range(MAX_CHANGES):
            changed = change()
            if canonical(changed) != key:
                return changed
        others = [edge for edge in self.edges() if canonical(edge) != key]
        return one_of(others, rng) if others else record

    def plainer(self, record: Any, candidates: Iterable[Any]) -> tuple[Any, ...]:
        """The candidates that are plainer records of the domain, the plainest first."""
        limit = self.plainness(record)
        inside = [candidate for candidate in distinct(candidates) if self.contains(candidate)]
        scored = [(self.plainness(candidate), candidate) for candidate in inside]
        below = sorted((entry for entry in scored if entry[0] < limit), key=lambda entry: entry[0])
        return tuple(candidate for _, candidate in below[:MAX_SIMPLER])


def explorable(domain: Domain) -> Explorable:
    """The domain itself if a search can steer through it; else one with what is missing.

    >>> from dpaudit.domains import floats
    >>> explorable(floats(0, 1)) == floats(0, 1)
    True
    """
    # Ours first: protocols are slow to check.
    return domain if isinstance(domain, (Refinable, Explorable)) else refinable(domain)


def refinable(domain: Domain) -> Refinable:
    """The domain itself if it is one of ours; else wrapped in one of ours."""
    if isinstance(domain, Refinable):
        return domain
    from dpaudit.domains.wrapping import EdgesOnly, Wrapping  # are themselves refinable

    return Wrapping(inner=domain) if isinstance(domain, Explorable) else EdgesOnly(inner=domain)


def is_domain(given: Any) -> bool:
    """Whether this is a domain; a class of domains is none."""
    return isinstance(given, Domain) and not isinstance(given, type)


def first_why_not(parts: Iterable[tuple[str, Refinable, Any]]) -> str | None:
    """Of parts given as name, domain and value, the first that is to blame, and why."""
    for name, domain, value in parts:
        if (reason := domain.why_not(value)) is not None:
            return f"{name}: {reason}"
    return None


def whole(name: str, side: str, number: Any) -> int:
    """The number, if it is whole; an error names `name`, which needs it for `side`."""
    try:
        if not isinstance(number, (bool, np.bool_)):
            return operator.index(number)
    except TypeError:
        pass
    raise InvalidDomain(f"{name} needs a whole number for {side}, got {number!r}.")


def one_of(choices: Sequence[Any], rng: np.random.Generator) -> Any:
    """One of the choices, all equally likely."""
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
