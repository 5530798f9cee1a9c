"""The events: sets of outputs small enough to say in a line.

A threshold compares finite numbers and infinities; NaN, None, words and missing cells are on
neither side of it. The columns of the bits of floats hold whole numbers, so an event about one is a
span of them. It is said in words that need no knowledge of how floats are stored: "grain < -52.5"
is a grain of -53 at most, and that is "output is not a multiple of 2^-52".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpaudit.architecture import Event
from dpaudit.arrays import Floats, Labels
from dpaudit.outputs import (
    EMPTY,
    FLOAT32,
    GRAIN,
    LAST,
    LAST_BITS,
    MAGNITUDE,
    MINUS_INF,
    MISSING,
    PLUS_INF,
    RAISED,
    RANGES,
    WIDTH,
    ZERO,
    Encoder,
    Table,
    about_bits,
)

Span = tuple[int | None, int | None]  # the least and the largest; None where there is none


@dataclass(frozen=True, slots=True)
class Single:
    """An event about one column. What its kinds define: which values it has, and its words."""

    column: int
    thresholds: ClassVar[tuple[str, ...]] = ()  # its fields that may be rounded

    def holds(self, table: Table) -> Labels:
        """Tell for each row whether it is in the set."""
        return np.asarray(self._has(reals(table, self.column)))

    def words(self, encoder: Encoder) -> str:
        """Say what the outputs of the set have in common."""
        name = encoder.names[self.column]
        found = about_bits(name)
        said = "" if found is None else _bits_in_words(self, *found)
        return said or self._words(name, encoder)  # no float is in some events

    def _has(self, values: Floats) -> Labels:
        raise NotImplementedError

    def _words(self, name: str, encoder: Encoder) -> str:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Above(Single):
    """One part of the output is greater than a number.

    >>> encoder = Encoder(floats="bits")
    >>> table = encoder.encode(np.array([0.5, 0.9, np.inf, np.nan]))
    >>> Above(0, 0.773).holds(table).tolist(), Above(0, 0.773).words(encoder)
    ([False, True, True, False], 'output > 0.773')
    >>> Above(3, 24.5).words(encoder)
    'output is not a float32 (it has more than 24 significant bits)'
    """

    threshold: float
    thresholds = ("threshold",)

    def _has(self, values: Floats) -> Labels:
        return values > self.threshold

    def _words(self, name: str, encoder: Encoder) -> str:
        if (frame := _frame(name)) is not None:
            return f"{frame} has more than {_rows(math.floor(self.threshold))}"
        return f"{name} > {encoder.value(self.column, self.threshold)}"


@dataclass(frozen=True, slots=True)
class Below(Single):
    """One part of the output is less than a number."""

    threshold: float
    thresholds = ("threshold",)

    def _has(self, values: Floats) -> Labels:
        return values < self.threshold

    def _words(self, name: str, encoder: Encoder) -> str:
        if (frame := _frame(name)) is not None:
            return f"{frame} has fewer than {_rows(math.ceil(self.threshold))}"
        return f"{name} < {encoder.value(self.column, self.threshold)}"


@dataclass(frozen=True, slots=True)
class Between(Single):
    """One part of the output is strictly between two numbers."""

    low: float
    high: float
    thresholds = ("low", "high")

    def _has(self, values: Floats) -> Labels:
        return (values > self.low) & (values < self.high)

    def _words(self, name: str, encoder: Encoder) -> str:
        low, high = (encoder.value(self.column, number) for number in (self.low, self.high))
        return f"{low} < {name} < {high}"


@dataclass(frozen=True, slots=True)
class Outside(Single):
    """One part of the output is less than one number or greater than another."""

    low: float
    high: float
    thresholds = ("low", "high")

    def _has(self, values: Floats) -> Labels:
        return (values < self.low) | (values > self.high)

    def _words(self, name: str, encoder: Encoder) -> str:
        low, high = (encoder.value(self.column, number) for number in (self.low, self.high))
        return f"{name} < {low} or {name} > {high}"


@dataclass(frozen=True, slots=True)
class Equals(Single):
    """One part of the output is a number."""

    number: float

    def _has(self, values: Floats) -> Labels:
        return np.asarray(values == self.number)

    def _words(self, name: str, encoder: Encoder) -> str:
        if (frame := _frame(name)) is not None:
            return f"{frame} has {_rows(round(self.number))}"
        return name if is_member(name) else f"{name} = {encoder.value(self.column, self.number)}"


@dataclass(frozen=True, slots=True)
class IsWord(Single):
    """One part of the output is a certain word, None, NaN, an infinity, or is not there.

    >>> encoder = Encoder()
    >>> table = encoder.encode([["yes", 1], ["no"], ["yes"]])
    >>> IsWord(1, 5).words(encoder), IsWord(2, 0).words(encoder)
    ("output[0] = 'yes'", 'output[1] is missing')
    """

    code: int

    def holds(self, table: Table) -> Labels:
        """Tell for each row whether it is in the set."""
        if table.atoms is None:
            return np.zeros(len(table), dtype=np.bool_)
        return np.asarray(table.atoms[:, self.column] == self.code)

    def _words(self, name: str, encoder: Encoder) -> str:
        word = encoder.word(self.column, self.code)
        if self.code == MISSING:
            return _missing(name, encoder, self.column)
        if encoder.is_error(self.column, self.code):
            return word
        if name.startswith("type("):
            return f"the type of {name[5:-1]} is {word}"
        return f"{name} = {word}"


@dataclass(frozen=True, slots=True)
class IsNumber(Single):
    """One part of the output is a finite number, whatever number."""

    def holds(self, table: Table) -> Labels:
        """Tell for each row whether it is in the set."""
        if table.atoms is None:
            return np.ones(len(table), dtype=np.bool_)
        return np.asarray(table.atoms[:, self.column] < 0)

    def _words(self, name: str, encoder: Encoder) -> str:
        return name if is_member(name) else f"{name} is a finite number"


KINDS: tuple[type[Single], ...] = (Above, Below, Between, Outside, Equals, IsWord, IsNumber)


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

    def holds(self, table: Table) -> Labels:
        """Tell for each row whether it is in the set."""
        return self.first.holds(table) & self.second.holds(table)

    def words(self, encoder: Encoder) -> str:
        """Say what the outputs of the set have in common."""
        return self.joined(lambda part: part.words(encoder), "({})")

    def joined(self, said: Callable[[Event], str], bracketed: str) -> str:
        """Join what is said of the two parts, with brackets around an "or"."""
        return " and ".join(
            bracketed.format(said(part)) if isinstance(part, Outside) else said(part)
            for part in (self.first, self.second)
        )


def singles(event: Event) -> list[Single]:
    """The events about one column that an event is made of."""
    if isinstance(event, Both):
        return [*singles(event.first), *singles(event.second)]
    assert isinstance(event, Single)
    return [event]


def comparisons(event: Event) -> int:
    """Count the comparisons an event makes: how long it takes to say."""
    return sum(max(len(part.thresholds), 1) for part in singles(event))


def reals(table: Table, column: int) -> Floats:
    """Give what can be compared with a threshold, infinities among it, and NaN elsewhere."""
    numbers = table.numbers[:, column]
    codes = None if table.atoms is None else table.atoms[:, column]
    if codes is None or not np.any(codes >= 0):
        return numbers
    values = np.where(codes < 0, numbers, np.nan)
    values[codes == PLUS_INF] = np.inf
    values[codes == MINUS_INF] = -np.inf
    return values


def is_member(name: str) -> bool:
    """Tell whether a column says of an element whether a set has it: "'Ulm' in output"."""
    return " in output" in name and not name.startswith(("output", "len(", "type("))


def _missing(name: str, encoder: Encoder, column: int) -> str:
    """Say that nothing stands in a column, by what stood there in other outputs."""
    if encoder.words_of(column, RAISED):
        return "does not raise"
    if empty := encoder.words_of(column, EMPTY):
        return f"{name} is not {' or '.join(empty)}"
    if name == "output":
        return "output is not a single value"
    member = is_member(name)
    return name.replace(" in output", " not in output", 1) if member else f"{name} is missing"


def _frame(name: str) -> str | None:
    """The frame whose rows a column counts; None for any other column."""
    return name.removesuffix(".shape[0]") if name.endswith(".shape[0]") else None


def _rows(count: int) -> str:
    return f"{count} row" if count == 1 else f"{count} rows"


def _bits_in_words(event: Single, about: str, place: str) -> str:
    if isinstance(event, IsWord | IsNumber):  # bits are there or missing, as the number is
        return f"{place} is {'not ' * isinstance(event, IsWord)}a finite number"
    return " or ".join(_span_in_words(about, place, span) for span in spans(event, about))


def spans(event: Event, about: str) -> tuple[Span, ...]:
    """Give the whole numbers in an event that a column of bits can hold, in one span or two.

    >>> spans(Below(0, -52.5), GRAIN), spans(Outside(0, 2.0, 53.0), WIDTH)
    (((None, -53),), ((None, 1),))
    """
    found: list[tuple[float, float]] = []
    match event:
        case Above(_, threshold):
            found = [(math.floor(threshold) + 1, math.inf)]
        case Below(_, threshold):
            found = [(-math.inf, math.ceil(threshold) - 1)]
        case Between(_, low, high):
            found = [(math.floor(low) + 1, math.ceil(high) - 1)]
        case Outside(_, low, high):
            found = [(-math.inf, math.ceil(low) - 1), (math.floor(high) + 1, math.inf)]
        case Equals(_, number):
            found = [(number, number)]
    first, last = RANGES[about]
    return tuple(
        (int(low) if low > first else None, int(high) if high < last else None)
        for low, high in ((max(low, first), min(high, last)) for low, high in found)
        if low <= high
    )


def is_zero(about: str, span: Span) -> bool:
    """Tell whether nothing but 0 is in a span.

    >>> is_zero(GRAIN, (1024, None)), is_zero(WIDTH, (None, 1))
    (True, False)
    """
    return about in ZERO and ZERO[about] == (span[0] if about == GRAIN else span[1])


def _span_in_words(about: str, place: str, span: Span) -> str:
    if span == (None, None):
        return f"{place} is a finite number"
    if is_zero(about, span):
        return f"{place} = 0"
    least, largest = span
    words = _WORDS[about][0 if largest is None else 1 if least is None else 2]
    ends = [least or 0, 2**LAST - 1 if largest is None else largest]
    shown = dict.fromkeys(f"{end:0{LAST}b}" if about == LAST_BITS else str(end) for end in ends)
    numbers = {"under": ends[0] - 1, "over": ends[1] + 1, "ends": " to ".join(shown)}
    words = _SPECIAL_WORDS.get((about, *span), words)
    return words.format(place, least, largest, **numbers)


_WORDS = {  # at least, at most, both
    GRAIN: (
        "{0} is a multiple of 2^{1}",
        "{0} is not a multiple of 2^{over}",
        "{0} is a multiple of 2^{1} but not of 2^{over}",
    ),
    MAGNITUDE: ("|{0}| >= 2^{1}", "|{0}| < 2^{over}", "2^{1} <= |{0}| < 2^{over}"),
    WIDTH: (
        "{0} has more than {under} significant bits",
        "{0} has at most {2} significant bits",
        "{0} has {ends} significant bits",
    ),
    LAST_BITS: (f"the last {LAST} bits of {{0}} are {{ends}}",) * 3,
}
_SPECIAL_WORDS: dict[tuple[str, int | None, int | None], str] = {
    (GRAIN, None, ZERO[GRAIN] - 1): "{0} is not 0",
    (WIDTH, None, FLOAT32): "{0} is a float32 (it has at most {2} significant bits)",
    (WIDTH, FLOAT32 + 1, None): "{0} is not a float32 (it has more than {under} significant bits)",
}
