"""One batch of outputs, written column by column."""

import math
from collections.abc import Sequence, Set
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dpaudit.outputs.bits import bits_of, has_floats, name_of
from dpaudit.outputs.checked_outputs import Outputs
from dpaudit.outputs.forms import listed
from dpaudit.outputs.layout import Layout, Place
from dpaudit.outputs.leaves import (
    CONTAINERS,
    EMPTY,
    MESSAGE,
    RAISED,
    Key,
    Values,
    families,
    floats_of,
    hash_of,
    key_of,
    keys_of,
    number_kinds,
    too_big,
    type_name,
    without_addresses,
)
from dpaudit.outputs.table import MINUS_INF, MISSING, NAN, PLUS_INF, Codes, Floats, Table

_SHOWN_INSIDE = ("list", "dict")  # types
_MAX_DEPTH = 32  # deeper containers are words, so that a list inside itself ends

_Rows: TypeAlias = npt.NDArray[np.intp] | None  # None: every row
_Lengths: TypeAlias = npt.NDArray[np.int64]


def encoded(outputs: Outputs, layout: Layout) -> Table:
    """Turn outputs into a table, and add to the layout what is new in them."""
    numeric = isinstance(outputs, np.ndarray) and outputs.dtype.kind in "biufc"
    sheet = _TableBuilder(layout, len(outputs))
    if len(outputs) > 0:
        values = listed(outputs) if isinstance(outputs, np.ndarray) and not numeric else outputs
        sheet.write(layout.root, None, values, 0)
    return sheet.table()


