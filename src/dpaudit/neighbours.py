"""Which pairs of datasets count as neighbours, and `Pair` itself.

A relation (`pairs`, `add_or_remove_one`, `replace_one`, `query_answers`) knows its edge pairs,
where most bugs show, how to draw a random pair, and whether a pair belongs to it. Both directions
of a pair are always tested, so a relation lists it one way round. Datasets are ordered: neighbours
differ in one place, and the other records keep theirs.
"""

from __future__ import annotations

import hashlib
import operator
import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpaudit.domains import Domain

if TYPE_CHECKING:
    from dpaudit.finders import Finder

SHOWN = 12  # records shown before a dataset is elided in the middle
TRIES = 100  # draws before a random choice falls back on an edge


class InvalidRelation(ValueError):
    """A neighbouring relation without any pair."""


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two neighbouring datasets. Equal pairs have equal keys, exact to the last bit of a float.

    >>> print(Pair(np.array([1.0]), np.array([])))
    data=[1.0], neighbour=[]
    """

    data: Any
    neighbour: Any

    def swapped(self) -> Pair:
        return Pair(self.neighbour, self.data)

    def key(self) -> str:
        return f"{canonical(self.data)} | {canonical(self.neighbour)}"

    def __eq__(self, other: object) -> bool:
        return self.key() == other.key() if isinstance(other, Pair) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.key())

    def __str__(self) -> str:
        return f"data={_show(self.data)}, neighbour={_show(self.neighbour)}"


@runtime_checkable
class Relation(Protocol):
    """Which pairs count as neighbours. Any object with these methods is a relation."""

    def edge_pairs(self) -> Iterator[Pair]:
        """The pairs to try first: the same every time, small datasets first, none twice."""

    def random_pair(self, rng: np.random.Generator) -> Pair:
        """A random pair."""

    def contains(self, pair: Pair) -> bool:
        """Whether the two datasets really are different neighbours, either way round."""

    def search(self, rng: np.random.Generator) -> Finder:
        """The finder that proposes pairs of this relation."""

    def describe(self) -> str:
        """The relation in one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedPairs:
    """The pairs that the user listed, and no others."""

    listed: tuple[Pair, ...]

    def edge_pairs(self) -> Iterator[Pair]:
        return iter(self.listed)

    def random_pair(self, rng: np.random.Generator) -> Pair:
        return self.listed[int(rng.integers(len(self.listed)))]

    def contains(self, pair: Pair) -> bool:
        return pair in self.listed or pair.swapped() in self.listed

    def search(self, rng: np.random.Generator) -> Finder:
        return _finder("fixed", self, rng)

    def describe(self) -> str:
        return f"{len(self.listed)} given pair{'s' if len(self.listed) != 1 else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOrRemoveOne:
    """One record more or less; `data` is the bigger dataset."""

    domain: Domain
    max_records: int
    min_records: int
    finder: str

    def edge_pairs(self) -> Iterator[Pair]:
        return _once(self._candidates())

    def random_pair(self, rng: np.random.Generator) -> Pair:
        size = _random_size(self.min_records + 1, self.max_records, rng)
        rest = _random_records(self.domain, size - 1, rng)
        record = rest[0] if rest and rng.random() < 0.25 else self.domain.draw(rng)
        place = int(rng.integers(size))
        return self._pair(rest[:place], record, rest[place:])

    def contains(self, pair: Pair) -> bool:
        bigger, smaller = _keys(self, pair.data), _keys(self, pair.neighbour)
        if bigger is None or smaller is None:
            return False
        if len(bigger) < len(smaller):
            bigger, smaller = smaller, bigger
        alike = 0
        while alike < len(smaller) and smaller[alike] == bigger[alike]:
            alike += 1
        return len(bigger) == len(smaller) + 1 and smaller[alike:] == bigger[alike + 1 :]

    def search(self, rng: np.random.Generator) -> Finder:
        return _finder(self.finder, self, rng)

    def describe(self) -> str:
        return f"add or remove one of {_sizes_in_words(self, 0)} of {self.domain}"

    def _candidates(self) -> Iterator[Pair]:
        edges = self.domain.edges()
        high, low = edges[0], edges[1 if len(edges) > 1 else 0]
        sizes = _edge_sizes(self.min_records + 1, self.max_records)
        for size in sizes:
            others = size - 1
            all_high, all_low = [high] * others, [low] * others
            half = [high] * (others // 2) + [low] * (others - others // 2)
            yield self._pair(all_low, high, [])
            yield self._pair(all_high, high, [])
            yield self._pair(all_high, low, [])
            yield self._pair(all_low, low, [])
            yield self._pair([], high, all_low)
            yield self._pair(half, high, [])
            yield self._pair(half, low, [])
            if size == sizes[:2][-1]:  # the less extreme records once, beside another record
                yield from (self._pair(all_low, edge, []) for edge in edges[2:])

    def _pair(self, before: list[Any], record: Any, after: list[Any]) -> Pair:
        data = self.domain.dataset([*before, record, *after])
        return Pair(data, self.domain.dataset([*before, *after]))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceOne:
    """One record replaced by another; both datasets have the same size."""

    domain: Domain
    max_records: int
    min_records: int
    finder: str

    def edge_pairs(self) -> Iterator[Pair]:
        return _once(self._candidates())

    def random_pair(self, rng: np.random.Generator) -> Pair:
        size = _random_size(self.min_records, self.max_records, rng)
        rest = _random_records(self.domain, size - 1, rng)
        old = rest[0] if rest and rng.random() < 0.25 else self.domain.draw(rng)
        place = int(rng.integers(size))
        return self._pair(rest[:place], old, _another(self.domain, old, rng), rest[place:])

    def contains(self, pair: Pair) -> bool:
        data, neighbour = _keys(self, pair.data), _keys(self, pair.neighbour)
        if data is None or neighbour is None or len(data) != len(neighbour):
            return False
        return sum(a != b for a, b in zip(data, neighbour, strict=True)) == 1

    def search(self, rng: np.random.Generator) -> Finder:
        return _finder(self.finder, self, rng)

    def describe(self) -> str:
        return f"replace one of {_sizes_in_words(self, 1)} of {self.domain}"

    def _candidates(self) -> Iterator[Pair]:
        edges = self.domain.edges()
        high, low, plain = edges[0], edges[1], edges[:3][-1]
        sizes = _edge_sizes(self.min_records, self.max_records)
        for size in sizes:
            others = size - 1
            half = [high] * (others // 2) + [low] * (others - others // 2)
            yield self._pair([low] * others, high, low, [])
            yield self._pair([high] * others, high, low, [])
            yield self._pair(half, high, low, [])
            yield self._pair([plain] * others, high, low, [])
            yield self._pair([], high, low, [low] * others)
            if size in sizes[:2]:  # the less extreme records, in the smallest datasets
                yield from (self._pair([low] * others, high, edge, []) for edge in edges[2:])
                yield from (self._pair([low] * others, low, edge, []) for edge in edges[2:4])

    def _pair(self, before: list[Any], old: Any, new: Any, after: list[Any]) -> Pair:
        data = self.domain.dataset([*before, old, *after])
        return Pair(data, self.domain.dataset([*before, new, *after]))


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryAnswers:
    """Answers of queries, each of which may move by the sensitivity, independently."""

    length: int
    sensitivity: float
    low: float
    high: float
    finder: str

    def edge_pairs(self) -> Iterator[Pair]:
        return _once(self._candidates())

    def random_pair(self, rng: np.random.Generator) -> Pair:
        origin, step = self._origin_and_step()
        for _ in range(TRIES):
            share = rng.random(self.length)
            if rng.random() < 0.5:
                data = origin + step * rng.integers(2, size=self.length)
            else:
                data = (1.0 - share) * self.low + share * self.high
            data = np.clip(data, self.low, self.high)
            moves = step * _random_signs(self.length, rng)
            if rng.random() < 0.25:
                moves = moves * rng.random(self.length)
            pair = Pair(data, self._reached(data, data + moves))
            if self.contains(pair):
                return pair
        return next(self.edge_pairs())

    def contains(self, pair: Pair) -> bool:
        try:
            data, neighbour = np.asarray(pair.data), np.asarray(pair.neighbour)
        except ValueError:
            return False
        for answers in (data, neighbour):
            if answers.shape != (self.length,) or answers.dtype.kind not in "fiu":
                return False
            if not np.all((self.low <= answers) & (answers <= self.high)):
                return False
        moves = np.abs(data.astype(np.float64) - neighbour.astype(np.float64))
        return bool(np.all(moves <= self.sensitivity) and np.any(moves > 0.0))

    def search(self, rng: np.random.Generator) -> Finder:
        return _finder(self.finder, self, rng)

    def describe(self) -> str:
        answers = "1 query answer" if self.length == 1 else f"{self.length} query answers"
        return (
            f"{answers} in [{self.low:g}, {self.high:g}], each moving by at most "
            f"{self.sensitivity:g}"
        )

    def _candidates(self) -> Iterator[Pair]:
        """The categories of Ding et al. (2018), the counterexamples of Lyu, Su and Li (2017)."""
        n, half = self.length, self.length // 2
        ones, zeros = np.ones(n), np.zeros(n)
        place = np.arange(n)
        left, first, last = place < max(half, 1), place == 0, place == n - 1
        even = place % 2 == 0
        shapes = [(left, ~left), (ones, zeros), (first, zeros), (last, zeros)]
        shapes += [(~left, left), (left, zeros), (~left, zeros), (even, ~even)]
        shapes += [(first, ~first), (last, ~last), (~first, ones)]
        for base in (zeros, ones):  # up here, down there, around a base answer
            for up in (ones > 0, left, ~left, first, ~first, last, even):
                shapes.append((base + np.where(up, 1, -1), base))
        origin, step = self._origin_and_step()
        for data, neighbour in shapes:
            start = np.clip(origin + step * np.asarray(data, np.float64), self.low, self.high)
            goal = origin + step * np.asarray(neighbour, np.float64)
            yield Pair(start, self._reached(start, goal))

    def _origin_and_step(self) -> tuple[float, float]:
        step = min(self.sensitivity, self.high - self.low)
        return (0.0 if self.low <= 0.0 and step <= self.high else self.low), step

    def _reached(self, data: NDArray[np.float64], goal: NDArray[np.float64]) -> NDArray[np.float64]:
        """The answers nearest to the goal that the sensitivity and the range allow."""
        moved = np.clip(goal, data - self.sensitivity, data + self.sensitivity)
        moved = np.clip(moved, self.low, self.high)
        while np.any(far := np.abs(moved - data) > self.sensitivity):  # a sum was rounded up
            moved = np.where(far, np.nextafter(moved, data), moved)
        return moved


def pairs(listed: Iterable[Pair | tuple[Any, Any]]) -> FixedPairs:
    """The given pairs, in the given order.

    >>> pairs([([1.0], []), ([1.0, 2.0], [1.0])]).describe()
    '2 given pairs'
    """
    found = []
    for entry in listed:
        if not isinstance(entry, Pair) and not (isinstance(entry, tuple) and len(entry) == 2):
            raise TypeError(
                f"pairs needs Pairs or 2-tuples, got {_show(entry)}. Write pairs([(a, b), ...])."
            )
        found.append(entry if isinstance(entry, Pair) else Pair(*entry))
    if not found:
        raise InvalidRelation("pairs needs at least one pair, got none: pairs([(a, b)]).")
    return FixedPairs(listed=tuple(found))


def add_or_remove_one(
    domain: Domain, *, max_records: int = 10, min_records: int = 0, finder: str = "auto"
) -> AddOrRemoveOne:
    """Neighbours have one record more or less ("unbounded" differential privacy).

    Both datasets have `min_records` to `max_records` records; `min_records=1` spares a mechanism
    that cannot take empty data.

    >>> from dpaudit.domains import floats
    >>> print(next(add_or_remove_one(floats(0, 1)).edge_pairs()))
    data=[1.0], neighbour=[]
    """
    min_records, max_records = _sizes("add_or_remove_one", domain, min_records, max_records, 0)
    if max_records == min_records:
        raise InvalidRelation(
            f"add_or_remove_one needs max_records above min_records, got {max_records} for both."
        )
    return AddOrRemoveOne(
        domain=domain, max_records=max_records, min_records=min_records, finder=finder
    )


def replace_one(
    domain: Domain, *, max_records: int = 10, min_records: int = 1, finder: str = "auto"
) -> ReplaceOne:
    """Neighbours differ in one record ("bounded" differential privacy).

    >>> from dpaudit.domains import floats
    >>> print(next(replace_one(floats(-1, 1), max_records=5).edge_pairs()))
    data=[1.0], neighbour=[-1.0]
    """
    min_records, max_records = _sizes("replace_one", domain, min_records, max_records, 1)
    if len(domain.edges()) < 2:
        raise InvalidRelation(
            f"replace_one needs a domain with at least two records, got {domain}. Widen it."
        )
    return ReplaceOne(
        domain=domain, max_records=max_records, min_records=min_records, finder=finder
    )


def query_answers(
    length: int,
    sensitivity: float = 1,
    *,
    low: float | None = None,
    high: float | None = None,
    finder: str = "auto",
) -> QueryAnswers:
    """Data are the answers of queries; neighbours move every answer by at most the sensitivity.

    This is the setting of the sparse vector technique and of report-noisy-max. All answers lie in
    [low, high]; left out, the range is three sensitivities wide and starts one below zero.

    >>> print(next(query_answers(4).edge_pairs()))
    data=[1.0, 1.0, 0.0, 0.0], neighbour=[0.0, 0.0, 1.0, 1.0]
    """
    length = _count("query_answers", "length", length)
    if length < 1:
        raise InvalidRelation(f"query_answers needs a length of at least 1, got {length}.")
    for number in (sensitivity, low, high):
        if number is not None and not isinstance(number, Real):
            raise InvalidRelation(f"query_answers needs numbers, got {number!r}.")
    if not 0 < sensitivity < np.inf:
        raise InvalidRelation(
            f"query_answers needs a sensitivity in (0, inf), got {sensitivity!r}."
        )
    if low is None:
        low = -sensitivity if high is None else high - 3 * sensitivity
    if high is None:
        high = low + 3 * sensitivity
    if not low < high:
        raise InvalidRelation(f"query_answers needs low < high, got low={low!r}, high={high!r}.")
    if not max(abs(low), abs(high)) + 2.0 * sensitivity < np.inf:
        raise InvalidRelation(
            f"query_answers needs finite answers, got {sensitivity!r} around [{low!r}, {high!r}]."
        )
    if low + sensitivity == low or high - sensitivity == high:
        raise InvalidRelation(
            f"the sensitivity {sensitivity!r} vanishes beside answers in [{low!r}, {high!r}]."
        )
    return QueryAnswers(
        length=length,
        sensitivity=float(sensitivity),
        low=float(low),
        high=float(high),
        finder=finder,
    )


def as_finder(neighbours: Any, rng: np.random.Generator) -> Finder:
    """What proposes the pairs: a relation's finder, the user's own, or one for a list of pairs.

    >>> finder = as_finder([([1.0], [])], np.random.default_rng(0))
    >>> print(finder.ask(), finder.ask())
    data=[1.0], neighbour=[] None
    """
    if isinstance(neighbours, (list, tuple)):
        return pairs(neighbours).search(rng)
    if not isinstance(neighbours, type):  # a class has the methods too, but nobody to call them on
        if isinstance(neighbours, Relation):
            return neighbours.search(rng)
        if all(callable(getattr(neighbours, name, None)) for name in ("ask", "tell")):
            finder: Finder = neighbours
            return finder
    raise TypeError(
        f"neighbours must be a relation such as replace_one(floats(0, 1)), a list of pairs, or an "
        f"object with ask() and tell(pair, score), got {_show(neighbours)}."
    )


def canonical(value: Any) -> str:
    """A text that two values share only if a mechanism could not tell them apart.

    >>> canonical({"b": 0.1, "a": [1, True]})
    "{'a': [1, True], 'b': 0.1}"
    """
    if isinstance(value, np.generic) and value.dtype.kind in "biufcUS":
        return repr(value.item())
    if isinstance(value, (np.ndarray, np.generic)) and not value.dtype.hasobject:
        numbers = value.dtype.kind in "biuf" and value.size <= 1000
        inside = repr(value.tolist()) if numbers else hashlib.sha256(value.tobytes()).hexdigest()
        return f"array({value.dtype.str}, {value.shape}, {inside})"
    if type(value) in (bool, int, float, complex, str, bytes, type(None)):
        return repr(value)
    if type(value) is list:
        return f"[{', '.join(map(canonical, value))}]"
    if type(value) is tuple:
        return f"({', '.join(map(canonical, value))},)"
    if type(value) is dict:
        items = sorted((canonical(name), canonical(entry)) for name, entry in value.items())
        return f"{{{', '.join(f'{name}: {entry}' for name, entry in items)}}}"
    if type(value) in (set, frozenset):
        return f"{type(value).__name__}({', '.join(sorted(map(canonical, value)))})"
    try:
        digest = hashlib.sha256(pickle.dumps(value)).hexdigest()
    except Exception:  # not every object can be pickled: then only itself is equal to it
        digest = f"at {id(value)}"
    return f"{type(value).__qualname__}({digest})"


def _finder(name: str, relation: Relation, rng: np.random.Generator) -> Finder:
    from dpaudit.finders import make_finder  # finders build on neighbours

    return make_finder(name, relation, rng)


def _once(candidates: Iterable[Pair]) -> Iterator[Pair]:
    seen: set[str] = set()
    for pair in candidates:
        key = pair.key()
        if key not in seen and canonical(pair.data) != canonical(pair.neighbour):
            seen.add(key)
            yield pair


def _keys(relation: AddOrRemoveOne | ReplaceOne, data: Any) -> list[str] | None:
    """The canonical records of a dataset; None if it is not a dataset of the relation."""
    domain = relation.domain
    try:
        found = domain.unpack(data)
    except (ValueError, TypeError):
        return None
    if not relation.min_records <= len(found) <= relation.max_records:
        return None
    return [canonical(record) for record in found] if all(map(domain.contains, found)) else None


def _edge_sizes(fewest: int, most: int) -> list[int]:
    return sorted({size for size in (fewest, fewest + 1, fewest + 2, most) if size <= most})


def _random_size(fewest: int, most: int, rng: np.random.Generator) -> int:
    """Log-uniform: small datasets are the likely ones, the biggest still turn up."""
    return min(most, int(fewest * ((most + 1) / fewest) ** rng.random()))


def _random_records(domain: Domain, size: int, rng: np.random.Generator) -> list[Any]:
    """All equal, of two values, or each drawn anew (half of the time)."""
    kind = rng.integers(4)
    if kind == 0:
        return [domain.draw(rng)] * size
    if kind == 1:
        values = [domain.draw(rng), domain.draw(rng)]
        return [values[which] for which in rng.integers(2, size=size)]
    return [domain.draw(rng) for _ in range(size)]


def _random_signs(length: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """All the same way, one part against the rest, or each its own (half of the time)."""
    kind = rng.integers(4)
    if kind > 1:
        return rng.integers(-1, 2, size=length)
    split = int(rng.integers(length)) if kind == 1 else 0
    signs = np.where(np.arange(length) < split, -1, 1)
    return signs if rng.random() < 0.5 else -signs


def _another(domain: Domain, record: Any, rng: np.random.Generator) -> Any:
    for _ in range(TRIES):
        if canonical(drawn := domain.draw(rng)) != canonical(record):
            return drawn
    return next(edge for edge in domain.edges() if canonical(edge) != canonical(record))


def _sizes(name: str, domain: Any, least: Any, most: Any, fewest: int) -> tuple[int, int]:
    if isinstance(domain, type) or not isinstance(domain, Domain):
        raise TypeError(f"{name} needs a domain such as floats(0, 1), got {domain!r}.")
    least, most = _count(name, "min_records", least), _count(name, "max_records", most)
    if least < fewest:
        raise InvalidRelation(f"{name} needs min_records of at least {fewest}, got {least}.")
    if most < max(least, 1):
        raise InvalidRelation(
            f"{name} needs max_records of at least {max(least, 1)}, got {most}. Raise it."
        )
    return least, most


def _count(name: str, what: str, number: Any) -> int:
    try:
        return operator.index(number)
    except TypeError as error:
        raise InvalidRelation(f"{name} needs a whole number for {what}, got {number!r}.") from error


def _sizes_in_words(relation: AddOrRemoveOne | ReplaceOne, fewest: int) -> str:
    least, most = relation.min_records, relation.max_records
    if least == most:
        return f"{most} record{'s' if most != 1 else ''}"
    return f"at most {most} records" if least <= fewest else f"{least} to {most} records"


def _show(value: Any) -> str:
    """The value in one line, long ones elided in the middle."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (list, tuple, np.ndarray)):
        long = len(value) > SHOWN
        head, tail = (value[: SHOWN // 2], value[-SHOWN // 2 :]) if long else (value, ())
        shown = [_show(entry) for entry in head]
        if long:
            shown += ["...", *(_show(entry) for entry in tail)]
        return f"[{', '.join(shown)}]"
    if isinstance(value, dict) and len(value) <= SHOWN:
        return f"{{{', '.join(f'{name!r}: {_show(entry)}' for name, entry in value.items())}}}"
    text = " ".join(repr(value).splitlines())
    return text if len(text) <= 80 else f"{text[:38]} ... {text[-38:]}"
