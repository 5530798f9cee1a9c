"""An event as Python: a function that says of one output whether the event happened."""

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
    Single,
    Span,
    is_member,
    is_zero,
    spans,
)
from dpaudit.outputs import (
    GRAIN,
    LAST,
    MAGNITUDE,
    MESSAGE,
    MINUS_INF,
    MISSING,
    NAN,
    NONE,
    PLUS_INF,
    RAISED,
    WIDTH,
    ZERO,
    about_bits,
)

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
    """The source of `happened(output)`; None where plain Python cannot express the event.

    What is missing or cannot be compared is not in the event. Where the mechanism raised, the
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
    raises = MESSAGE in rule.places or any(word.type_ == RAISED for word in rule.words)
    remark = "  # the error, where one was raised" if raises else ""
    lines = (
        *(("import math", "", "") if "math." in test else ()),
        f"def happened(output):{remark}",
        "    try:",
        f"        return {test}",
        f"    except ({'AttributeError, ' if dotted else ''}TypeError, LookupError):",
        "        return False",
    )
    source = "\n".join(lines) + "\n"
    try:
        ast.parse(source)
    except SyntaxError:  # a dict has a key whose repr is not Python
        return None
    return source


def _test(event: Event, rule: Rule) -> str | None:
    if isinstance(event, Both):
        parts = (_test(event.first, rule), _test(event.second, rule))
        if parts[0] is None or parts[1] is None:
            return None
        return " and ".join(f"({part})" if " or " in part else part for part in parts if part)
    assert isinstance(event, Single)
    place = rule.places[event.column]
    if place == MESSAGE:
        place = "str(output)"
    if place.endswith(("'", " (rest)")):  # one of two places of one name, or what found no place
        return None
    bits = about_bits(place)
    if bits is not None:
        return _bits(event, *bits)
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
    assert isinstance(event, IsWord)
    return _word(place, event.code, rule, event.column)


def _number(number: float) -> str:
    """A number as Python: 1 rather than 1.0, and infinity by its name."""
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
    """That a list is too short or a dict lacks a key; None for a place in neither."""
    if is_member(place):
        return place.replace(" in output", " not in output", 1)
    found = _INSIDE.fullmatch(place)
    if found is None:
        return None
    inside, key = found["place"], found["key"]
    return f"len({inside}) <= {key}" if key.isdigit() else f"{key} not in {inside}"


def _bits(event: Single, about: str, place: str) -> str | None:
    """A test of the bits of a float; None where the event is about words.

    What is not a finite number is in no such event: every comparison with NaN is false.

    >>> _bits(Below(0, -52.5), "grain", "output")
    'abs(output) % 2.0**-52 > 0'
    """
    if isinstance(event, IsNumber):
        return f"math.isfinite({place})"
    tests = [_span(about, place, span) for span in spans(event, about)]
    return " or ".join(tests) if tests else None


def _span(about: str, place: str, span: Span) -> str:
    least, largest = span
    if span == (None, None):
        return f"math.isfinite({place})"
    if is_zero(about, span):
        return f"{place} == 0"
    if about == GRAIN:
        return _grain(f"abs({place})", least, largest)
    if about == MAGNITUDE:
        high = "math.inf" if largest is None else f"2.0**{largest + 1}"
        return f"{0 if least is None else f'2.0**{least}'} <= abs({place}) < {high}"
    fraction = f"abs(math.frexp({place})[0])"  # in [0.5, 1)
    if about == WIDTH:  # at most n bits: a multiple of 2^-n
        bounds = None if largest is None else -largest, None if least is None else 1 - least
        return _multiples(fraction, *bounds)
    first, last = least or 0, 2**LAST - 1 if largest is None else largest
    return f"{first} <= {fraction} * 2.0**53 % {2**LAST} <= {last}"


def _grain(number: str, least: int | None, largest: int | None) -> str:
    if largest is None or largest + 1 < ZERO[GRAIN]:
        return _multiples(number, least, None if largest is None else largest + 1)
    multiple = "" if least is None else f"{_multiples(number, least, None)} and "
    return f"{multiple}0 < {number} < math.inf"  # only 0 is a multiple of every power of 2


def _multiples(number: str, of: int | None, not_of: int | None) -> str:
    """That a number is a multiple of one power of 2, and not of another."""
    tests = [] if of is None else [f"{number} % 2.0**{of} == 0"]
    tests += [] if not_of is None else [f"{number} % 2.0**{not_of} > 0"]
    return " and ".join(tests)
