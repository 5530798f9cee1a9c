"""The way from outputs to tables and from cells back to words."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence, Set
from typing import Any

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Counts, Index
from dpaudit.outputs.checked_outputs import Outputs
from dpaudit.outputs.forms import listed
from dpaudit.outputs.leaves import (
    CONTAINERS,
    EMPTY,
    MESSAGE,
    RAISED,
    FloatView,
    Key,
    Values,
    families,
    key_of,
    keys_of,
    type_name,
    without_addresses,
)
from dpaudit.outputs.table import MISSING, OTHER, WORDS, Cells, Codes, Layout, Place, Table

_SHOWN_INSIDE = ("list", "dict")  # types that the places inside them show
_MAX_DEPTH = 32  # deeper containers are words, so that a list inside itself ends


class Encoder:
    """Turns outputs into tables; remembers columns and words so that all batches share them.

    Containers are flattened, so each place of an output has a column. Where lengths differ between
    draws, the length is a column too, and so are types (of words and containers) and messages (of
    errors). Lists, tuples and arrays are alike; so are 1, 1.0 and True. A column first seen in a
    later batch is missing from the earlier ones: see `widen`.

    >>> encoder = Encoder()
    >>> table = encoder.encode([{"count": 3, "tags": ["a", "b"]}, {"count": 4, "tags": ["a"]}])
    >>> encoder.names
    ("output['count']", "len(output['tags'])", "output['tags'][0]", "output['tags'][1]")
    >>> table.numbers[:, 0].tolist(), encoder.word(3, int(table.codes()[1, 3]))
    ([3.0, 4.0], 'missing')

    With `floats="bits"` a place with floats has columns for how they are rounded (`bits_of`).

    >>> encoder = Encoder(floats="bits")
    >>> encoder.encode([0.75]).numbers.tolist()
    [[0.75, -2.0, -1.0, 2.0, 0.0]]
    >>> encoder.names
    ('output', 'grain(output)', 'magnitude(output)', 'width(output)', 'last_bits(output)')
    """

    def __init__(self, *, floats: FloatView = "real", only: Collection[str] | None = None) -> None:
        """`only` names the columns to be made, lengths, types, messages and bits among them."""
        self._layout = Layout(only, floats)

    @property
    def names(self) -> tuple[str, ...]:
        """The place of each column: "output", "output[0]", "output['count']", "len(output)"."""
        return tuple(column.name for column in self._layout.columns)

    @property
    def first(self) -> tuple[int, ...]:
        """The columns to be spoken of first, if they tell enough: errors and types."""
        return tuple(
            number
            for number, column in enumerate(self._layout.columns)
            if column.name.startswith("type(") or any(kind == RAISED for kind, _ in column.codes)
        )

    @property
    def last(self) -> tuple[int, ...]:
        """The columns to be spoken of only if no other tells as much: how many keys a dict has."""
        columns = enumerate(self._layout.columns)
        return tuple(number for number, column in columns if column.counts_keys)

    @property
    def known(self) -> Codes:
        """The highest code of every column so far: what `Table.as_known` needs."""
        words = [len(column.words) for column in self._layout.columns]
        return np.array(words, dtype=np.int32) + np.int32(len(WORDS) - 1)

    def encode(self, outputs: Outputs) -> Table:
        """Turn one output per draw into one row per draw, with all columns known by then.

        In columns that were known before, the row of an output depends on nothing else in the
        batch, but for the codes of new words: see `Table.as_known`.
        """
        builder = _TableBuilder(self._layout, len(outputs))
        if len(outputs) > 0:
            words = isinstance(outputs, np.ndarray) and outputs.dtype.kind not in "biufc"
            values = listed(np.asarray(outputs)) if words else outputs
            builder.write(self._layout.root, builder.rows, values, 0)
        return builder.table()

    def widen(self, table: Table) -> Table:
        """Bring an older table to today's columns; it has nothing in the new ones."""
        new = len(self._layout.columns) - table.columns
        if new < 0:
            raise ValueError(
                f"a table with {table.columns} columns is not of this encoder, which has "
                f"{len(self._layout.columns)}. Use the encoder that made it."
            )
        if new == 0:
            return table
        missing = np.full((len(table), new), MISSING, dtype=np.int32)
        numbers = np.hstack((table.numbers, np.zeros(missing.shape)))
        return Table(numbers, np.hstack((table.codes(), missing)))

    def word(self, column: int, code: int) -> str:
        """Say what a code means: "NaN", "missing", "'yes'", ..."""
        if code < len(WORDS):
            return WORDS[code]
        return "other" if code == OTHER else self.key(column, code)[1]

    def codes(self, column: int) -> dict[Key, int]:
        """The codes of a column's words, by the type and the text of the word."""
        return dict(self._layout.columns[column].codes)

    def key(self, column: int, code: int) -> Key:
        """Give the type and the text of a word that not every column knows."""
        return self._layout.columns[column].words[code - len(WORDS)]

    def is_error(self, column: int, code: int) -> bool:
        """Tell whether a word stands for an error."""
        return len(WORDS) <= code < OTHER and self.key(column, code)[0] == RAISED

    def words_of(self, column: int, kind: str) -> tuple[str, ...]:
        """The words of a column, if all are of this kind and there were no numbers; else none.

        >>> encoder = Encoder()
        >>> _ = encoder.encode([{}, {"a": 3}])
        >>> encoder.words_of(encoder.names.index("output"), "container")
        ('{}',)
        """
        known = self._layout.columns[column]
        kinds = {each for each, _ in known.words}
        return tuple(text for _, text in known.words) if kinds == {kind} and not known.kinds else ()

    def value(self, column: int, number: float) -> str:
        """Write a number as this column's outputs are written: True, 3, 0.773."""
        return written(number, self._layout.columns[column].kinds)


