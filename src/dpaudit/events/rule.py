"""An event that stands by itself: it can be saved, and asked of the outputs of other code.

An event of the search speaks of columns and codes of one encoder. A rule knows the places of the
output by name and words by their type and text, so any outputs can be asked.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.architecture import Event
from dpaudit.arrays import Labels
from dpaudit.domains import UNREADABLE, decoded, encoded_float
from dpaudit.errors import InvalidAuditFile
from dpaudit.events.kinds import KINDS, Both, IsWord, Single, singles
from dpaudit.outputs import (
    EMPTY,
    FLOATING,
    MISSING,
    OTHER,
    RAISED,
    WORDS,
    Encoder,
    Outputs,
    Table,
    about_bits,
    written,
)

_NUMBER_KINDS = (frozenset({"float"}), frozenset({"int"}), frozenset({"bool"}))
_ABSENT = ("", RAISED, EMPTY)  # the only kind of words in a column, or none
_ANYTHING = "\x00"  # stands for the empty containers that a column once held


@dataclass(frozen=True, slots=True)
class Word:
    """A word of one place, with the code that the event knows it by."""

    place: int
    code: int
    type_: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """An event over places of the output: its columns are positions in `places`.

    >>> encoder = Encoder()
    >>> table = encoder.encode([["yes", 1.0], ["no", 2.0]])
    >>> from dpaudit.events.kinds import Above
    >>> rule = rule_of(Both(IsWord(0, 5), Above(1, 0.5)), encoder)
    >>> rule.places, rule.holds([["yes", 3.0], ["no", 3.0], ["yes"]]).tolist()
    (('output[0]', 'output[1]'), [True, False, False])
    """

    event: Event
    places: tuple[str, ...]
    words: tuple[Word, ...]

    def holds(self, outputs: Outputs) -> Labels:
        """Tell for each output whether the event happened."""
        encoder = Encoder(only=self.places)
        return self.event.holds(self._seen(encoder.encode(outputs), encoder))

    @property
    def is_about_floats(self) -> bool:
        """Whether a part of it asks how a float is rounded: what a real number does not have."""
        found = (about_bits(self.places[part.column]) for part in singles(self.event))
        return any(one is not None and one[0] in FLOATING for one in found)

    def _seen(self, table: Table, encoder: Encoder) -> Table:
        """The places of the rule alone, with the codes that it knows."""
        numbers = np.zeros((len(table), len(self.places)))
        atoms = np.full(numbers.shape, MISSING, dtype=np.int32)
        names, codes = encoder.names, table.codes()
        for position, place in enumerate(self.places):
            name = place.rstrip("'")  # [x] and {0: x} are one place here
            if name not in names:
                continue
            column = names.index(name)
            found, known = codes[:, column], encoder.codes(column)
            numbers[:, position] = table.numbers[:, column]
            atoms[:, position] = np.where(found >= len(WORDS), OTHER, found)
            for word in self.words:
                code = known.get((word.type_, word.text))
                if word.place == position and code is not None:
                    atoms[found == code, position] = word.code
        return Table(numbers, atoms)

    def to_json(self) -> dict[str, object]:
        """The rule as plain JSON values."""
        return {
            "event": _written(self.event),
            "places": list(self.places),
            "words": [list(dataclasses.astuple(word)) for word in self.words],
        }


def rule_of(event: Event, encoder: Encoder) -> Rule:
    """The rule of an event whose columns and codes are those of an encoder."""
    columns = sorted({part.column for part in singles(event)})
    where = {column: position for position, column in enumerate(columns)}
    words = tuple(
        Word(where[part.column], part.code, *encoder.key(part.column, part.code))
        for part in singles(event)
        if isinstance(part, IsWord) and len(WORDS) <= part.code < OTHER
    )
    places = tuple(encoder.names[column] for column in columns)
    return Rule(event=_moved(event, where), places=places, words=words)


def _moved(event: Event, where: Mapping[int, int]) -> Event:
    if isinstance(event, Both):
        return Both(_moved(event.first, where), _moved(event.second, where))
    assert isinstance(event, Single)
    return dataclasses.replace(event, column=where[event.column])


def rule_from_json(saved: object) -> Rule:
    """The rule that `to_json` gave; `InvalidAuditFile` for anything else."""
    if not isinstance(saved, Mapping) or set(saved) != {"event", "places", "words"}:
        raise InvalidAuditFile(f"a rule has an event, places and words, got {saved!r}.")
    try:
        places = tuple(_text(name) for name in saved["places"])
        words = tuple(
            Word(_whole(place), _whole(code), _text(type_), _text(text))
            for place, code, type_, text in saved["words"]
        )
        event = _read(saved["event"])
    except InvalidAuditFile:
        raise
    except UNREADABLE as error:
        raise InvalidAuditFile(f"a rule cannot be read: {error}.") from error
    columns = [part.column for part in singles(event)] + [word.place for word in words]
    if any(not 0 <= column < len(places) for column in columns):
        raise InvalidAuditFile("a rule speaks of a place that it does not name.")
    codes = [part.code for part in singles(event) if isinstance(part, IsWord)]
    if any(not 0 <= code <= OTHER for code in [*codes, *(word.code for word in words)]):
        raise InvalidAuditFile("a rule speaks of a word with a code that no word has.")
    return Rule(event=event, places=places, words=words)


def _written(event: Event) -> list[object]:
    """The name of the kind, then its fields in order."""
    if isinstance(event, Both):
        return ["Both", _written(event.first), _written(event.second)]
    assert isinstance(event, Single)
    values = dataclasses.astuple(event)
    coded = (encoded_float(one) if isinstance(one, float) else int(one) for one in values)
    return [type(event).__name__, *coded]


def _read(saved: Any) -> Event:
    name, *fields = saved
    if name == "Both":
        first, second = fields
        return Both(_read(first), _read(second))
    kind = {kind.__name__: kind for kind in KINDS}[name]
    column, *rest = fields
    values: list[Any] = [_whole(each) if kind is IsWord else _number(each) for each in rest]
    return kind(_whole(column), *values)


def _text(saved: object) -> str:
    if not isinstance(saved, str):
        raise TypeError(f"expected text, got {saved!r}")
    return saved


def _whole(saved: object) -> int:
    if type(saved) is not int:
        raise TypeError(f"expected a whole number, got {saved!r}")
    return saved


def _number(saved: object) -> float:
    value = decoded(saved)
    if type(value) not in (int, float) or math.isnan(value):
        raise TypeError(f"expected a number, got {saved!r}")
    return float(value)


def could_read(rule: Rule, words: str) -> bool:
    """Tell whether these are words of a rule.

    The encoder that put the event into words knew more than the rule does: whether a column held
    whole numbers or True and False, and what stood there where a cell is missing. So a rule has a
    few readings, and the words must be one of them.

    >>> from dpaudit.events.kinds import Above
    >>> rule = Rule(event=Above(0, 1.0), places=("output",), words=())
    >>> [could_read(rule, words) for words in ("output > 1", "output > True", "output > 2")]
    [True, True, False]
    """
    try:
        pattern = _pattern(rule.event, rule)
    except (ArithmeticError, LookupError, ValueError):  # no words at all: an infinite row, say
        return False
    return re.fullmatch(pattern, words, re.DOTALL) is not None


def _pattern(event: Event, rule: Rule) -> str:
    if isinstance(event, Both):
        return event.joined(lambda part: _pattern(part, rule), r"\({}\)")
    readings = {
        event.words(_Reading(rule, kinds, absent)) for kinds in _NUMBER_KINDS for absent in _ABSENT
    }
    texts = (re.escape(text).replace(re.escape(_ANYTHING), ".+") for text in sorted(readings))
    return f"(?:{'|'.join(texts)})"


class _Reading(Encoder):
    """What an encoder says of its columns, as far as a rule knows, and a guess at the rest."""

    def __init__(self, rule: Rule, kinds: frozenset[str], absent: str) -> None:
        self._rule, self._kinds, self._absent = rule, kinds, absent

    @property
    def names(self) -> tuple[str, ...]:
        return self._rule.places

    def key(self, column: int, code: int) -> tuple[str, str]:
        found = {(word.place, word.code): (word.type_, word.text) for word in self._rule.words}
        return found[column, code]

    def words_of(self, column: int, kind: str) -> tuple[str, ...]:
        return (_ANYTHING,) if kind == self._absent else ()

    def value(self, column: int, number: float) -> str:
        return written(number, self._kinds)
