"""A table of outputs: numbers, codes for what is not a number, and what its columns stand for."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats, Index
from dpaudit.outputs.leaves import (
    FloatView,
    Key,
    Values,
    about_bits,
    bits_of,
    floats_of,
    has_floats,
    hash_of,
    keys_of,
    number_kinds,
    too_big,
)

MISSING, NAN, PLUS_INF, MINUS_INF, NONE = 0, 1, 2, 3, 4  # codes every column knows
WORDS = ("missing", "NaN", "+inf", "-inf", "None")  # what they mean
MAX_COLUMNS = 256  # further places share one column of hashes
MAX_WORDS = 4096  # per column; further words share one
MAX_BITS = 16  # places whose bits have columns
OTHER = len(WORDS) + MAX_WORDS

Codes: TypeAlias = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Outputs, one per row: `numbers` where the cell is a finite number, codes in `atoms` else.

    >>> table = Table(np.array([[1.5], [0.0]]), np.array([[-1], [NAN]], dtype=np.int32))
    >>> len(table), table.columns, table.take([0]).codes().tolist()
    (2, 1, [[-1]])
    """

    numbers: Floats  # (rows, columns); 0.0 where the cell is an atom
    atoms: Codes | None  # (rows, columns); -1 where the cell is a number; None: no atoms at all

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def columns(self) -> int:
        """How many cells a row has."""
        return int(self.numbers.shape[1])

    def narrow(self, columns: int) -> Table:
        """The first columns only: the outputs as they looked before later fields were known."""
        return self if columns == self.columns else self.take((slice(None), slice(columns)))

    def as_known(self, known: Codes) -> Table:
        """Read the outputs as they looked when `known` were the highest codes of all columns.

        A later column is left out, and any later word is only a new word, whichever it is.
        """
        table = self.narrow(len(known))
        if table.atoms is None:
            return table
        return Table(table.numbers, np.minimum(table.atoms, known + np.int32(1)))

    def take(self, index: Any) -> Table:
        """Give the rows chosen by a mask, an array of positions or a slice."""
        return Table(self.numbers[index], None if self.atoms is None else self.atoms[index])

    def codes(self) -> Codes:
        """Give the atoms, made of -1s where there are none."""
        if self.atoms is None:
            return np.full(self.numbers.shape, -1, dtype=np.int32)
        return self.atoms


def stack(tables: Sequence[Table]) -> Table:
    """Put tables with the same columns below each other."""
    counts = [table.columns for table in tables]
    if len(set(counts)) != 1:
        raise ValueError(f"tables must have the same number of columns, got {counts}. Widen them.")
    numbers = np.concatenate([table.numbers for table in tables])
    if all(table.atoms is None for table in tables):
        return Table(numbers, None)
    return Table(numbers, np.concatenate([table.codes() for table in tables]))


@dataclass(slots=True)
class Column:
    """What a column has held so far: its words, and the kinds of its numbers."""

    name: str
    most_words: float
    codes: dict[Key, int] = field(default_factory=lambda: {("NoneType", "None"): NONE})
    words: list[Key] = field(default_factory=list)
    kinds: set[str] = field(default_factory=set)
    counts_keys: bool = False  # the length of dicts, which their missing keys tell as well

    def code(self, key: Key) -> int:
        """Give the code of a word, a new one at first sight while there is room."""
        code = self.codes.get(key)
        if code is None:
            if len(self.words) >= self.most_words:
                return OTHER
            code = self.codes[key] = len(WORDS) + len(self.words)
            self.words.append(key)
        return code


@dataclass(slots=True)
class Place:
    """A place in the output: its column, if a leaf was seen there, and the places inside it."""

    name: str
    column: int | None = None
    length: int | None = None  # of the first container seen here
    length_varies: bool = False
    types: set[str] = field(default_factory=set)  # of the words seen here
    message: str | None = None  # of the first error seen here
    messages_vary: bool = False
    shows_bits: bool = False
    inside: dict[tuple[str, Any], Place] = field(default_factory=dict)


class Layout:
    """Columns in the order of their first sight, found by place.

    With `only`, the places of these names have columns and no others, and a column has room for
    every word. So what is written of an output does not depend on those before it.
    """

    def __init__(self, only: Collection[str] | None, floats: FloatView) -> None:
        self.only = None if only is None else frozenset(name.rstrip("'") for name in only)
        about = (about_bits(name) for name in self.only or ())
        self._bits_of = frozenset(place for _, place in filter(None, about))
        self._bits_left = MAX_BITS if floats == "bits" else 0
        self.columns: list[Column] = []
        self.root = Place("output")
        self.rest = Place("output (rest)")

    def is_full(self) -> bool:
        """Tell whether a new place no longer gets a column of its own."""
        own = len(self.columns) - (self.rest.column is not None)
        return self.only is None and own >= MAX_COLUMNS

    def inside(self, place: Place, kind: str, key: Any, name: str) -> Place:
        """Give a place inside a container, remembered while there is room for columns."""
        found = place.inside.get((kind, key))
        if found is None:
            found = Place(name)
            if not self.is_full():
                place.inside[kind, key] = found
        return found

    def beside(
        self, place: Place, kind: str, key: Any, name: str, *, varies: bool
    ) -> tuple[Place, bool] | None:
        """Where to write a length, a type or a message, and whether for every output.

        It gets a column once it varies. When there is no room for one, only the outputs that differ
        from those seen earlier are written, so that one odd output does not change the others.
        """
        if self.only is not None:
            return (self.inside(place, kind, key, name), True) if name in self.only else None
        if varies and (not self.is_full() or (kind, key) in place.inside):
            return self.inside(place, kind, key, name), True
        return (Place(name), False) if self.is_full() else None

    def column_of(self, place: Place) -> int | None:
        """Give the column of a leaf, a new one at first sight; None when there is no room."""
        room = place is self.rest or not self.is_full()
        if place.column is None and (room if self.only is None else place.name in self.only):
            names = [column.name for column in self.columns]
            name = place.name
            while name in names and self.only is None:
                name += "'"  # {0: x} and [x] are two places with one name
            if name not in names:
                names.append(name)
                most = MAX_WORDS if self.only is None else math.inf
                self.columns.append(Column(name, most))
            place.column = names.index(name)
        return place.column

    def shows_bits(self, place: Place, *, floats: bool) -> bool:
        """Tell whether a place has columns of bits; it keeps them once it had floats."""
        if not place.shows_bits and floats and self._bits_left > 0:
            self._bits_left -= 1
            place.shows_bits = True
        return place.shows_bits or place.name in self._bits_of


