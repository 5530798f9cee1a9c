"""The way from outputs to tables and from cells back to words."""

from collections.abc import Collection

import numpy as np

from dpaudit.outputs.bits import FloatView
from dpaudit.outputs.checked_outputs import Outputs
from dpaudit.outputs.layout import OTHER, WORDS, Layout
from dpaudit.outputs.leaves import RAISED, Key
from dpaudit.outputs.table import MISSING, Codes, Table
from dpaudit.outputs.table_builder import encoded


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

    With `floats="bits"` a place with floats has columns for how they are rounded (`bits.py`).

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
        return encoded(outputs, self._layout)

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
        shape = (len(table), new)
        missing = np.full(shape, MISSING, dtype=np.int32)
        return Table(
            np.hstack((table.numbers, np.zeros(shape))), np.hstack((table.codes(), missing))
        )

    def word(self, column: int, code: int) -> str:
        """Say what a code means: "NaN", "missing", "'yes'", ..."""
        if code < len(WORDS):
            return WORDS[code]
        return "other" if code == OTHER else self._layout.columns[column].words[code - len(WORDS)]

    def codes(self, column: int) -> dict[Key, int]:
        """The codes of a column's words, by the type and the text of the word."""
        return dict(self._layout.columns[column].codes)

    def key(self, column: int, code: int) -> Key:
        """Give the type and the text of a word."""
        return next(key for key, known in self.codes(column).items() if known == code)

    def is_error(self, column: int, code: int) -> bool:
        """Tell whether a word stands for an error."""
        known = self._layout.columns[column].codes
        return any(kind == RAISED and one == code for (kind, _), one in known.items())

    def words_of(self, column: int, kind: str) -> tuple[str, ...]:
        """The words of a column, if all are of this kind and there were no numbers; else none.

        >>> encoder = Encoder()
        >>> _ = encoder.encode([{}, {"a": 3}])
        >>> encoder.words_of(encoder.names.index("output"), "container")
        ('{}',)
        """
        known = self._layout.columns[column]
        kinds = {each for each, _ in known.codes} - {"NoneType"}
        return tuple(known.words) if kinds == {kind} and not known.kinds else ()

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