class _TableBuilder:
    """The cells of one batch, until they are a table."""

    def __init__(self, layout: Layout, size: int) -> None:
        self._layout = layout
        self._size = size
        self._cells: dict[int, tuple[Floats, Codes | None]] = {}
        self._hashes = np.zeros(0, dtype=np.uint64)  # of what found no column, one per row

    def write(self, place: Place, rows: _Rows, values: Values, depth: int) -> None:
        """Write the values of some rows at a place, whatever they are."""
        if isinstance(values, np.ndarray):
            self._array(place, rows, values, depth)
            return
        self._types(place, rows, values)
        deep = depth >= _MAX_DEPTH
        parts = [
            (
                "word" if deep and family != "number" else family,
                rows if index is None else _chosen(rows, index),
                some,
            )
            for family, index, some in families(values)
        ]
        lengths = [
            (family, chosen, _lengths_of(some))
            for family, chosen, some in parts
            if family in CONTAINERS
        ]
        for position, (family, chosen, some) in enumerate(parts):
            if position == len(parts) - len(lengths):  # containers come last
                self._lengths(place, lengths)
            self._part(family, place, chosen, some, depth)

    def _part(self, family: str, place: Place, rows: _Rows, values: Values, depth: int) -> None:
        """Write values of one family."""
        match family:
            case "number":
                self._numbers(place, rows, values)
            case "word":
                self._words(place, rows, keys_of(values))
                self._members(place, rows, values)
            case "error":
                self._errors(place, rows, values)
            case "sequence":
                self._sequences(place, rows, values, depth)
            case "mapping":
                self._empty(place, rows, _lengths_of(values), "{}")
                self._mappings(place, rows, values, depth, "[]")
            case "object":
                self._mappings(place, rows, values, depth, ".")
            case "frame":
                self._frames(place, rows, values, depth)
            case "complex":
                values = np.asarray(values)
                for name, some in (("real", values.real), ("imag", values.imag)):
                    part = self._layout.place_inside(place, ".", name, f"{place.name}.{name}")
                    self._numbers(part, rows, some)

    def table(self) -> Table:
        """Give the batch, with nothing in the columns that were not written."""
        if len(self._hashes) > 0:
            self._write_rest()
        shape = (self._size, len(self._layout.columns))
        if shape[1] == 1 and 0 in self._cells:
            numbers, codes = self._cells[0]
            return Table(numbers[:, None], None if codes is None else codes[:, None])
        plain = len(self._cells) == shape[1] and all(c is None for _, c in self._cells.values())
        cells = np.zeros(shape)
        atoms = None if plain else np.full(shape, MISSING, dtype=np.int32)
        for column, (numbers, codes) in self._cells.items():
            cells[:, column] = numbers
            if atoms is not None:
                atoms[:, column] = -1 if codes is None else codes
        return Table(cells, atoms)

    def _numbers(self, place: Place, rows: _Rows, values: Values) -> None:
        big = too_big(values)
        if len(big) > 0:
            words = [int(values[i]) for i in big.tolist()]
            self._words(place, _chosen(rows, big), keys_of(words))
            small = np.setdiff1d(np.arange(len(values)), big)
            rows, values = _chosen(rows, small), [values[i] for i in small.tolist()]
        if len(values) == 0:
            return
        numbers = floats_of(values)
        column = self._layout.column_of(place)
        if column is not None:
            self._layout.columns[column].kinds |= number_kinds(values)
            self._put(column, rows, *_parted(numbers))
        elif self._layout.only is None:
            numbers[np.isnan(numbers)] = np.nan  # one NaN, and in the next line one zero
            self._fold(place.name, rows, (numbers + 0.0).view(np.uint64))
            return
        if self._layout.shows_bits(place, floats=has_floats(values)):
            self._bits(place, rows, numbers)

    def _bits(self, place: Place, rows: _Rows, numbers: Floats) -> None:
        """Write how finite floats are rounded, beside their values."""
        finite = np.flatnonzero(np.isfinite(numbers))
        if len(finite) < len(numbers):
            rows, numbers = _chosen(rows, finite), numbers[finite]
        for about, bits in bits_of(numbers).items():
            part = self._layout.place_inside(place, "bits", about, name_of(about, place.name))
            column = self._layout.column_of(part)
            if column is not None:
                self._layout.columns[column].kinds.add("int")
                self._put(column, rows, bits, None)

    def _words(self, place: Place, rows: _Rows, keys: Sequence[Key]) -> None:
        column = self._layout.column_of(place)
        if column is None:
            if self._layout.only is not None:
                return
            hashes = {key: hash_of(" ".join(key)) for key in dict.fromkeys(keys)}
            self._fold(place.name, rows, np.array([hashes[key] for key in keys], dtype=np.uint64))
            return
        code = self._layout.columns[column].code
        codes = np.array([code(key) for key in keys], dtype=np.int32)
        self._put(column, rows, np.zeros(len(codes)), codes)

    def _array(self, place: Place, rows: _Rows, values: npt.NDArray[Any], depth: int) -> None:
        """Write numbers, by position if they have more axes."""
        if values.ndim == 1:
            self._part("complex" if values.dtype.kind == "c" else "number", place, rows, values, 0)
            return
        self._type_words(place, rows, ["list"] * len(values), [False] * len(values))
        lengths = np.full(len(values), values.shape[1], dtype=np.int64)
        self._lengths(place, [("sequence", rows, lengths)])
        self._empty(place, rows, lengths, "[]")
        for position in range(values.shape[1]):
            self._array(self._at(place, position), rows, values[:, position], depth + 1)

    def _sequences(self, place: Place, rows: _Rows, values: Values, depth: int) -> None:
        """Write the elements by position; with the longest first each is touched once."""
        lengths = _lengths_of(values)
        self._empty(place, rows, lengths, "[]")
        falling = np.argsort(-lengths, kind="stable")
        counts = np.searchsorted(-lengths[falling], -np.arange(lengths.max()))
        for position, count in enumerate(counts.tolist()):
            part = self._at(place, position)
            if count == len(values):
                self.write(part, rows, [value[position] for value in values], depth + 1)
            else:
                some = [values[i][position] for i in falling[:count].tolist()]
                self.write(part, _chosen(rows, falling[:count]), some, depth + 1)

    def _mappings(
        self, place: Place, rows: _Rows, values: Values, depth: int, written: str
    ) -> None:
        """Write the values by key, or the fields by name where a dot is `written` before them."""
        for key, index, some in _by_key(values):
            name = f"{place.name}.{key}" if written == "." else _item(place, key)
            part = self._layout.place_inside(place, "." if written == "." else "{}", key, name)
            self.write(part, _some_rows(rows, index, len(values)), some, depth + 1)

    def _members(self, place: Place, rows: _Rows, values: Values) -> None:
        """Write for each element which sets it is in."""
        sets = [row for row, value in enumerate(values) if isinstance(value, Set)]
        if not sets:
            return
        some = _some_rows(rows, sets, len(values))
        elements = [dict.fromkeys(sorted(values[row], key=key_of), True) for row in sets]
        for key, index, found in _by_key(elements):
            name = f"{key_of(key)[1]} in {place.name}"
            part = self._layout.place_inside(place, "in", key, name)
            self._numbers(part, _some_rows(some, index, len(sets)), found)

    def _frames(self, place: Place, rows: _Rows, values: Values, depth: int) -> None:
        """Write frames by column and row; how many rows there are is one column for all."""
        for key, index, some in _by_key([value.entries for value in values]):
            part = self._layout.place_inside(place, "{}", key, _item(place, key))
            self._sequences(part, _some_rows(rows, index, len(values)), some, depth + 1)
        named = [row for row, value in enumerate(values) if value.labels is not None]
        if named:
            part = self._layout.place_inside(place, ".", "index", f"{place.name}.index")
            labels = [values[row].labels for row in named]
            self._sequences(part, _some_rows(rows, named, len(values)), labels, depth + 1)

    def _errors(self, place: Place, rows: _Rows, values: Values) -> None:
        """Write errors by their class, and what they say once it differs."""
        self._words(place, rows, [(RAISED, repr(error)) for error in values])
        messages = [without_addresses(error.message) for error in values]
        if place.message is None and not self._layout.is_full():
            place.message = messages[0]
        unlike = [message != place.message for message in messages]
        place.messages_vary |= any(unlike)
        self._beside(
            self._layout.beside(place, "error", None, MESSAGE, varies=place.messages_vary),
            rows,
            keys_of(messages),
            unlike,
        )

    def _types(self, place: Place, rows: _Rows, values: Values) -> None:
        """Write the types of words and containers at a place once words are not of one type.

        Lists and dicts show what they are by the places inside them.
        """
        known = {kind: type_name(kind) for kind in set(map(type, values))}
        names = {name for name in known.values() if name not in (None, *_SHOWN_INSIDE)}
        unlike = names - place.types
        if not self._layout.is_full():
            place.types.update(name for name in names if name is not None)
        said = [known[type(value)] for value in values]
        self._type_words(place, rows, said, [name in unlike for name in said])

    def _type_words(
        self, place: Place, rows: _Rows, said: Sequence[str | None], unlike: Sequence[bool]
    ) -> None:
        """Write what the types are called, once there are several."""
        name = f"type({place.name})"
        where = self._layout.beside(place, "type", None, name, varies=len(place.types) > 1)
        if where is None:
            return
        index = [row for row, one in enumerate(said) if one is not None]
        if index:
            some = _some_rows(rows, index, len(said))
            keys = [("type", one) for one in said if one is not None]
            self._beside(where, some, keys, [unlike[row] for row in index])

    def _beside(
        self,
        where: tuple[Place, bool] | None,
        rows: _Rows,
        keys: Sequence[Key],
        unlike: Sequence[bool],
    ) -> None:
        """Write words of all rows, or of those that are unlike the ones before."""
        if where is None:
            return
        part, whole = where
        if whole:
            self._words(part, rows, keys)
        elif any(unlike):
            odd = np.flatnonzero(unlike)
            self._words(part, _chosen(rows, odd), [keys[row] for row in odd.tolist()])

    def _at(self, place: Place, position: int) -> Place:
        return self._layout.place_inside(place, "[]", position, f"{place.name}[{position}]")

    def _lengths(self, place: Place, containers: list[tuple[str, _Rows, _Lengths]]) -> None:
        """Write the lengths of all containers at a place once they differ."""
        for _, _, lengths in containers:
            if place.length is None and not self._layout.is_full():
                place.length = int(lengths[0])
            place.length_varies |= bool(np.any(lengths != place.length))
        for family, rows, lengths in containers:
            frames = family == "frame"
            name = f"{place.name}.shape[0]" if frames else f"len({place.name})"
            where = self._layout.beside(place, "len", frames, name, varies=place.length_varies)
            if where is None:
                continue
            part, whole = where
            column = self._layout.column_of(part)
            if column is not None:
                of_dicts = {family for family, *_ in containers} == {"mapping"}
                self._layout.columns[column].counts_keys = of_dicts
            odd = np.flatnonzero(lengths != place.length)
            if whole:
                self._numbers(part, rows, lengths)
            elif len(odd) > 0:
                self._numbers(part, _chosen(rows, odd), lengths[odd])

    def _empty(self, place: Place, rows: _Rows, lengths: _Lengths, word: str) -> None:
        """Write containers without places inside as words, for they have no other column."""
        none = np.flatnonzero(lengths == 0)
        if len(none) > 0:
            self._words(place, _chosen(rows, none), [(EMPTY, word)] * len(none))

    def _put(self, column: int, rows: _Rows, numbers: Floats, codes: Codes | None) -> None:
        if rows is None:
            self._cells[column] = (numbers, codes)
            return
        missing = np.full(self._size, MISSING, dtype=np.int32)
        all_numbers, all_codes = self._cells.get(column, (np.zeros(self._size), missing))
        assert all_codes is not None  # what is written in parts has codes from the start
        all_numbers[rows] = numbers
        all_codes[rows] = -1 if codes is None else codes
        self._cells[column] = (all_numbers, all_codes)

    def _fold(self, name: str, rows: _Rows, hashes: npt.NDArray[np.uint64]) -> None:
        """Add leaves that found no column to the hashes of their rows; order does not matter."""
        if len(self._hashes) == 0:
            self._hashes = np.zeros(self._size, dtype=np.uint64)
        mixed = hashes ^ np.uint64(hash_of(name))
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # splitmix64
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        self._hashes[slice(None) if rows is None else rows] += mixed ^ (mixed >> np.uint64(31))

    def _write_rest(self) -> None:
        rows = np.flatnonzero(self._hashes)
        keys = [("rest", f"#{number:016x}") for number in self._hashes[rows].tolist()]
        self._words(self._layout.rest, rows, keys)


def _by_key(mappings: Values) -> list[tuple[Any, list[int], list[Any]]]:
    """Part the values of mappings by key: the key, which of them have it, and their values."""
    found: dict[Any, tuple[list[int], list[Any]]] = {}
    for row, mapping in enumerate(mappings):
        for key, value in mapping.items():
            key = math.nan if key != key else key  # one NaN for all
            index, some = found.setdefault(key, ([], []))
            index.append(row)
            some.append(value)
    return [(key, index, some) for key, (index, some) in found.items()]


def _item(place: Place, key: object) -> str:
    if isinstance(key, int | float) and math.isfinite(key) and key == int(key):
        key = int(key)  # 1, 1.0 and True are one key
    return f"{place.name}[{key_of(key)[1]}]"


def _some_rows(rows: _Rows, index: list[int], count: int) -> _Rows:
    """Give the positions of some of `count` rows; all of them stay as they are."""
    return rows if len(index) == count else _chosen(rows, np.array(index, dtype=np.intp))


def _lengths_of(values: Values) -> _Lengths:
    return np.fromiter(map(len, values), dtype=np.int64, count=len(values))


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


def _chosen(rows: _Rows, index: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Give the positions in the table of some of the rows."""
    return index if rows is None else rows[index]