def written(number: float, kinds: Collection[str]) -> str:
    """A number as it is written in a column of such kinds.

    >>> written(1.0, {"bool"}), written(1.0, {"float"}), written(0.773, {"float"})
    ('True', '1', '0.773')
    """
    if set(kinds) == {"bool"} and number in (0.0, 1.0):
        return str(bool(number))
    whole = float(number).is_integer() and ("float" not in kinds or abs(number) < 1e16)
    return str(int(number)) if whole else repr(float(number))


class _TableBuilder(Cells):
    """Writes the outputs of one batch, place by place."""

    def write(self, place: Place, rows: Index, values: Values, depth: int) -> None:
        """Write the values of some rows at a place, whatever they are."""
        if isinstance(values, np.ndarray):
            self._array(place, rows, values)
            return
        self._types(place, rows, values)
        deep = depth >= _MAX_DEPTH
        parts = [
            ("word" if deep and name != "number" else name, _some(rows, index), some)
            for name, index, some in families(values)
        ]
        lengths = [
            (family, chosen, _lengths_of(some))
            for family, chosen, some in parts
            if family in CONTAINERS
        ]
        for position, (family, chosen, some) in enumerate(parts):
            if position == len(parts) - len(lengths):  # containers come last
                self._lengths(place, lengths)
            self._part(family, place, chosen, some, depth + 1)

    def _part(self, family: str, place: Place, rows: Index, values: Values, depth: int) -> None:
        """Write values of one family, and what is inside them at a depth."""
        match family:
            case "number":
                self.numbers(place, rows, values)
            case "word":
                self.words(place, rows, keys_of(values))
                sets = [row for row, value in enumerate(values) if isinstance(value, Set)]
                members = [dict.fromkeys(sorted(values[row], key=key_of), True) for row in sets]
                for part, chosen, some in self._by_key(place, _some(rows, sets), members, "in"):
                    self.numbers(part, chosen, some)
            case "error":
                self._errors(place, rows, values)
            case "sequence":
                self._sequences(place, rows, values, depth)
            case "mapping" | "object":
                kind = "{}" if family == "mapping" else "."
                if family == "mapping":
                    self._empty(place, rows, _lengths_of(values), kind)
                for part, chosen, some in self._by_key(place, rows, values, kind):
                    self.write(part, chosen, some, depth)
            case "frame":
                self._frames(place, rows, values, depth)
            case "complex":
                values = np.asarray(values)
                for name, numbers in (("real", values.real), ("imag", values.imag)):
                    self.numbers(self._inside(place, ".", name), rows, numbers)

    def _array(self, place: Place, rows: Index, values: npt.NDArray[Any]) -> None:
        """Write numbers, by position if they have more axes."""
        if values.ndim == 1:
            self._part("complex" if values.dtype.kind == "c" else "number", place, rows, values, 0)
            return
        self._type_words(place, rows, ["list"] * len(values), set())
        lengths = np.full(len(values), values.shape[1], dtype=np.int64)
        self._lengths(place, [("sequence", rows, lengths)])
        self._empty(place, rows, lengths, "[]")
        for position in range(values.shape[1]):
            self._array(self._inside(place, "[]", position), rows, values[:, position])

    def _sequences(self, place: Place, rows: Index, values: Values, depth: int) -> None:
        """Write the elements by position; with the longest first each is touched once."""
        lengths = _lengths_of(values)
        self._empty(place, rows, lengths, "[]")
        falling = np.argsort(-lengths, kind="stable")
        counts = np.searchsorted(-lengths[falling], -np.arange(lengths.max()))
        for position, count in enumerate(counts.tolist()):
            index = falling[:count] if count < len(values) else np.arange(count)
            some = [values[i][position] for i in index.tolist()]
            self.write(self._inside(place, "[]", position), _some(rows, index), some, depth)

    def _frames(self, place: Place, rows: Index, values: Values, depth: int) -> None:
        """Write frames by column and row; how many rows there are is one column for all."""
        entries = [value.entries for value in values]
        for part, chosen, some in self._by_key(place, rows, entries, "{}"):
            self._sequences(part, chosen, some, depth)
        named = [row for row, value in enumerate(values) if value.labels is not None]
        if named:
            labels = [values[row].labels for row in named]
            self._sequences(self._inside(place, ".", "index"), _some(rows, named), labels, depth)

    def _by_key(
        self, place: Place, rows: Index, mappings: Values, kind: str
    ) -> Iterator[tuple[Place, Index, list[Any]]]:
        """Part the values of mappings by key: the place of a key, its rows, and its values."""
        found: dict[Any, tuple[list[int], list[Any]]] = {}
        for row, mapping in enumerate(mappings):
            for key, value in mapping.items():
                index, some = found.setdefault(math.nan if key != key else key, ([], []))
                index.append(row)
                some.append(value)
        for key, (index, some) in found.items():
            yield self._inside(place, kind, key), _some(rows, index), some

    def _inside(self, place: Place, kind: str, key: Any) -> Place:
        """The place of an entry `[]`, of a key `{}`, of a field `.` or of an element `in` it."""
        if kind == ".":
            name = f"{place.name}.{key}"
        elif kind == "in":
            name = f"{key_of(key)[1]} in {place.name}"
        elif isinstance(key, int | float) and math.isfinite(key) and key == int(key):
            name = f"{place.name}[{int(key)}]"  # 1, 1.0 and True are one key
        else:
            name = f"{place.name}[{key_of(key)[1]}]"
        return self.layout.inside(place, kind, key, name)

    def _errors(self, place: Place, rows: Index, values: Values) -> None:
        """Write errors by their class, and what they say once it differs."""
        self.words(place, rows, [(RAISED, repr(error)) for error in values])
        messages = [without_addresses(error.message) for error in values]
        if place.message is None and not self.layout.is_full():
            place.message = messages[0]
        unlike = [message != place.message for message in messages]
        place.messages_vary |= any(unlike)
        where = self.layout.beside(place, "error", None, MESSAGE, varies=place.messages_vary)
        _write_beside(self.words, where, rows, keys_of(messages), unlike)

    def _types(self, place: Place, rows: Index, values: Values) -> None:
        """Write the types of words and containers at a place once words are not of one type."""
        known = {kind: type_name(kind) for kind in set(map(type, values))}
        names = {name for name in known.values() if name not in (None, *_SHOWN_INSIDE)}
        unlike = names - place.types
        if not self.layout.is_full():
            place.types.update(name for name in names if name is not None)
        self._type_words(place, rows, [known[type(value)] for value in values], unlike)

    def _type_words(
        self, place: Place, rows: Index, said: Sequence[str | None], unlike: Collection[str | None]
    ) -> None:
        """Write what the types are called, once there are several."""
        varies, name = len(place.types) > 1, f"type({place.name})"
        where = self.layout.beside(place, "type", None, name, varies=varies)
        index = [] if where is None else [row for row, one in enumerate(said) if one is not None]
        if index:
            keys = [("type", one) for one in said if one is not None]
            odd = [said[row] in unlike for row in index]
            _write_beside(self.words, where, _some(rows, index), keys, odd)

    def _lengths(self, place: Place, containers: list[tuple[str, Index, Counts]]) -> None:
        """Write the lengths of all containers at a place once they differ."""
        for _, _, lengths in containers:
            if place.length is None and not self.layout.is_full():
                place.length = int(lengths[0])
            place.length_varies |= bool(np.any(lengths != place.length))
        for family, rows, lengths in containers:
            frames = family == "frame"
            name = f"{place.name}.shape[0]" if frames else f"len({place.name})"
            where = self.layout.beside(place, "len", frames, name, varies=place.length_varies)
            _write_beside(self.numbers, where, rows, lengths, lengths != place.length)
            column = None if where is None else self.layout.column_of(where[0])
            if column is not None:
                of_dicts = all(family == "mapping" for family, *_ in containers)
                self.layout.columns[column].counts_keys = of_dicts

    def _empty(self, place: Place, rows: Index, lengths: Counts, word: str) -> None:
        """Write containers without places inside as words, for they have no other column."""
        none = np.flatnonzero(lengths == 0)
        if len(none) > 0:
            self.words(place, rows[none], [(EMPTY, word)] * len(none))


def _write_beside(
    write: Callable[[Place, Index, Any], None],
    where: tuple[Place, bool] | None,
    rows: Index,
    values: Values,
    unlike: npt.ArrayLike,
) -> None:
    """Write something of all rows, or only of those that are unlike the ones before."""
    if where is None:
        return
    part, whole = where
    odd = np.flatnonzero(unlike)
    if whole:
        write(part, rows, values)
    elif len(odd) > 0:
        write(part, rows[odd], [values[row] for row in odd.tolist()])


def _some(rows: Index, index: Index | list[int] | None) -> Index:
    """Give some of the rows; all of them stay as they are."""
    all_of_them = index is None or len(index) == len(rows)
    return rows if all_of_them else rows[np.asarray(index, dtype=np.intp)]


def _lengths_of(values: Values) -> Counts:
    return np.fromiter(map(len, values), dtype=np.int64, count=len(values))
