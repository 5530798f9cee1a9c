"""The columns known so far, and the places of the output they stand for."""

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
    codes: dict[tuple[str, str], int] = field(default_factory=lambda: {("NoneType", "None"): NONE})
    words: list[str] = field(default_factory=list)
    kinds: set[str] = field(default_factory=set)
    counts_keys: bool = False  # the length of dicts, which their missing keys tell as well

    def code(self, key: tuple[str, str]) -> int:
        """Give the code of a word, a new one at first sight while there is room."""
        code = self.codes.get(key)
        if code is None:
            if len(self.words) >= MAX_WORDS:
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
    """Columns in the order of their first sight, found by place."""

    def __init__(self, always: Collection[str] = (), floats: FloatView = "real") -> None:
        self.always = frozenset(always)  # columns that are there even where they do not vary
        about = (about_bits(name) for name in self.always)
        self._bits_of = frozenset(place for _, place in filter(None, about))
        self._bits_left = MAX_BITS if floats == "bits" else 0
        self.columns: list[Column] = []
        self.root = Place("output")
        self.rest = Place("output (rest)")

    def is_full(self) -> bool:
        """Tell whether a new place no longer gets a column of its own."""
        return len(self.columns) - (self.rest.column is not None) >= MAX_COLUMNS

    def column_of(self, place: Place) -> int | None:
        """Give the column of a leaf, a new one at first sight; None when there is no room."""
        if place.column is None and (place is self.rest or not self.is_full()):
            names = {column.name for column in self.columns}
            name = place.name
            while name in names:  # {0: x} and [x] are two places with one name
                name += "'"
            place.column = len(self.columns)
            self.columns.append(Column(name))
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
