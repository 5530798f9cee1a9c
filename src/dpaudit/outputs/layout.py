"""The columns known so far, and the places of the output they stand for."""

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from dpaudit.outputs.bits import FloatView, about_bits
from dpaudit.outputs.table import NONE

WORDS = ("missing", "NaN", "+inf", "-inf", "None")  # by the codes every column knows
MAX_COLUMNS = 256  # further places share one column of hashes
MAX_WORDS = 4096  # per column; further words share one
MAX_BITS = 16  # places whose bits have columns
OTHER = len(WORDS) + MAX_WORDS


@dataclass(slots=True)
class Column:
    """What a column has held so far: its words, and the kinds of its numbers."""

    name: str
    most_words: float = MAX_WORDS
    codes: dict[tuple[str, str], int] = field(default_factory=lambda: {("NoneType", "None"): NONE})
    words: list[str] = field(default_factory=list)
    kinds: set[str] = field(default_factory=set)
    counts_keys: bool = False  # the length of dicts, which their missing keys tell as well

    def code(self, key: tuple[str, str]) -> int:
        """Give the code of a word, a new one at first sight while there is room."""
        code = self.codes.get(key)
        if code is None:
            if len(self.words) >= self.most_words:
                return OTHER
            code = self.codes[key] = len(WORDS) + len(self.words)
            self.words.append(key[1])
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
    inside: dict[tuple[str, Any], "Place"] = field(default_factory=dict)


class Layout:
    """Columns in the order of their first sight, found by place.

    With `only`, the places of these names have columns and no others, and a column has room for
    every word. So what is written of an output does not depend on those before it.
    """

    def __init__(self, only: Collection[str] | None = None, floats: FloatView = "real") -> None:
        self.only = None if only is None else frozenset(name.rstrip("'") for name in only)
        about = (about_bits(name) for name in self.only or ())
        self._bits_of = frozenset(place for _, place in filter(None, about))
        self._bits_left = MAX_BITS if floats == "bits" else 0
        self.columns: list[Column] = []
        self.root = Place("output")
        self.rest = Place("output (rest)")

    def is_full(self) -> bool:
        """Tell whether a new place no longer gets a column of its own."""
        if self.only is not None:
            return False
        return len(self.columns) - (self.rest.column is not None) >= MAX_COLUMNS

    def beside(
        self, place: Place, kind: str, key: Any, name: str, *, varies: bool
    ) -> tuple[Place, bool] | None:
        """Where to write a length, a type or a message, and whether for every output.

        It gets a column once it varies. When there is no room for one, only the outputs that differ
        from those seen earlier are written, so that one odd output does not change the others.
        """
        if self.only is not None:
            return (self.place_inside(place, kind, key, name), True) if name in self.only else None
        if varies and (not self.is_full() or (kind, key) in place.inside):
            return self.place_inside(place, kind, key, name), True
        return (Place(name), False) if self.is_full() else None

    def column_of(self, place: Place) -> int | None:
        """Give the column of a leaf, a new one at first sight; None when there is no room."""
        if self.only is not None:
            return self._one_of_few(place)
        if place.column is None and (place is self.rest or not self.is_full()):
            names = {column.name for column in self.columns}
            name = place.name
            while name in names:  # {0: x} and [x] are two places with one name
                name += "'"
            place.column = len(self.columns)
            self.columns.append(Column(name))
        return place.column

    def _one_of_few(self, place: Place) -> int | None:
        """The column of a name, which [x] and {0: x} share; None for all but a few names."""
        assert self.only is not None
        if place.column is None and place.name in self.only:
            names = [column.name for column in self.columns]
            if place.name not in names:
                self.columns.append(Column(place.name, most_words=math.inf))
                names.append(place.name)
            place.column = names.index(place.name)
        return place.column

    def shows_bits(self, place: Place, *, floats: bool) -> bool:
        """Tell whether a place has columns of bits; it keeps them once it had floats."""
        if not place.shows_bits and floats and self._bits_left > 0:
            self._bits_left -= 1
            place.shows_bits = True
        return place.shows_bits or place.name in self._bits_of

    def place_inside(self, place: Place, kind: str, key: Any, name: str) -> Place:
        """Give a place inside a container, remembered while there is room for columns."""
        found = place.inside.get((kind, key))
        if found is None:
            found = Place(name)
            if not self.is_full():
                place.inside[kind, key] = found
        return found
