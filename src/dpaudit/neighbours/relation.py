"""What a relation offers, and what all relations that take pairs apart share."""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from dpaudit.architecture import Structured
from dpaudit.domains import Chooser, Domain, Unsuitable, canonical, chosen_whole, refinable
from dpaudit.errors import InvalidDomain, InvalidRelation
from dpaudit.neighbours.pair import Pair, Slot, removed_and_added, shared

MAX_PAIR_DRAWS = 100  # of a random pair before an edge is taken
SIDES = ("data", "neighbour")
UNRELATED = "they are not neighbours in this relation"
ALIKE = "the two datasets are the same to a mechanism"


class StructuredRelation(Structured):
    """What our structured relations share: all that follows from `join` and the layouts."""

    __slots__ = ()

    @abstractmethod
    def _random(self, rng: np.random.Generator) -> Pair | None:
        """A random pair, if the draws lead to one."""

    @abstractmethod
    def _chosen(self, chooser: Chooser) -> Pair | None:
        """The pair of the chooser's answers, if they lead to one."""

    @abstractmethod
    def _layouts(self, data: list[Any], neighbour: list[Any]) -> Iterable[Sequence[Slot]]:
        """The ways to lay the records of two datasets side by side."""

    @abstractmethod
    def _reasons(self, data: list[Any], neighbour: list[Any]) -> Iterator[str | None]:
        """Why records of the domain are not neighbours; the first reason counts."""

    def random_pair(self, rng: np.random.Generator) -> Pair:
        for _ in range(MAX_PAIR_DRAWS):
            if (pair := self._random(rng)) is not None:
                return pair
        return next(self.edge_pairs())

    def choose(self, chooser: Chooser) -> Pair:
        if (pair := self._chosen(chooser)) is None:
            raise Unsuitable("the choices lead to no pair of neighbours")
        return pair

    def contains(self, pair: Pair) -> bool:
        return self.align(pair) is not None

    def align(self, pair: Pair) -> tuple[Slot, ...] | None:
        """The slots that the pair remembers, or else the first layout of its records that joins.

        What a pair remembers counts only if it gives the very same datasets. It comes first, for a
        mapped domain may know no way back from its datasets to the records.
        """
        if pair.slots is not None and self.join(pair.slots) == pair:
            return pair.slots
        try:
            data, neighbour = map(self.domain.unpack, (pair.data, pair.neighbour))
        except Exception:  # not its datasets: the inverse of a map may raise anything
            return None
        for slots in self._layouts(data, neighbour):
            if (found := self.join(slots)) is not None:
                return found.slots
        return None

    def why_not(self, pair: Pair) -> str | None:
        """Why the pair does not belong to the relation; None if it does."""
        if self.contains(pair):
            return None
        read = []
        for name, data in zip(SIDES, (pair.data, pair.neighbour), strict=True):
            try:
                read.append(self.domain.unpack(data))
            except Exception as error:  # the inverse of a map may raise anything
                reason = (str(error) or type(error).__name__).removesuffix(".")
                if isinstance(error, InvalidDomain):
                    return reason
                return f"{name} cannot be read as records of {self.domain}: {reason}"
        outside = map(refinable(self.domain).why_not, chain(*read))
        found = filter(None, chain(outside, self._reasons(*read)))
        return next(found, UNRELATED if pair.differs() else ALIKE)


def told_apart(domain: Domain, records: Iterable[Any]) -> list[Any]:
    """The records, but of those that a mechanism cannot tell apart (by a map) only the first."""
    found: dict[str, Any] = {}
    for record in records:
        found.setdefault(seen_by_mechanism(domain, record), record)
    return list(found.values())


def seen_by_mechanism(domain: Domain, record: Any) -> str:
    """A text that two records share only if a mechanism cannot tell them apart."""
    return canonical(domain.dataset([record]))


def edge_sizes(fewest: int, most: int) -> list[int]:
    """The sizes in which edge pairs are tried: the three smallest and the biggest."""
    return sorted({size for size in (fewest, fewest + 1, fewest + 2, most) if size <= most})


def random_size(fewest: int, most: int, rng: np.random.Generator) -> int:
    """Log-uniform: small datasets are likely, the biggest still turn up."""
    return min(most, int(fewest * ((most + 1) / fewest) ** rng.random()))


def random_records(domain: Domain, count: int, rng: np.random.Generator) -> list[Any]:
    """All equal, of two values, or (half of the time) each drawn anew."""
    kind = rng.integers(4)
    if kind == 0:
        return [domain.draw(rng)] * count
    if kind == 1:
        values = [domain.draw(rng), domain.draw(rng)]
        return [values[which] for which in rng.integers(2, size=count)]
    return [domain.draw(rng) for _ in range(count)]


def chosen_slots(
    chooser: Chooser,
    ask: Callable[[str], Any],
    *,
    others: int,
    old: int,
    new: int,
    change: Callable[[Sequence[Any], Sequence[Any]], list[Slot]] = removed_and_added,
) -> list[Slot]:
    """Shared records with a change among them: `old` records of the data, `new` ones instead.

    All questions about the layout come first. `ask` chooses the record of this name; `change` lays
    the old and the new records side by side.
    """
    pattern = _chosen_pattern(chooser, others)
    place = chosen_whole(chooser, "place", 0, others)
    alike = max(old, new) > 1 and chooser.one_of("alike", 2) == 1  # old ones, and new ones
    repeats = others > 0 and chooser.one_of("repeats", 2) == 1  # old ones repeat the first
    values = {which: ask(f"record {which}") for which in sorted(set(pattern))}
    rest = [shared(values[which]) for which in pattern]
    before = [values[0]] * old if repeats else _chosen_run(ask, "record", old, alike)
    after = _chosen_run(ask, "replacement", new, alike)
    return [*rest[:place], *change(before, after), *rest[place:]]


def _chosen_pattern(chooser: Chooser, count: int) -> list[int]:
    """Which records are equal, as the number of each record's value: none, all, or two runs.

    A count or a rare event often shows in equal records alone, and independent choices seldom make
    two alike.
    """
    match chooser.one_of("pattern", 3) if count > 1 else 0:
        case 0:
            return list(range(count))
        case 1:
            return [0] * count
    turn = chosen_whole(chooser, "turn", 1, count - 1)
    return [0] * turn + [1] * (count - turn)


def _chosen_run(ask: Callable[[str], Any], name: str, count: int, alike: bool) -> list[Any]:
    """Records next to each other; the bare name asks for the first."""
    if alike:
        return [ask(name)] * count if count > 0 else []
    return [ask(f"{name} again {place}" if place > 0 else name) for place in range(count)]


def whole_number(name: str, what: str, number: Any) -> int:
    """The number, if it is whole; an error says that `name` needs it for `what`."""
    try:
        return operator.index(number)
    except TypeError as error:
        raise InvalidRelation(f"{name} needs a whole number for {what}, got {number!r}.") from error


def counted(number: int, what: str) -> str:
    """The number with its noun.

    >>> counted(1, "record"), counted(2, "record")
    ('1 record', '2 records')
    """
    return f"{number} {what}{'s' if number != 1 else ''}"
