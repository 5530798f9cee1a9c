"""Records that are dictionaries, and what all records made of parts share.

Each part of a record has its own domain: the fields of `records`, the entries of `vectors` and
`lists`. What is drawn or chosen has at most one odd part, for odd parts would hide each other.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.architecture import Chooser, Domain
from dpaudit.domains.domain import (
    MAX_EDGES,
    MAX_SIMPLER,
    ODD_SHARE,
    Refinable,
    distinct,
    first_why_not,
    is_domain,
    one_of,
    refinable,
)
from dpaudit.domains.showing import canonical
from dpaudit.errors import InvalidDomain

MAX_PARTS_ALONE = 6  # up to here parts are made simpler one by one; beyond, also in groups


@dataclass(frozen=True, slots=True)
class Parts:
    """The domains of the parts of which records are made."""

    domains: Sequence[Refinable]

    def draw(self, rng: np.random.Generator) -> list[Any]:
        """Each part drawn; where odd values are allowed, half of the time one part is odd."""
        values = [domain.without_odd_values().draw(rng) for domain in self.domains]
        odd = self._odd_places()
        if odd and rng.random() < ODD_SHARE:
            place = one_of(odd, rng)
            values[place] = one_of(self.domains[place].odd_values(), rng)
        return values

    def choose(self, chooser: Chooser, name: str, labels: Sequence[str]) -> list[Any]:
        """Each part chosen under its label; `name` asks which one is odd, where one may be."""
        odd = self._odd_places()
        which = chooser.one_of(f"{name}#odd", 1 + len(odd)) if odd else 0
        values = []
        for place, (domain, label) in enumerate(zip(self.domains, labels, strict=True)):
            if which > 0 and odd[which - 1] == place:
                offered = domain.odd_values()
                values.append(offered[chooser.one_of(f"{label}#which", len(offered))])
            else:
                values.append(domain.without_odd_values().choose(chooser, label))
        return values

    def coordinates(self, values: Sequence[Any]) -> tuple[float, ...]:
        """The coordinates of all parts, one after the other."""
        placed = (domain.coordinates(value) for domain, value in self._with(values))
        return tuple(itertools.chain.from_iterable(placed))

    def changed(self, values: Sequence[Any], rng: np.random.Generator) -> list[Any]:
        """One or a few parts changed, if any part can change."""
        changed = list(values)
        left = int(rng.geometric(0.7))
        for place in rng.permutation(len(changed)).tolist():
            changed[place] = self.domains[place].near(values[place], rng)
            left -= canonical(changed[place]) != canonical(values[place])
            if left == 0:
                break
        return changed

    def plainness(self, values: Sequence[Any]) -> float:
        """The plainness of all parts together."""
        return sum(domain.plainness(value) for domain, value in self._with(values))

    def simplified(self, values: Sequence[Any]) -> list[list[Any]]:
        """All parts made simpler at once, then groups of many parts, then single parts."""
        found: dict[str, list[Any]] = {}
        for changes in self._simplifications(values):
            candidate = [changes.get(place, value) for place, value in enumerate(values)]
            found.setdefault(canonical(candidate), candidate)
            if len(found) == MAX_SIMPLER:
                break
        return list(found.values())

    def _simplifications(self, values: Sequence[Any]) -> Iterator[dict[int, Any]]:
        """Which parts to replace and by what; the least plain parts first."""
        options = [domain.simpler(value) for domain, value in self._with(values)]
        places = [place for place, offered in enumerate(options) if offered]
        places.sort(key=lambda place: -self.domains[place].plainness(values[place]))
        for count in (1, 2, 4) if len(places) > MAX_PARTS_ALONE else (1,):
            size = max(1, math.ceil(len(places) / count))
            for start in range(0, len(places), size):
                yield {place: options[place][0] for place in places[start : start + size]}
        for depth in range(MAX_SIMPLER):
            for place in places:
                if depth < len(options[place]):
                    yield {place: options[place][depth]}

    def spread(self, points: int) -> list[tuple[Any, ...]]:
        """At most this many combinations: all of a grid over each part, or some of a finer grid."""
        if not self.domains:
            return [()]
        finest, fitting = max(1, int(points ** (1 / len(self.domains)))), None
        while finest <= points:
            columns = [domain.grid(finest) for domain in self.domains]
            if math.prod(map(len, columns)) > points:
                break
            finest, fitting = max(finest + 1, finest * 5 // 4), columns
        if fitting is not None:
            return list(itertools.product(*fitting))
        return _lattice([domain.grid(points) for domain in self.domains], points)

    def _with(self, values: Sequence[Any]) -> Iterable[tuple[Refinable, Any]]:
        return zip(self.domains, values, strict=True)

    def _odd_places(self) -> list[int]:
        return [place for place, domain in enumerate(self.domains) if domain.odd_values()]


def _lattice(columns: Sequence[Sequence[Any]], points: int) -> list[tuple[Any, ...]]:
    """A Kronecker sequence over the columns: multiples of the powers of 1/g, g^(d+1) = g + 1.

    They spread evenly in any dimension, and further points only fill the gaps (Roberts 2018, "The
    unreasonable effectiveness of quasirandom sequences").
    """
    ratio = 1.5
    for _ in range(60):  # a contraction: converges to the last bit
        ratio = (1.0 + ratio) ** (1.0 / (len(columns) + 1))
    steps = [ratio ** -(place + 1) for place in range(len(columns))]
    return [
        tuple(
            column[int((row * step) % 1.0 * len(column))]
            for column, step in zip(columns, steps, strict=True)
        )
        for row in range(1, points + 1)
    ]


class Product(Refinable):
    """Records made of a fixed number of parts."""

    __slots__ = ()

    def parts(self) -> Parts:
        """The domains of the parts."""
        raise NotImplementedError

    def labels(self, name: str) -> list[str]:
        """The question that asks for each part of the record of this name."""
        raise NotImplementedError

    def values(self, record: Any) -> list[Any]:
        """The parts of a record."""
        raise NotImplementedError

    def joined(self, values: Sequence[Any]) -> Any:
        """The record of these parts."""

    def draw_anywhere(self, rng: np.random.Generator) -> Any:
        return self.joined(self.parts().draw(rng))

    def choose(self, chooser: Chooser, name: str) -> Any:
        return self.joined(self.parts().choose(chooser, name, self.labels(name)))

    def coordinates(self, record: Any) -> tuple[float, ...]:
        return self.parts().coordinates(self.values(record))

    def near(self, record: Any, rng: np.random.Generator) -> Any:
        return self.joined(self.parts().changed(self.values(record), rng))

    def plainness(self, record: Any) -> float:
        return self.parts().plainness(self.values(record))

    def simpler(self, record: Any) -> tuple[Any, ...]:
        return self.plainer(record, map(self.joined, self.parts().simplified(self.values(record))))

    def grid(self, points: int) -> tuple[Any, ...]:
        return distinct((*self.edges(), *map(self.joined, self.parts().spread(points))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Records(Product):
    """Dictionaries with the same fields, each field from its own domain."""

    fields: tuple[tuple[str, Refinable], ...]

    def plain_edges(self) -> tuple[dict[str, Any], ...]:
        """All fields at their first edge; one at its second; numbers at 0; all at their second.

        Zero is tried where it lies between the bounds: it is the third edge of such a field.
        """
        tops = {name: domain.edges() for name, domain in self.fields}
        first = {name: edges[0] for name, edges in tops.items()}
        varied = {name: edges[1] for name, edges in tops.items() if len(edges) > 1}
        zeros = {name: edges[2] for name, edges in tops.items() if _has_zero_third(edges)}
        found = (first, *({**first, name: value} for name, value in varied.items()))
        both = ({**first, **varied},) if len(varied) > 1 else ()
        plain = ({**first, **zeros},) if zeros else ()
        return (*found[: MAX_EDGES - len(both) - len(plain)], *plain, *both)

    def released(self, record: Mapping[str, Any]) -> dict[str, Any]:
        domains = dict(self.fields)
        return {name: domains[name].released(value) for name, value in record.items()}

    def restored(self, seen: Any) -> dict[str, Any]:
        if not isinstance(seen, Mapping):
            raise InvalidDomain(f"a dataset of {self} is a list of dicts, got {seen!r} in it.")
        domains = dict(self.fields)
        return {
            name: domains[name].restored(value) if name in domains else value
            for name, value in seen.items()
        }

    def contains(self, record: Any) -> bool:
        if not isinstance(record, Mapping) or set(record) != {name for name, _ in self.fields}:
            return False
        return all(domain.contains(record[name]) for name, domain in self.fields)

    def why_not_part(self, record: Any) -> str | None:
        if not isinstance(record, Mapping):
            return None
        names = [name for name, _ in self.fields]
        if missing := [name for name in names if name not in record]:
            return f"the field {missing[0]!r} is missing"
        if more := [name for name in record if name not in names]:
            return f"there is no field {more[0]!r} in {self}"
        return first_why_not(
            (f"the field {name!r}", part, record[name]) for name, part in self.fields
        )

    def with_odd_values(self) -> Records:
        return Records(fields=tuple((name, each.with_odd_values()) for name, each in self.fields))

    def without_odd_values(self) -> Records:
        return Records(fields=tuple((name, one.without_odd_values()) for name, one in self.fields))

    def odd_values(self) -> tuple[dict[str, Any], ...]:
        """One field odd and the others at their first edge, field after field."""
        offered = [(name, domain.odd_values()) for name, domain in self.fields]
        if not any(odd for _, odd in offered):
            return ()
        first = {name: domain.without_odd_values().edges()[0] for name, domain in self.fields}
        return tuple(
            {**first, name: odd[depth]}
            for depth in range(max(len(odd) for _, odd in offered))
            for name, odd in offered
            if depth < len(odd)
        )

    def __str__(self) -> str:
        return f"records({self.fields_in_words()})"

    def fields_in_words(self) -> str:
        """The fields as arguments of a call: `age=integers(0, 120), x=floats(0, 1)`."""
        return ", ".join(f"{name}={domain}" for name, domain in self.fields)

    def parts(self) -> Parts:
        return Parts([domain for _, domain in self.fields])

    def labels(self, name: str) -> list[str]:
        """A field is quoted unless plain, so that no two questions are alike."""
        quoted = (each if each.isidentifier() else repr(each) for each, _ in self.fields)
        return [f"{name}.{each}" for each in quoted]

    def values(self, record: Mapping[str, Any]) -> list[Any]:
        return [record[name] for name, _ in self.fields]

    def joined(self, values: Sequence[Any]) -> dict[str, Any]:
        return {name: value for (name, _), value in zip(self.fields, values, strict=True)}


def records(fields: Mapping[str, Domain] | None = None, /, **named: Domain) -> Records:
    """Records that are dictionaries, each field from its own domain.

    >>> from dpaudit.domains import categories, integers
    >>> people = records(age=integers(0, 120), smokes=categories(True, False))
    >>> people.edges()[0]
    {'age': 120, 'smokes': True}
    """
    return Records(fields=named_fields("records", "field", fields, named))


def named_fields(
    kind: str, part: str, fields: Mapping[str, Domain] | None, named: Mapping[str, Domain]
) -> tuple[tuple[str, Refinable], ...]:
    """The fields of a dict and those given by name, checked and made domains of ours."""
    if fields is not None and not isinstance(fields, Mapping):
        raise InvalidDomain(f"{kind} needs a dict of {part}s, got {fields!r}.")
    given: dict[str, Domain] = dict(fields) if fields is not None else {}
    if twice := sorted(given.keys() & named.keys()):
        raise InvalidDomain(f"{kind} got the {part} {twice[0]!r} twice. Name it once.")
    given.update(named)
    if not given:
        raise InvalidDomain(f"{kind} needs at least one {part}: {kind}(age=integers(0, 120)).")
    for name, domain in given.items():
        if not (isinstance(name, str) and is_domain(domain)):
            raise InvalidDomain(
                f"a {part} needs a name and a domain such as floats(0, 1), got {name!r}: "
                f"{domain!r}."
            )
    return tuple((name, refinable(domain)) for name, domain in given.items())


def _has_zero_third(edges: tuple[Any, ...]) -> bool:
    """Whether both ends and then 0 are the first edges of a field."""
    return len(edges) > 2 and isinstance(edges[2], (int, float)) and edges[2] == 0
