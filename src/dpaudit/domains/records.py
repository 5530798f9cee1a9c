"""Records that are dictionaries: `records`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.domains.chooser import Chooser
from dpaudit.domains.domain import (
    EDGE_SHARE,
    MOST_EDGES,
    Domain,
    as_list,
    distinct,
    odd_edges,
    one_of,
    plainer,
)
from dpaudit.domains.guests import refinable
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
class Records(Refinable):
    """Dictionaries with the same fields, each field from its own domain."""

    fields: tuple[tuple[str, Refinable], ...]

    def edges(self) -> tuple[dict[str, Any], ...]:
        """All fields at their first edge; one field at its second edge; all at their second."""
        if odd := self.odd_values():
            return odd_edges(self.without_odd_values().edges(), odd)
        tops = {name: domain.edges() for name, domain in self.fields}
        first = {name: edges[0] for name, edges in tops.items()}
        varied = {name: edges[1] for name, edges in tops.items() if len(edges) > 1}
        found = [first, *({**first, name: value} for name, value in varied.items())]
        found = found[: MOST_EDGES - 1]
        return (*found, {**first, **varied}) if len(varied) > 1 else tuple(found)

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        if rng.random() < EDGE_SHARE:
            return dict(one_of(self.edges(), rng))
        return self._record(draw_parts(self._domains(), rng))

    def dataset(self, records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return [self.released(record) for record in records]

    def unpack(self, data: Any) -> list[dict[str, Any]]:
        rows = as_list(data, self)
        if not all(isinstance(row, Mapping) for row in rows):
            raise InvalidDomain(f"a dataset of {self} is a list of dicts, got {data!r}.")
        return [self.restored(row) for row in rows]

    def released(self, record: Mapping[str, Any]) -> dict[str, Any]:
        domains = dict(self.fields)
        return {name: domains[name].released(value) for name, value in record.items()}

    def restored(self, seen: Mapping[str, Any]) -> dict[str, Any]:
        domains = dict(self.fields)
        return {
            name: domains[name].restored(value) if name in domains else value
            for name, value in seen.items()
        }

    def contains(self, record: Any) -> bool:
        if not isinstance(record, Mapping) or set(record) != {name for name, _ in self.fields}:
            return False
        return all(domain.contains(record[name]) for name, domain in self.fields)

    def choose(self, chooser: Chooser, name: str) -> dict[str, Any]:
        labels = [f"{name}.{_label(field)}" for field, _ in self.fields]
        return self._record(choose_parts(self._domains(), chooser, name, labels))

    def coordinates(self, record: Mapping[str, Any]) -> tuple[float, ...]:
        return join_coordinates(self._domains(), self._values(record))

    def near(self, record: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
        return self._record(change_parts(self._domains(), self._values(record), rng))

    def plainness(self, record: Mapping[str, Any]) -> float:
        return sum(domain.plainness(record[name]) for name, domain in self.fields)

    def simpler(self, record: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        simplified = simplify_parts(self._domains(), self._values(record))
        return plainer(self, record, map(self._record, simplified))

    def grid(self, points: int) -> tuple[dict[str, Any], ...]:
        rows = spread_parts(self._domains(), points)
        return distinct((*self.edges(), *map(self._record, rows)))

    def with_odd_values(self) -> Records:
        """Any field may be odd; what is drawn or chosen has at most one that is."""
        return Records(fields=tuple((name, each.with_odd_values()) for name, each in self.fields))

    def without_odd_values(self) -> Records:
        plain = tuple((name, domain.without_odd_values()) for name, domain in self.fields)
        return Records(fields=plain)

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
        return f"records({', '.join(f'{name}={domain}' for name, domain in self.fields)})"

    def _domains(self) -> list[Refinable]:
        return [domain for _, domain in self.fields]

    def _values(self, record: Mapping[str, Any]) -> list[Any]:
        return [record[name] for name, _ in self.fields]

    def _record(self, values: Sequence[Any]) -> dict[str, Any]:
        return {name: value for (name, _), value in zip(self.fields, values, strict=True)}


def records(fields: Mapping[str, Domain] | None = None, /, **named: Domain) -> Records:
    """Records that are dictionaries, each field from its own domain.

    >>> from dpaudit.domains import categories
    >>> from dpaudit.domains.numbers import integers
    >>> people = records(age=integers(0, 120), smokes=categories(True, False))
    >>> people.edges()[0]
    {'age': 120, 'smokes': True}
    """
    return Records(fields=named_fields("records", "field", fields, named))


def named_fields(
    kind: str, part: str, fields: Mapping[str, Domain] | None, named: Mapping[str, Domain]
) -> tuple[tuple[str, Refinable], ...]:
    """The fields of a dict and those given by name, checked and as domains of ours."""
    if fields is not None and not isinstance(fields, Mapping):
        raise InvalidDomain(f"{kind} needs a dict of {part}s, got {fields!r}.")
    given: dict[str, Domain] = dict(fields) if fields is not None else {}
    twice = sorted(given.keys() & named.keys())
    if twice:
        raise InvalidDomain(f"{kind} got the {part} {twice[0]!r} twice. Name it once.")
    given.update(named)
    if not given:
        raise InvalidDomain(f"{kind} needs at least one {part}: {kind}(age=integers(0, 120)).")
    for name, domain in given.items():
        if not isinstance(name, str) or isinstance(domain, type) or not isinstance(domain, Domain):
            raise InvalidDomain(
                f"a {part} needs a name and a domain such as floats(0, 1), got {name!r}: "
                f"{domain!r}."
            )
    return tuple((name, refinable(domain)) for name, domain in given.items())


def _label(field: str) -> str:
    """The field's part of a question: quoted unless plain, so that no two questions are alike."""
    return field if field.isidentifier() else repr(field)
