"""The events: sets of outputs small enough to say in a line.

A threshold compares finite numbers and infinities; NaN, None, words and missing cells are on
neither side of it.
"""

import math
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from dpaudit.outputs import EMPTY, MINUS_INF, MISSING, PLUS_INF, RAISED, Encoder, Table

_Mask: TypeAlias = npt.NDArray[np.bool_]


class Event(Protocol):
    """A set of outputs with a name."""

    def holds(self, table: Table) -> _Mask:
        """Tell for each row whether it is in the set."""
        ...

    def words(self, encoder: Encoder) -> str:
        """Say what the outputs of the set have in common."""
        ...


@dataclass(frozen=True, slots=True)
class Above:
    """One part of the output is greater than a number.

    >>> encoder = Encoder()
    >>> table = encoder.encode(np.array([0.5, 0.9, np.inf, np.nan]))
    >>> Above(0, 0.773).holds(table).tolist(), Above(0, 0.773).words(encoder)
    ([False, True, True, False], 'output > 0.773')
    """

    column: int
    threshold: float

    def holds(self, table: Table) -> _Mask:
        """Tell for each row whether it is in the set."""
        return np.asarray(reals(table, self.column) > self.threshold)

    def words(self, encoder: Encoder) -> str:
        """Say what the outputs of the set have in common."""
        if (frame := _frame(encoder, self.column)) is not None:
            return f"{frame} has more than {_rows(math.floor(self.threshold))}"
        return f"{_name(encoder, self.column)} > {encoder.value(self.column, self.threshold)}"


@dataclass(frozen=True, slots=True)
class Below:
    """One part of the output is less than a number."""

    column: int
    threshold: float

    def holds(self, table: Table) -> _Mask:
        """Tell for each row whether it is in the set."""
        return np.asarray(reals(table, self.column) < self.threshold)

    def words(self, encoder: Encoder) -> str:
        """Say what the outputs of the set have in common."""
        if (frame := _frame(encoder, self.column)) is not None:
            return f"{frame} has fewer than {_rows(math.ceil(self.threshold))}"
        return f"{_name(encoder, self.column)} < {encoder.value(self.column, self.threshold)}"


@dataclass(frozen=True, slots=True)
class Between:
    """One part of the output is strictly between two numbers."""

    column: int
    low: float
    high: float

    def holds(self, table: Table) -> _Mask:
        """Tell for each row whether it is in the set."""
        values = reals(table, self.column)
        return np.asarray((values > self.low) & (values < self.high))

    def words(self, encoder: Encoder) -> str:
        """Say what the outputs of the set have in common."""
        low, high = encoder.value(self.column, self.low), encoder.value(self.column, self.high)
        return f"{low} < {_name(encoder, self.column)} < {high}"


@dataclass(frozen=True, slots=True)
class Outside:
    """One part of the output is less than one number or greater than another."""

    column: int
    low: float
    high: float

    def holds(self, table: Table) -> _Mask:
        """Tell for each row whether it is in the set."""
        values = reals(table, self.column)
        return np.asarray((values < self.low) | (values > self.high))

    def words(self, encoder: Encoder) -> str:
        """Say what the outputs of the set have in common."""
        low, high = encoder.value(self.column, self.low), encoder.value(self.column, self.high)
        name = _name(encoder, self.column)
        return f"{name} < {low} or {name} > {high}"


@dataclass(frozen=True, slots=True)
class Equals:
    """One part of the output is a number."""

    column: int
    number: float

    def holds(self, table: Table) -> _Mask:
        """Tell for each row whether it is in the set."""
        return np.asarray(reals(table, self.column) == self.number)

    def words(self, encoder: Encoder) -> str:
        """Say what the outputs of the set have in common."""
        if (frame := _frame(encoder, self.column)) is not None:
            return f"{frame} has {_rows(round(self.number))}"
        name = _name(encoder, self.column)
        return name if is_member(name) else f"{name} = {encoder.value(self.column, self.number)}"


