"""What a record may be: `floats`, `integers`, `categories`, `vectors`, `records`.

A domain knows the records worth trying first (`edges`), how to draw one (`draw`), and how records
become the data that a mechanism receives (`dataset`, and `unpack` back).
"""

from __future__ import annotations

import copy
import operator
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

EDGE_SHARE = 0.25  # of the random draws: bugs live at the edges
MOST_EDGES = 8

FORMS = "floats:LOW:HIGH, integers:LOW:HIGH, categories:A,B,C or vectors:LENGTH:LOW:HIGH"


class InvalidDomain(ValueError):
    """A domain that holds no record, or data that do not belong to it."""


@runtime_checkable
class Domain(Protocol):
    """What a record may be. Any object with these methods is a domain."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Floats:
    """Real numbers between two bounds, both included."""

    low: float
    high: float

    def edges(self) -> tuple[float, ...]:
        zero = (0.0,) if self.low <= 0.0 <= self.high else ()
        return tuple(
            dict.fromkeys((self.high, self.low, *zero, _between(self.low, self.high, 0.5)))
        )

    def draw(self, rng: np.random.Generator) -> float:
        if rng.random() < EDGE_SHARE:
            return float(_one_of(self.edges(), rng))
        return _between(self.low, self.high, rng.random())

    def dataset(self, records: Sequence[float]) -> NDArray[np.float64]:
        return np.array(list(records), dtype=np.float64)

    def unpack(self, data: Any) -> list[float]:
        return [float(number) for number in _array(data, self, kinds="fiu", ndim=1).tolist()]

    def contains(self, record: Any) -> bool:
        return _is_real(record) and bool(self.low <= record <= self.high)

    def __str__(self) -> str:
        return f"floats({_plain(self.low)}, {_plain(self.high)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Integers:
    """Whole numbers between two bounds, both included."""

    low: int
    high: int

    def edges(self) -> tuple[int, ...]:
        plain = [number for number in (0, 1) if self.low <= number <= self.high]
        middle = (self.low + self.high) // 2
        return tuple(dict.fromkeys((self.high, self.low, *plain, middle)))

    def draw(self, rng: np.random.Generator) -> int:
        if rng.random() < EDGE_SHARE:
            return int(_one_of(self.edges(), rng))
        return int(rng.integers(self.low, self.high, endpoint=True))

    def dataset(self, records: Sequence[int]) -> NDArray[np.int64]:
        return np.array(list(records), dtype=np.int64)

    def unpack(self, data: Any) -> list[int]:
        return [int(number) for number in _array(data, self, kinds="iu", ndim=1).tolist()]

    def contains(self, record: Any) -> bool:
        whole = isinstance(record, (int, np.integer)) and not isinstance(record, bool)
        return whole and bool(self.low <= record <= self.high)

    def __str__(self) -> str:
        return f"integers({self.low}, {self.high})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Categories:
    """One of a few given values. `1`, `1.0` and `True` are three different categories."""

    values: tuple[Any, ...]

    def edges(self) -> tuple[Any, ...]:
        return (self.values[0], self.values[-1]) if len(self.values) > 1 else self.values

    def draw(self, rng: np.random.Generator) -> Any:
        return _one_of(self.edges() if rng.random() < EDGE_SHARE else self.values, rng)

    def dataset(self, records: Sequence[Any]) -> list[Any]:
        return list(records)

    def unpack(self, data: Any) -> list[Any]:
        if isinstance(data, np.ndarray) and data.ndim == 1:
            return list(data.tolist())
        return list(_listed(data, self))

    def contains(self, record: Any) -> bool:
        typed = _typed(record)
        return any(typed == _typed(value) for value in self.values)

    def __str__(self) -> str:
        shown = [repr(value) for value in self.values]
        if len(shown) > MOST_EDGES:
            shown = [*shown[:3], "...", shown[-1]]
        return f"categories({', '.join(shown)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """Arrays of a fixed length, every entry between two bounds."""

    length: int
    low: float
    high: float

    def edges(self) -> tuple[NDArray[np.float64], ...]:
        plain = 0.0 if self.low <= 0.0 <= self.high else _between(self.low, self.high, 0.5)
        rows = [np.full(self.length, level) for level in (self.high, self.low, plain)]
        for place, level in ((0, self.high), (0, self.low), (-1, self.high)):
            one_hot = np.full(self.length, plain)
            one_hot[place] = level
            rows.append(one_hot)
        rows.append(np.where(np.arange(self.length) % 2 == 0, self.high, self.low))
        return tuple({row.tobytes(): row for row in rows}.values())

    def draw(self, rng: np.random.Generator) -> NDArray[np.float64]:
        if rng.random() < EDGE_SHARE:
            row: NDArray[np.float64] = _one_of(self.edges(), rng)
            return row
        share = rng.random(self.length)
        return np.clip((1.0 - share) * self.low + share * self.high, self.low, self.high)

    def dataset(self, records: Sequence[Any]) -> NDArray[np.float64]:
        return np.array(list(records), dtype=np.float64).reshape(len(records), self.length)

    def unpack(self, data: Any) -> list[NDArray[np.float64]]:
        table = _array(data, self, kinds="fiu", ndim=2)
        if len(table) and table.shape[1] != self.length:
            raise InvalidDomain(f"a dataset of {self} has {self.length} columns, got {data!r}.")
        return [row.astype(np.float64) for row in table]

    def contains(self, record: Any) -> bool:
        try:
            row = np.asarray(record)
        except ValueError:
            return False
        if row.shape != (self.length,) or row.dtype.kind not in "fiu":
            return False
        return bool(np.all((self.low <= row) & (row <= self.high)))

    def __str__(self) -> str:
        return f"vectors({self.length}, {_plain(self.low)}, {_plain(self.high)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """Dictionaries with the same fields, each field from its own domain."""

    fields: tuple[tuple[str, Domain], ...]

    def edges(self) -> tuple[dict[str, Any], ...]:
        """All fields at their first edge; one field at its second edge; all at their second."""
        tops = {name: domain.edges() for name, domain in self.fields}
        first = {name: edges[0] for name, edges in tops.items()}
        varied = {name: edges[1] for name, edges in tops.items() if len(edges) > 1}
        found = [first, *({**first, name: value} for name, value in varied.items())]
        found = found[: MOST_EDGES - 1]
        return (*found, {**first, **varied}) if len(varied) > 1 else tuple(found)

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        if rng.random() < EDGE_SHARE:
            return dict(_one_of(self.edges(), rng))
        return {name: domain.draw(rng) for name, domain in self.fields}

    def dataset(self, records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return [copy.deepcopy(dict(record)) for record in records]

    def unpack(self, data: Any) -> list[dict[str, Any]]:
        rows = _listed(data, self)
        if not all(isinstance(row, Mapping) for row in rows):
            raise InvalidDomain(f"a dataset of {self} is a list of dicts, got {data!r}.")
        return [dict(row) for row in rows]

    def contains(self, record: Any) -> bool:
        if not isinstance(record, Mapping) or set(record) != {name for name, _ in self.fields}:
            return False
        return all(domain.contains(record[name]) for name, domain in self.fields)

    def __str__(self) -> str:
        return f"records({', '.join(f'{name}={domain}' for name, domain in self.fields)})"


def floats(low: float, high: float) -> Floats:
    """Records that are real numbers in [low, high].

    >>> print(floats(-1, 1), floats(-1, 1).edges())
    floats(-1, 1) (1.0, -1.0, 0.0)
    """
    low, high = _bounds("floats", low, high)
    return Floats(low=low, high=high)


def integers(low: int, high: int) -> Integers:
    """Records that are whole numbers in [low, high].

    >>> integers(0, 10).edges()
    (10, 0, 1, 5)
    """
    low, high = _whole("integers", "low", low), _whole("integers", "high", high)
    if low > high:
        raise InvalidDomain(f"integers needs low <= high, got low={low}, high={high}. Swap them.")
    if low < -(2**63) or high >= 2**63:
        raise InvalidDomain(
            f"integers must fit in 64 bits, got low={low}, high={high}. Narrow the range."
        )
    return Integers(low=low, high=high)


def categories(*values: Any) -> Categories:
    """Records that are one of the given values, listed one by one or in one sequence.

    >>> categories("red", "green") == categories(["red", "green"])
    True
    """
    given = values
    if len(values) == 1 and isinstance(values[0], np.ndarray):
        given = tuple(values[0].tolist())
    elif len(values) == 1 and isinstance(values[0], Sequence) and not isinstance(values[0], str):
        given = tuple(values[0])
    if not given:
        raise InvalidDomain('categories needs at least one value, got none: categories("a", "b").')
    plain = tuple(value.item() if isinstance(value, np.generic) else value for value in given)
    for place, value in enumerate(plain):
        if isinstance(value, (np.ndarray, list, dict, set)):
            raise InvalidDomain(f"a category must be a plain value, got {value!r}. Use a tuple.")
        if any(_typed(value) == _typed(other) for other in plain[:place]):
            raise InvalidDomain(f"categories must differ, got {value!r} twice. List it once.")
    return Categories(values=plain)


def vectors(length: int, low: float, high: float) -> Vectors:
    """Records that are arrays of a fixed length with every entry in [low, high].

    >>> vectors(2, 0, 1).dataset([]).shape
    (0, 2)
    """
    length = _whole("vectors", "length", length)
    if length < 1:
        raise InvalidDomain(f"vectors needs a length of at least 1, got {length}.")
    low, high = _bounds("vectors", low, high)
    return Vectors(length=length, low=low, high=high)


def records(fields: Mapping[str, Domain] | None = None, /, **named: Domain) -> Records:
    """Records that are dictionaries, each field from its own domain.

    >>> people = records(age=integers(0, 120), smokes=categories(True, False))
    >>> people.edges()[0]
    {'age': 120, 'smokes': True}
    """
    if fields is not None and not isinstance(fields, Mapping):
        raise InvalidDomain(f"records needs a dict of fields, got {fields!r}.")
    given: dict[str, Domain] = dict(fields) if fields is not None else {}
    twice = sorted(given.keys() & named.keys())
    if twice:
        raise InvalidDomain(f"records got the field {twice[0]!r} twice. Name it once.")
    given.update(named)
    if not given:
        raise InvalidDomain("records needs at least one field: records(age=integers(0, 120)).")
    for name, domain in given.items():
        if not isinstance(name, str) or isinstance(domain, type) or not isinstance(domain, Domain):
            raise InvalidDomain(
                f"a field needs a name and a domain such as floats(0, 1), got {name!r}: {domain!r}."
            )
    return Records(fields=tuple(given.items()))


def parse_domain(text: str) -> Domain:
    """The domain that a command line names.

    >>> print(parse_domain("floats:-1:1"), parse_domain("categories:a,b"))
    floats(-1, 1) categories('a', 'b')
    """
    name, _, rest = text.strip().partition(":")
    parts = rest.split(":")
    try:
        match name, len(parts):
            case "floats", 2:
                return floats(float(parts[0]), float(parts[1]))
            case "integers", 2:
                return integers(int(parts[0]), int(parts[1]))
            case "vectors", 3:
                return vectors(int(parts[0]), float(parts[1]), float(parts[2]))
            case "categories", _ if all(value.strip() for value in rest.split(",")):
                return categories([value.strip() for value in rest.split(",")])
    except InvalidDomain:
        raise
    except ValueError as error:
        raise InvalidDomain(f"cannot read the domain {text!r}: {error}. Write {FORMS}.") from error
    raise InvalidDomain(f"cannot read the domain {text!r}. Write {FORMS}.")


def _bounds(name: str, low: Any, high: Any) -> tuple[float, float]:
    for side, bound in (("low", low), ("high", high)):
        if not _is_real(bound):
            raise InvalidDomain(f"{name} needs a number for {side}, got {bound!r}.")
        if not abs(bound) <= sys.float_info.max:
            raise InvalidDomain(
                f"{name} needs a finite {side}, got {bound!r}. Give the bound that the data keep."
            )
    if low > high:
        raise InvalidDomain(f"{name} needs low <= high, got low={low!r}, high={high!r}. Swap them.")
    return float(low) + 0.0, float(high) + 0.0  # + 0.0: no negative zero


def _whole(name: str, side: str, number: Any) -> int:
    if isinstance(number, (bool, np.bool_)):
        raise InvalidDomain(f"{name} needs a whole number for {side}, got {number!r}.")
    try:
        return operator.index(number)
    except TypeError as error:
        text = f"{name} needs a whole number for {side}, got {number!r}."
        raise InvalidDomain(text) from error


def _between(low: float, high: float, share: float) -> float:
    # Not low + share * (high - low): the width of the widest ranges overflows.
    return min(max((1.0 - share) * low + share * high, low), high)


def _one_of(choices: Sequence[Any], rng: np.random.Generator) -> Any:
    return choices[int(rng.integers(len(choices)))]


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and bool(value == value)


def _typed(value: Any) -> tuple[type, Any]:
    """The value with its type: `1 == True`, but they are two categories."""
    plain = value.item() if isinstance(value, np.generic) else value
    return type(plain), plain


def _plain(bound: float) -> str:
    return repr(bound).removesuffix(".0")


def _array(data: Any, domain: Domain, *, kinds: str, ndim: int) -> NDArray[Any]:
    table = np.asarray(data)
    if table.size == 0 and table.ndim >= 1 and len(table) == 0:
        return table
    if table.ndim != ndim or table.dtype.kind not in kinds:
        raise InvalidDomain(f"not a dataset of {domain}: {data!r}.")
    return table


def _listed(data: Any, domain: Domain) -> Sequence[Any]:
    if not isinstance(data, (list, tuple)):
        raise InvalidDomain(f"a dataset of {domain} is a list, got {data!r}.")
    return data