class Cells:
    """The cells of one batch, written column by column until they are a table."""

    def __init__(self, layout: Layout, size: int) -> None:
        self.layout = layout
        self.rows = np.arange(size)  # all of them
        self._written: dict[int, tuple[Floats, Codes | None]] = {}
        self._hashes = np.zeros(0, dtype=np.uint64)  # of what found no column, one per row

    def table(self) -> Table:
        """Give the batch, with nothing in the columns that were not written."""
        if len(self._hashes) > 0:
            odd = np.flatnonzero(self._hashes)
            keys = [("rest", f"#{number:016x}") for number in self._hashes[odd].tolist()]
            self.words(self.layout.rest, odd, keys)
        shape = (len(self.rows), len(self.layout.columns))
        if shape[1] == 1 and 0 in self._written:
            numbers, codes = self._written[0]
            return Table(numbers[:, None], None if codes is None else codes[:, None])
        plain = len(self._written) == shape[1] and all(c is None for _, c in self._written.values())
        cells = np.zeros(shape)
        atoms = None if plain else np.full(shape, MISSING, dtype=np.int32)
        for column, (numbers, codes) in self._written.items():
            cells[:, column] = numbers
            if atoms is not None:
                atoms[:, column] = -1 if codes is None else codes
        return Table(cells, atoms)

    def numbers(self, place: Place, rows: Index, values: Values) -> None:
        """Write numbers of some rows: large integers as words, and bits beside floats."""
        big = too_big(values)
        if len(big) > 0:
            self.words(place, rows[big], keys_of([int(values[i]) for i in big.tolist()]))
            small = np.setdiff1d(np.arange(len(values)), big)
            rows, values = rows[small], [values[i] for i in small.tolist()]
        if len(values) == 0:
            return
        numbers = floats_of(values)
        column = self.layout.column_of(place)
        if column is not None:
            self.layout.columns[column].kinds |= number_kinds(values)
            self._put(column, rows, *_parted(numbers))
        elif self.layout.only is None:
            numbers[np.isnan(numbers)] = np.nan  # one NaN, and in the next line one zero
            self._fold(place.name, rows, (numbers + 0.0).view(np.uint64))
            return
        if self.layout.shows_bits(place, floats=has_floats(values)):
            self._bits(place, rows, numbers)

    def words(self, place: Place, rows: Index, keys: Sequence[Key]) -> None:
        """Write words of some rows."""
        column = self.layout.column_of(place)
        if column is not None:
            codes = np.array([self.layout.columns[column].code(key) for key in keys], np.int32)
            self._put(column, rows, np.zeros(len(codes)), codes)
        elif self.layout.only is None:
            hashes = {key: hash_of(" ".join(key)) for key in dict.fromkeys(keys)}
            self._fold(place.name, rows, np.array([hashes[key] for key in keys], dtype=np.uint64))

    def _bits(self, place: Place, rows: Index, numbers: Floats) -> None:
        finite = np.flatnonzero(np.isfinite(numbers))
        if len(finite) < len(numbers):
            rows, numbers = rows[finite], numbers[finite]
        for about, bits in bits_of(numbers).items():
            part = self.layout.inside(place, "bits", about, f"{about}({place.name})")
            column = self.layout.column_of(part)
            if column is not None:
                self.layout.columns[column].kinds.add("int")
                self._put(column, rows, bits, None)

    def _put(self, column: int, rows: Index, numbers: Floats, codes: Codes | None) -> None:
        if rows is self.rows:
            self._written[column] = (numbers, codes)
            return
        missing = np.full(len(self.rows), MISSING, dtype=np.int32)
        found = self._written.get(column, (np.zeros(len(self.rows)), missing))
        assert found[1] is not None  # what is written in parts has codes from the start
        found[0][rows] = numbers
        found[1][rows] = -1 if codes is None else codes
        self._written[column] = found

    def _fold(self, name: str, rows: Index, hashes: npt.NDArray[np.uint64]) -> None:
        """Add leaves that found no column to the hashes of their rows; order does not matter."""
        if len(self._hashes) == 0:
            self._hashes = np.zeros(len(self.rows), dtype=np.uint64)
        mixed = hashes ^ np.uint64(hash_of(name))
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # splitmix64
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        self._hashes[rows] += mixed ^ (mixed >> np.uint64(31))


def _parted(numbers: Floats) -> tuple[Floats, Codes | None]:
    """Part finite numbers from the three that are not."""
    finite = np.isfinite(numbers)
    if finite.all():
        return numbers, None
    codes = np.full(len(numbers), -1, dtype=np.int32)
    codes[np.isnan(numbers)] = NAN
    codes[np.isposinf(numbers)] = PLUS_INF
    codes[np.isneginf(numbers)] = MINUS_INF
    return np.where(finite, numbers, 0.0), codes