@dataclass(frozen=True, slots=True)
class IsWord:
    """One part of the output is a certain word, None, NaN, an infinity, or is not there.

    >>> encoder = Encoder()
    >>> table = encoder.encode([["yes", 1], ["no"], ["yes"]])
    >>> IsWord(1, 5).words(encoder), IsWord(2, 0).words(encoder)
    ("output[0] = 'yes'", 'output[1] is missing')
    >>> from dpaudit.outputs import Raised
    >>> table = encoder.encode([Raised.of(KeyError("age"))])
    >>> IsWord(3, 5).words(encoder)
    'raises KeyError'
    """

    column: int
    code: int

    def holds(self, table: Table) -> _Mask:
        """Tell for each row whether it is in the set."""
        if table.atoms is None:
            return np.zeros(len(table), dtype=np.bool_)
        return np.asarray(table.atoms[:, self.column] == self.code)

    def words(self, encoder: Encoder) -> str:
        """Say what the outputs of the set have in common."""
        name, word = _name(encoder, self.column), encoder.word(self.column, self.code)
        if self.code == MISSING:
            return _missing(encoder, self.column)
        if encoder.is_error(self.column, self.code):
            return word
        if name.startswith("type("):
            return f"the type of {name[5:-1]} is {word}"
        return f"{name} = {word}"


@dataclass(frozen=True, slots=True)
class IsNumber:
    """One part of the output is a finite number, whatever number."""

    column: int

    def holds(self, table: Table) -> _Mask:
        """Tell for each row whether it is in the set."""
        if table.atoms is None:
            return np.ones(len(table), dtype=np.bool_)
        return np.asarray(table.atoms[:, self.column] < 0)

    def words(self, encoder: Encoder) -> str:
        """Say what the outputs of the set have in common."""
        name = _name(encoder, self.column)
        return name if is_member(name) else f"{name} is a finite number"


Single: TypeAlias = Above | Below | Between | Outside | Equals | IsWord | IsNumber


@dataclass(frozen=True, slots=True)
class Both:
    """Two events at once; either may be two events again.

    >>> encoder = Encoder()
    >>> table = encoder.encode([[0.5, 1], [3.0], [2.0]])
    >>> event = Both(IsWord(2, 0), Outside(1, 1.0, 2.5))
    >>> event.words(encoder), event.holds(table).tolist()
    ('output[1] is missing and (output[0] < 1 or output[0] > 2.5)', [False, True, False])
    """

    first: Event
    second: Event

    def holds(self, table: Table) -> _Mask:
        """Tell for each row whether it is in the set."""
        return self.first.holds(table) & self.second.holds(table)

    def words(self, encoder: Encoder) -> str:
        """Say what the outputs of the set have in common."""
        parts = (self.first, self.second)
        said = (
            f"({part.words(encoder)})" if isinstance(part, Outside) else part.words(encoder)
            for part in parts
        )
        return " and ".join(said)


def comparisons(event: Event) -> int:
    """Count the comparisons an event makes: how long it takes to say."""
    if isinstance(event, Both):
        return comparisons(event.first) + comparisons(event.second)
    return 2 if isinstance(event, Between | Outside) else 1


def reals(table: Table, column: int) -> npt.NDArray[np.float64]:
    """Give what can be compared with a threshold, infinities among it, and NaN elsewhere."""
    numbers = table.numbers[:, column]
    if table.atoms is None:
        return numbers
    codes = table.atoms[:, column]
    if not np.any(codes >= 0):
        return numbers
    values = np.where(codes < 0, numbers, np.nan)
    values[codes == PLUS_INF] = np.inf
    values[codes == MINUS_INF] = -np.inf
    return values


def is_member(name: str) -> bool:
    """Tell whether a column says of an element whether a set has it: "'Ulm' in output"."""
    return " in output" in name and not name.startswith(("output", "len(", "type("))


def _missing(encoder: Encoder, column: int) -> str:
    """Nothing stands in this column: what stood there in other outputs says what that means."""
    name = _name(encoder, column)
    if encoder.words_of(column, RAISED):
        return "does not raise"
    if empty := encoder.words_of(column, EMPTY):
        return f"{name} is not {' or '.join(empty)}"
    if name == "output":
        return "output is not a single value"
    return (
        name.replace(" in output", " not in output", 1) if is_member(name) else f"{name} is missing"
    )


def _frame(encoder: Encoder, column: int) -> str | None:
    """The frame whose rows a column counts; None for any other column."""
    name = encoder.names[column]
    return name.removesuffix(".shape[0]") if name.endswith(".shape[0]") else None


def _rows(count: int) -> str:
    return f"{count} row" if count == 1 else f"{count} rows"


def _name(encoder: Encoder, column: int) -> str:
    return encoder.names[column]
