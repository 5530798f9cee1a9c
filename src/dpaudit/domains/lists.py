"""Records that are lists of records of another domain: `lists`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.domains.chooser import Chooser
from dpaudit.domains.domain import (
    EDGE_SHARE,
    MOST_SIMPLER,
    Domain,
    as_list,
    distinct,
    moved,
    odd_edges,
    one_of,
    plainer,
    whole,
)
from dpaudit.domains.guests import refinable
from dpaudit.domains.numbers import chosen_whole, share_of, spread_whole
from dpaudit.domains.products import (
    change_parts,
    choose_parts,
    draw_parts,
    join_coordinates,
    simplify_parts,
    spread_parts,
)
from dpaudit.domains.refinable import Refinable
from dpaudit.errors import InvalidDomain


@dataclass(frozen=True, slots=True, kw_only=True)
class Lists(Refinable):
    """Lists of records of another domain, of bounded length."""

    domain: Refinable
    min_length: int
    max_length: int

    def edges(self) -> tuple[list[Any], ...]:
        """The longest and the shortest lists of the first two edges, and a mixed one."""
        if odd := self.odd_values():
            return odd_edges(self.without_odd_values().edges(), odd)
        tops = self.domain.edges()
        high, low = tops[0], tops[:2][-1]
        fewest, one, most = self.min_length, max(self.min_length, 1), self.max_length
        found = [[high] * most, [low] * fewest, [high] * one, [low] * one, [low] * most]
        found.append([(high, low)[place % 2] for place in range(most)])
        return distinct(record for record in found if len(record) <= most)

    def draw(self, rng: np.random.Generator) -> list[Any]:
        if rng.random() < EDGE_SHARE:
            return list(one_of(self.edges(), rng))
        length = int(rng.integers(self.min_length, self.max_length, endpoint=True))
        return draw_parts([self.domain] * length, rng)

    def dataset(self, records: Sequence[Sequence[Any]]) -> list[list[Any]]:
        return [self.released(record) for record in records]

    def unpack(self, data: Any) -> list[list[Any]]:
        rows = as_list(data, self)
        if not all(isinstance(row, list) for row in rows):
            raise InvalidDomain(f"a dataset of {self} is a list of lists, got {data!r}.")
        return [self.restored(row) for row in rows]

    def released(self, record: Sequence[Any]) -> list[Any]:
        return [self.domain.released(entry) for entry in record]

    def restored(self, seen: Sequence[Any]) -> list[Any]:
        return [self.domain.restored(entry) for entry in seen]

    def contains(self, record: Any) -> bool:
        if not isinstance(record, list) or not self.min_length <= len(record) <= self.max_length:
            return False
        return all(map(self.domain.contains, record))

    def choose(self, chooser: Chooser, name: str) -> list[Any]:
        length = chosen_whole(chooser, f"{name}#length", self.min_length, self.max_length)
        labels = [f"{name}[{place}]" for place in range(length)]
        return choose_parts([self.domain] * length, chooser, name, labels)

    def coordinates(self, record: Sequence[Any]) -> tuple[float, ...]:
        """How long it is, then those of the entries, and zeros for the entries that it lacks."""
        length = share_of(len(record), self.min_length, self.max_length)
        entries = join_coordinates([self.domain] * len(record), record)
        each = len(self.domain.coordinates(self.domain.edges()[0]))
        return (length, *entries, *(0.0,) * (each * (self.max_length - len(record))))

    def near(self, record: Sequence[Any], rng: np.random.Generator) -> list[Any]:
        """One or a few entries changed, or an entry more or less."""
        changed: list[Any] = moved(self, list(record), rng, lambda: self._changed(record, rng))
        return changed

    def plainness(self, record: Sequence[Any]) -> float:
        """One for each entry and what the entry counts itself."""
        return len(record) + sum(map(self.domain.plainness, record))

    def simpler(self, record: Sequence[Any]) -> tuple[list[Any], ...]:
        """Shorter lists, and as many with plainer entries."""
        entries, half = list(record), len(record) // 2
        shorter = [entries[: self.min_length], entries[:half], entries[half:]]
        places = dict.fromkeys((len(entries) - 1, 0, half))
        shorter += [entries[:place] + entries[place + 1 :] for place in places]
        plain = simplify_parts([self.domain] * len(entries), entries)
        return plainer(self, entries, (*shorter, *plain[: MOST_SIMPLER - len(shorter)]))

    def grid(self, points: int) -> tuple[list[Any], ...]:
        lengths = spread_whole(self.min_length, self.max_length, max(1, int(points**0.5)))
        share = max(1, points // len(lengths))
        rows = (
            list(row)
            for length in lengths
            for row in (spread_parts([self.domain] * length, share) if length > 0 else [()])
        )
        return distinct((*self.edges(), *rows))

    def with_odd_values(self) -> Lists:
        return dataclasses.replace(self, domain=self.domain.with_odd_values())

    def without_odd_values(self) -> Lists:
        return dataclasses.replace(self, domain=self.domain.without_odd_values())

    def odd_values(self) -> tuple[list[Any], ...]:
        """The shortest lists whose first entry is odd."""
        if self.max_length == 0:
            return ()
        rest = [self.domain.without_odd_values().edges()[0]] * (self.min_length - 1)
        return tuple([odd, *rest] for odd in self.domain.odd_values())

    def __str__(self) -> str:
        least = f", min_length={self.min_length}" if self.min_length > 0 else ""
        return f"lists({self.domain}, {self.max_length}{least})"

    def _changed(self, record: Sequence[Any], rng: np.random.Generator) -> list[Any]:
        entries, length = list(record), len(record)
        ways = ["change"] * (2 if length > 0 else 0)
        ways += ["grow"] if length < self.max_length else []
        ways += ["cut"] if length > self.min_length else []
        match one_of(ways, rng) if ways else None:
            case "change":
                return change_parts([self.domain] * length, entries, rng)
            case "grow":  # by a new entry, or by one that is there already
                source = entries if length > 0 and rng.random() < 0.5 else [self.domain.draw(rng)]
                entries.insert(int(rng.integers(length + 1)), one_of(source, rng))
            case "cut":
                del entries[int(rng.integers(length))]
        return entries


def lists(domain: Domain, max_length: int, min_length: int = 0) -> Lists:
    """Records that are themselves lists of records of another domain.

    >>> from dpaudit.domains.numbers import integers
    >>> lists(integers(0, 9), 3).edges()[:3]
    ([9, 9, 9], [], [9])
    """
    if isinstance(domain, type) or not isinstance(domain, Domain):
        raise InvalidDomain(f"lists needs a domain such as floats(0, 1), got {domain!r}.")
    most = whole("lists", "max_length", max_length)
    least = whole("lists", "min_length", min_length)
    if not 0 <= least <= most:
        raise InvalidDomain(
            f"lists needs 0 <= min_length <= max_length, got min_length={least}, max_length={most}."
        )
    return Lists(domain=refinable(domain), min_length=least, max_length=most)
