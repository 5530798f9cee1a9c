"""Records that are arrays of numbers, lists of other records, or texts, which are tokens joined."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.architecture import Chooser, Domain
from dpaudit.arrays import Floats
from dpaudit.domains.categories import Categories, elided, one_by_one
from dpaudit.domains.domain import (
    MAX_SIMPLER,
    ODD_SHARE,
    Refinable,
    distinct,
    first_why_not,
    is_domain,
    one_of,
    refinable,
    whole,
)
from dpaudit.domains.ranges import (
    FloatRange,
    as_array,
    between,
    bounds,
    chosen_whole,
    share_of,
    short,
    spread_whole,
)
from dpaudit.domains.records import Parts, Product
from dpaudit.errors import InvalidDomain

ODD_TEXTS = ("", " ", "\x00", "e\u0301", "a" * 10_000)  # the fourth: e and a separate accent


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors(Product):
    """Arrays of a fixed length, every entry between two bounds.

    Where odd values are allowed, any entry may be odd; what is drawn has one odd entry or all.
    """

    length: int
    plain: FloatRange
    entry: Refinable  # `plain`, with odd values where they are allowed

    def plain_edges(self) -> tuple[Floats, ...]:
        low, high, plain = self.plain.low, self.plain.high, self._plainest()
        places, ends = np.arange(self.length), ((0, high), (0, low), (self.length - 1, high))
        rows = [np.full(self.length, level) for level in (high, low, plain)]
        rows += [np.where(places == end, level, plain) for end, level in ends]
        rows.append(np.where(places % 2 == 0, high, low))
        return tuple({row.tobytes(): row for row in rows}.values())

    def draw(self, rng: np.random.Generator) -> Any:
        if not (odd := self.entry.odd_values()):
            return Refinable.draw(self, rng)
        row = self.without_odd_values().draw(rng)
        if rng.random() < ODD_SHARE:
            number = one_of(odd, rng)
            row[one_of((slice(None), int(rng.integers(self.length))), rng)] = number
        return row

    def draw_anywhere(self, rng: np.random.Generator) -> Floats:
        share, low, high = rng.random(self.length), self.plain.low, self.plain.high
        return np.clip((1.0 - share) * low + share * high, low, high)

    def dataset(self, records: Sequence[Any]) -> Floats:
        return np.array(list(records), dtype=np.float64).reshape(len(records), self.length)

    def unpack(self, data: Any) -> list[Floats]:
        table = as_array(data, self, kinds="fiu", ndim=2)
        if len(table) and table.shape[1] != self.length:
            raise InvalidDomain(f"a dataset of {self} has {self.length} columns, got {data!r}.")
        return [row.astype(np.float64) for row in table]

    def contains(self, record: Any) -> bool:
        row = _as_row(record)
        if row is None or row.shape != (self.length,):
            return False
        plain = np.all((self.plain.low <= row) & (row <= self.plain.high))
        return bool(plain) or all(map(self.entry.contains, self.values(row)))

    def why_not_part(self, record: Any) -> str | None:
        row = _as_row(record)
        if row is None:
            return None
        if row.shape != (self.length,):
            return f"a vector of shape {row.shape}, where {self} has {self.length} entries"
        numbers = enumerate(self.values(row))
        return first_why_not((f"entry {i}", self.entry, number) for i, number in numbers)

    def with_odd_values(self) -> Vectors:
        return replace(self, entry=self.plain.with_odd_values())

    def without_odd_values(self) -> Vectors:
        return replace(self, entry=self.plain)

    def odd_values(self) -> tuple[Floats, ...]:
        """Vectors with only the first entry odd and with all odd, in turn, as edges are few."""
        odd, rest = self.entry.odd_values(), [self._plainest()] * (self.length - 1)
        one = [self.joined([number, *rest]) for number in odd]
        every = [self.joined([number] * self.length) for number in odd]
        turns = [(one, every)[place % 2][place] for place in range(len(odd))]
        return distinct([*turns, *one, *every])

    def parts(self) -> Parts:
        return Parts([self.entry] * self.length)

    def labels(self, name: str) -> list[str]:
        return [f"{name}[{place}]" for place in range(self.length)]

    def values(self, record: Any) -> list[float]:
        return [float(number) for number in np.asarray(record, dtype=np.float64).tolist()]

    def joined(self, values: Iterable[float]) -> Floats:
        return np.array(list(values), dtype=np.float64)

    def __str__(self) -> str:
        odd = " and odd values" if self.entry.odd_values() else ""
        return f"vectors({self.length}, {short(self.plain.low)}, {short(self.plain.high)}){odd}"

    def _plainest(self) -> float:
        return 0.0 if self.plain.contains(0.0) else between(self.plain.low, self.plain.high, 0.5)


def vectors(length: int, low: float, high: float) -> Vectors:
    """Records that are arrays of a fixed length with every entry in [low, high].

    >>> vectors(2, 0, 1).dataset([]).shape
    (0, 2)
    """
    length = whole("vectors", "length", length)
    if length < 1:
        raise InvalidDomain(f"vectors needs a length of at least 1, got {length}.")
    low, high = bounds("vectors", low, high)
    plain = FloatRange(low=low, high=high)
    return Vectors(length=length, plain=plain, entry=plain)


def _as_row(record: Any) -> NDArray[Any] | None:
    try:
        row = np.asarray(record)
    except ValueError:  # lists within lists, of different lengths
        return None
    return row if row.dtype.kind in "fiu" else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lists(Refinable):
    """Lists of records of another domain, of bounded length."""

    domain: Refinable
    min_length: int
    max_length: int

    def plain_edges(self) -> tuple[list[Any], ...]:
        """The longest and the shortest lists of the first two edges, and a mixed one."""
        tops = self.domain.edges()
        high, low = tops[0], tops[:2][-1]
        fewest, one, most = self.min_length, max(self.min_length, 1), self.max_length
        found = [[high] * most, [low] * fewest, [high] * one, [low] * one, [low] * most]
        found.append([(high, low)[place % 2] for place in range(most)])
        return distinct(record for record in found if len(record) <= most)

    def draw_anywhere(self, rng: np.random.Generator) -> list[Any]:
        length = int(rng.integers(self.min_length, self.max_length, endpoint=True))
        return self._parts(length).draw(rng)

    def released(self, record: Sequence[Any]) -> list[Any]:
        return [self.domain.released(entry) for entry in record]

    def restored(self, seen: Any) -> list[Any]:
        if not isinstance(seen, list):
            raise InvalidDomain(f"a dataset of {self} is a list of lists, got {seen!r} in it.")
        return [self.domain.restored(entry) for entry in seen]

    def contains(self, record: Any) -> bool:
        if not isinstance(record, list) or not self.min_length <= len(record) <= self.max_length:
            return False
        return all(map(self.domain.contains, record))

    def why_not_part(self, record: Any) -> str | None:
        if not isinstance(record, list):
            return None
        if not self.min_length <= len(record) <= self.max_length:
            bounds = f"{self.min_length} to {self.max_length}"
            return f"a list of {len(record)} entries, where {self} has {bounds}"
        return first_why_not((f"entry {i}", self.domain, one) for i, one in enumerate(record))

    def choose(self, chooser: Chooser, name: str) -> list[Any]:
        length = chosen_whole(chooser, f"{name}#length", self.min_length, self.max_length)
        labels = [f"{name}[{place}]" for place in range(length)]
        return self._parts(length).choose(chooser, name, labels)

    def coordinates(self, record: Sequence[Any]) -> tuple[float, ...]:
        """The length, then those of the entries, then zeros for entries that a longer list has."""
        length = share_of(len(record), self.min_length, self.max_length)
        entries = self._parts(len(record)).coordinates(record)
        each = len(self.domain.coordinates(self.domain.edges()[0]))
        return (length, *entries, *(0.0,) * (each * (self.max_length - len(record))))

    def near(self, record: Sequence[Any], rng: np.random.Generator) -> Any:
        """One or a few entries changed, or an entry more or less."""
        length = len(record)
        ways = ["change"] * (2 if length > 0 else 0)
        ways += ["grow"] if length < self.max_length else []
        ways += ["cut"] if length > self.min_length else []

        def change() -> list[Any]:
            entries = list(record)
            match one_of(ways, rng) if ways else None:
                case "change":
                    return self._parts(length).changed(entries, rng)
                case "grow":  # by a new entry, or by a copy of one
                    copies = length > 0 and rng.random() < 0.5
                    source = entries if copies else [self.domain.draw(rng)]
                    entries.insert(int(rng.integers(length + 1)), one_of(source, rng))
                case "cut":
                    del entries[int(rng.integers(length))]
            return entries

        return self.moved(list(record), rng, change)

    def plainness(self, record: Sequence[Any]) -> float:
        """One for each entry, and the plainness of the entry."""
        return len(record) + sum(map(self.domain.plainness, record))

    def simpler(self, record: Sequence[Any]) -> tuple[list[Any], ...]:
        """Shorter lists, and lists with plainer entries."""
        entries, half = list(record), len(record) // 2
        shorter = [entries[: self.min_length], entries[:half], entries[half:]]
        places = dict.fromkeys((len(entries) - 1, 0, half))
        shorter += [entries[:place] + entries[place + 1 :] for place in places]
        plain = self._parts(len(entries)).simplified(entries)
        return self.plainer(entries, (*shorter, *plain[: MAX_SIMPLER - len(shorter)]))

    def grid(self, points: int) -> tuple[list[Any], ...]:
        lengths = spread_whole(self.min_length, self.max_length, max(1, int(points**0.5)))
        share = max(1, points // len(lengths))
        rows = (row for length in lengths for row in self._parts(length).spread(share))
        return distinct((*self.edges(), *map(list, rows)))

    def with_odd_values(self) -> Lists:
        return replace(self, domain=self.domain.with_odd_values())

    def without_odd_values(self) -> Lists:
        return replace(self, domain=self.domain.without_odd_values())

    def odd_values(self) -> tuple[list[Any], ...]:
        """The shortest lists whose first entry is odd."""
        if self.max_length == 0:
            return ()
        rest = [self.domain.without_odd_values().edges()[0]] * (self.min_length - 1)
        return tuple([odd, *rest] for odd in self.domain.odd_values())

    def __str__(self) -> str:
        least = f", min_length={self.min_length}" if self.min_length > 0 else ""
        return f"lists({self.domain}, {self.max_length}{least})"

    def _parts(self, length: int) -> Parts:
        return Parts([self.domain] * length)


def lists(domain: Domain, max_length: int, min_length: int = 0) -> Lists:
    """Records that are themselves lists of records of another domain.

    >>> from dpaudit.domains import integers
    >>> lists(integers(0, 9), 3).edges()[:3]
    ([9, 9, 9], [], [9])
    """
    if not is_domain(domain):
        raise InvalidDomain(f"lists needs a domain such as floats(0, 1), got {domain!r}.")
    most = whole("lists", "max_length", max_length)
    least = whole("lists", "min_length", min_length)
    if not 0 <= least <= most:
        raise InvalidDomain(
            f"lists needs 0 <= min_length <= max_length, got min_length={least}, max_length={most}."
        )
    return Lists(domain=refinable(domain), min_length=least, max_length=most)


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts(Refinable):
    """Texts of a few tokens joined by a separator. A dataset is a list of texts.

    A text is read as the fewest tokens that make it up.
    """

    tokens: tuple[str, ...]
    min_tokens: int
    max_tokens: int
    separator: str

    def edges(self) -> tuple[str, ...]:
        return self._joined(self._lists().edges())

    def draw(self, rng: np.random.Generator) -> str:
        return self.separator.join(self._lists().draw(rng))

    def contains(self, record: Any) -> bool:
        return isinstance(record, str) and self._split(record) is not None

    def choose(self, chooser: Chooser, name: str) -> str:
        return self.separator.join(self._lists().choose(chooser, name))

    def coordinates(self, record: str) -> tuple[float, ...]:
        return self._lists().coordinates(self._tokens_of(record))

    def near(self, record: str, rng: np.random.Generator) -> Any:
        """A token changed, added or removed."""
        domain, tokens = self._lists(), self._tokens_of(record)
        return self.moved(record, rng, lambda: self.separator.join(domain.near(tokens, rng)))

    def plainness(self, record: str) -> float:
        """The number of tokens; between texts of as many tokens, those listed first are plainer."""
        tokens = self._tokens_of(record)
        places = sum(map(self.tokens.index, tokens))
        return len(tokens) + places / (1 + self.max_tokens * len(self.tokens))

    def simpler(self, record: str) -> tuple[str, ...]:
        return self.plainer(record, self._joined(self._lists().simpler(self._tokens_of(record))))

    def grid(self, points: int) -> tuple[str, ...]:
        return self._joined(self._lists().grid(points))

    def beyond(self) -> tuple[str, ...]:
        return tuple(text for text in ODD_TEXTS if not self.contains(text))

    def __str__(self) -> str:
        least = f", min_tokens={self.min_tokens}" if self.min_tokens != 1 else ""
        between = f", separator={self.separator!r}" if self.separator != " " else ""
        return f"texts({elided(self.tokens)}, max_tokens={self.max_tokens}{least}{between})"

    def _lists(self) -> Lists:
        words, least, most = Categories(values=self.tokens), self.min_tokens, self.max_tokens
        return Lists(domain=words, min_length=least, max_length=most)

    def _joined(self, lists: Sequence[Sequence[str]]) -> tuple[str, ...]:
        return distinct(map(self.separator.join, lists))

    def _tokens_of(self, record: str) -> list[str]:
        tokens = self._split(record)
        if tokens is None:
            raise InvalidDomain(f"{record!r} is no text of {self}.")
        return tokens

    def _split(self, text: str) -> list[str] | None:
        """The fewest tokens that make up the text; None if no allowed number of them does."""
        if text == "":
            return [] if self.min_tokens == 0 else None
        starts: dict[int, list[str]] = {0: []}  # the tokens up to there
        for count in range(1, self.max_tokens + 1):
            ends = {
                start + len(token): [*tokens, token]
                for start, tokens in sorted(starts.items())
                for token in self.tokens
                if text.startswith(token, start)
            }
            if len(text) in ends and count >= self.min_tokens:
                return ends[len(text)]
            gap = self.separator
            starts = {end + len(gap): ends[end] for end in ends if text.startswith(gap, end)}
        return None


def texts(*tokens: Any, max_tokens: int = 5, min_tokens: int = 1, separator: str = " ") -> Texts:
    """Records that are texts of these tokens, listed one by one or in one sequence.

    With `min_tokens=0` the empty text is one of them.

    >>> texts("yes", "no", max_tokens=2).edges()
    ('yes yes', 'no', 'yes', 'no no', 'yes no')
    """
    tokens = one_by_one(tokens)
    if not tokens:
        raise InvalidDomain('texts needs at least one token, got none: texts("a", "b").')
    for place, token in enumerate(tokens):
        if not isinstance(token, str) or token == "":
            raise InvalidDomain(f"a token must be a text that is not empty, got {token!r}.")
        if token in tokens[:place]:
            raise InvalidDomain(f"tokens must differ, got {token!r} twice. List it once.")
    if not isinstance(separator, str):
        raise InvalidDomain(f"texts needs a text for separator, got {separator!r}.")
    least, most = whole("texts", "min_tokens", min_tokens), whole("texts", "max_tokens", max_tokens)
    if not 0 <= least <= most or most < 1:
        raise InvalidDomain(
            f"texts needs 0 <= min_tokens <= max_tokens, and one token at least, got "
            f"min_tokens={least}, max_tokens={most}."
        )
    plain = tuple(map(str, tokens))
    return Texts(tokens=plain, min_tokens=least, max_tokens=most, separator=separator)
