"""An event as Python: a function that tells of one output whether the event happened."""

from __future__ import annotations

import ast
import re

from dpaudit.events import (
    Above,
    Below,
    Between,
    Both,
    Equals,
    Event,
    IsNumber,
    IsWord,
    Outside,
    Rule,
    is_member,
)
from dpaudit.outputs import MESSAGE, MINUS_INF, MISSING, NAN, NONE, PLUS_INF, RAISED, about_bits
from dpaudit.report.bits import bits_code

_LITERALS = ("str", "bytes", "int")  # words whose text is the Python that makes them
_TYPES = {  # as `type_name` joins them
    "str": "str",
    "bytes": "(bytes, bytearray, memoryview)",
    "set": "(set, frozenset)",
    "list": "(list, tuple)",
    "dict": "dict",
}
_DOTTED = re.compile(r"(\w+\()?output(\[.+\])*\.")
_INSIDE = re.compile(r"(?P<place>.+)\[(?P<key>.+)\]")


def event_code(rule: Rule) -> str | None:
    """The source of `happened(output)`; None where the event cannot be said in plain Python.

    What cannot be compared, or is not there, is not in the event. Where the mechanism raised, the
    output is the error.

    >>> print(event_code(Rule(event=Above(0, 0.5), places=("output['count']",), words=())))
    def happened(output):
        try:
            return output['count'] > 0.5
        except (TypeError, LookupError):
            return False
    <BLANKLINE>
    """
    test = _test(rule.event, rule)
    if test is None:
        return None
    dotted = any(_DOTTED.match(place) for place in rule.places)  # output.field, len(output.field)
    lines = (
        *(("import math", "", "") if "math." in test else ()),
        f"def happened(output):{'  # the error, where one was raised' if _speaks(rule) else ''}",
        "    try:",
        f"        return {test}",
        f"    except ({'AttributeError, ' if dotted else ''}TypeError, LookupError):",
        "        return False",
    )
    source = "\n".join(lines) + "\n"
    try:
        ast.parse(source)
    except SyntaxError:  # a key of a dict whose repr is not Python
        return None
    return source


def _test(event: Event, rule: Rule) -> str | None:
    if isinstance(event, Both):
        parts = (_test(event.first, rule), _test(event.second, rule))
        if parts[0] is None or parts[1] is None:
            return None
        return " and ".join(f"({part})" if " or " in part else part for part in parts if part)
    assert isinstance(event, Above | Below | Between | Outside | Equals | IsWord | IsNumber)
    place = rule.places[event.column]
    if place == MESSAGE:
        place = "str(output)"
    if place.endswith(("'", " (rest)")):  # two places of one name, and all that found no place
        return None
    bits = about_bits(place)
    if bits is not None:
        return bits_code(event, *bits)
    match event:
        case Above(_, threshold):
            return f"{place} > {_number(threshold)}"
        case Below(_, threshold):
            return f"{place} < {_number(threshold)}"
        case Between(_, low, high):
            return f"{_number(low)} < {place} < {_number(high)}"
        case Outside(_, low, high):
            return f"{place} < {_number(low)} or {place} > {_number(high)}"
        case Equals() | IsNumber() if is_member(place):
            return place
        case Equals(_, number):
            return f"{place} == {_number(number)}"
        case IsNumber():
            return f"math.isfinite({place})"
        case IsWord(_, code):
            return _word(place, code, rule, event.column)


def _speaks(rule: Rule) -> bool:
    """Whether an event speaks of errors."""
    return MESSAGE in rule.places or any(word.type_ == RAISED for word in rule.words)


def _number(number: float) -> str:
    """A number as it is written: 1 rather than 1.0, and `math.inf` by its name."""
    if number in (float("inf"), float("-inf")):
        return "math.inf" if number > 0 else "-math.inf"
    return str(int(number)) if number.is_integer() and abs(number) < 1e16 else repr(number)


def _word(place: str, code: int, rule: Rule, column: int) -> str | None:
    known = {
        NAN: f"math.isnan({place})",
        PLUS_INF: f"{place} == math.inf",
        MINUS_INF: f"{place} == -math.inf",
        NONE: f"{place} is None",
    }
    if code == MISSING:
        return _missing(place)
    if code in known:
        return known[code]
    for word in rule.words:
        if (word.place, word.code) == (column, code):
            if word.type_ == RAISED:
                return f"type({place}).__qualname__ == {word.text.removeprefix('raises ')!r}"
            if word.type_ == "type":
                return _type(place.removeprefix("type(").removesuffix(")"), word.text)
            whole = word.type_ in _LITERALS and "...#" not in word.text
            return f"{place} == {word.text}" if whole else None
    return None


def _type(place: str, name: str) -> str:
    if name in _TYPES:
        return f"isinstance({place}, {_TYPES[name]})"
    return f"type({place}).__qualname__ == {name!r}"


def _missing(place: str) -> str | None:
    """That a list is too short, or a dict lacks a key; None for a place that is no part of one."""
    if is_member(place):
        return place.replace(" in output", " not in output", 1)
    found = _INSIDE.fullmatch(place)
    if found is None:
        return None
    inside, key = found["place"], found["key"]
    return f"len({inside}) <= {key}" if key.isdigit() else f"{key} not in {inside}"
