"""Why something is no record of a domain, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dpaudit.domains.domain import Domain
from dpaudit.domains.filtered import Filtered
from dpaudit.domains.guests import EdgesOnly
from dpaudit.domains.lists import Lists
from dpaudit.domains.odd import WithOdd
from dpaudit.domains.records import Records
from dpaudit.domains.showing import shown
from dpaudit.domains.vectors import Vectors, as_numbers, as_row
from dpaudit.domains.wrapping import Wrapping


def reason_against(domain: Domain, record: Any) -> str | None:
    """Why this is no record of the domain; None if it is one.

    `contains` has the last word; a record made of parts is refused with the reason of its part.

    >>> from dpaudit.domains.numbers import floats, integers
    >>> from dpaudit.domains import records
    >>> reason_against(floats(0, 1), 50.0)
    '50.0 is not in floats(0, 1)'
    >>> print(reason_against(floats(0, 1), 0.5))
    None
    >>> reason_against(records(age=integers(0, 120), x=floats(0, 1)), {"age": 200, "x": 0.5})
    "the field 'age': 200 is not in integers(0, 120)"
    """
    if domain.contains(record):
        return None
    return _of_a_part(domain, record) or f"{shown(record)} is not in {domain}"


def _of_a_part(domain: Domain, record: Any) -> str | None:
    """The reason that a part of the record gives; None if no part can be told."""
    match domain:
        case Records():
            return _of_a_field(domain, record)
        case Lists():
            return _of_an_entry(domain, record)
        case Vectors():
            return _of_a_vector(domain, record)
        case WithOdd(plain=plain):
            return None if plain.contains(record) else _of_a_part(plain, record)
        case Filtered(inner=inner, name=name):
            inside = reason_against(inner, record)
            return f"{shown(record)} does not fit the filter {name}" if inside is None else inside
        case Wrapping(inner=inner) | EdgesOnly(inner=inner):
            return reason_against(inner, record)
    return None


def _of_a_field(domain: Records, record: Any) -> str | None:
    if not isinstance(record, Mapping):
        return None
    names = [name for name, _ in domain.fields]
    if missing := [name for name in names if name not in record]:
        return f"the field {missing[0]!r} is missing"
    if more := [name for name in record if name not in names]:
        return f"there is no field {more[0]!r} in {domain}"
    parts = ((f"the field {name!r}", part, record[name]) for name, part in domain.fields)
    return _first(parts)


def _of_an_entry(domain: Lists, record: Any) -> str | None:
    if not isinstance(record, list):
        return None
    if not domain.min_length <= len(record) <= domain.max_length:
        bounds = f"{domain.min_length} to {domain.max_length}"
        return f"a list of {len(record)} entries, where {domain} has {bounds}"
    return _first((f"entry {place}", domain.domain, one) for place, one in enumerate(record))


def _of_a_vector(domain: Vectors, record: Any) -> str | None:
    row = as_row(record)
    if row is None:
        return None
    if row.shape != (domain.length,):
        return f"a vector of shape {np.shape(row)}, where {domain} has {domain.length} entries"
    return _first((f"entry {at}", domain.entry(), one) for at, one in enumerate(as_numbers(row)))


def _first(parts: Iterable[tuple[str, Domain, Any]]) -> str | None:
    for name, part, value in parts:
        if (reason := reason_against(part, value)) is not None:
            return f"{name}: {reason}"
    return None
