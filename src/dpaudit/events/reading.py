"""Whether the words of a saved event are those of its rule.

The words were made beside the encoder of the audit, which knew more than a rule: whether a column
held whole numbers or True and False, and what stood there where a cell is missing. So a rule has a
few readings, and the saved words must be one of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import cast

from dpaudit.events.bits import words_of
from dpaudit.events.kinds import Both, Event, Outside
from dpaudit.events.rule import Rule, Word
from dpaudit.outputs import EMPTY, OTHER, RAISED, WORDS, Encoder, written

_ANYTHING = "\x00"  # stands for the empty containers that a column once held
_KINDS = (frozenset({"float"}), frozenset({"int"}), frozenset({"bool"}))
_ABSENT = ("", RAISED, EMPTY)  # what a column held where it held nothing but that


def could_read(rule: Rule, words: str) -> bool:
    """Tell whether a rule can have been put into these words.

    >>> from dpaudit.events.kinds import Above
    >>> rule = Rule(event=Above(0, 1.0), places=("output",), words=())
    >>> could_read(rule, "output > 1"), could_read(rule, "output > True")
    (True, True)
    >>> could_read(rule, "output > 2")
    False
    """
    try:
        pattern = _pattern(rule.event, rule)
    except (ArithmeticError, LookupError, ValueError):  # no words at all: an infinite row, say
        return False
    return re.fullmatch(pattern, words, re.DOTALL) is not None


def _pattern(event: Event, rule: Rule) -> str:
    if isinstance(event, Both):
        parts = ((part, _pattern(part, rule)) for part in (event.first, event.second))
        return " and ".join(
            rf"\({text}\)" if isinstance(part, Outside) else text for part, text in parts
        )
    readings = {
        words_of(event, cast(Encoder, _Reading(rule, kinds, absent)))
        for kinds in _KINDS
        for absent in _ABSENT
    }
    texts = (re.escape(text).replace(re.escape(_ANYTHING), ".+") for text in sorted(readings))
    return f"(?:{'|'.join(texts)})"


@dataclass(frozen=True, slots=True)
class _Reading:
    """What an encoder says of its columns, as far as a rule knows, and a guess at the rest."""

    rule: Rule
    kinds: frozenset[str]
    absent: str

    @property
    def names(self) -> tuple[str, ...]:
        return self.rule.places

    def word(self, column: int, code: int) -> str:
        if code < len(WORDS):
            return WORDS[code]
        return "other" if code == OTHER else self._word(column, code).text

    def is_error(self, column: int, code: int) -> bool:
        return len(WORDS) <= code < OTHER and self._word(column, code).type_ == RAISED

    def words_of(self, column: int, kind: str) -> tuple[str, ...]:
        return (_ANYTHING,) if kind == self.absent else ()

    def value(self, column: int, number: float) -> str:
        return written(number, self.kinds)

    def _word(self, column: int, code: int) -> Word:
        found = {(word.place, word.code): word for word in self.rule.words}
        return found[column, code]
