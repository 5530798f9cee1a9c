"""Events about the bits of a float, in words that need no knowledge of how floats are stored.

The columns of `outputs/bits.py` hold whole numbers, so an event over one is a span of them: "grain
< -52.5" is a grain of -53 at most, and that is "output is not a multiple of 2^-52".
"""

import math
from collections.abc import Callable, Mapping

from dpaudit.events.kinds import (
    Above,
    Below,
    Between,
    Both,
    Equals,
    Event,
    IsNumber,
    IsWord,
    Outside,
    Single,
)
from dpaudit.outputs import (
    FLOAT32,
    GRAIN,
    LAST,
    LAST_BITS,
    MAGNITUDE,
    RANGES,
    WIDTH,
    ZERO,
    Encoder,
    about_bits,
)

Span = tuple[int | None, int | None]  # the least and the largest; None where there is none


def words_of(event: Event, encoder: Encoder) -> str:
    """Say an event, with the bits of floats in plain words.

    >>> encoder = Encoder(floats="bits")
    >>> table = encoder.encode([0.75, 0.1])
    >>> words_of(Below(1, -52.5), encoder), words_of(Above(0, 0.5), encoder)
    ('output is not a multiple of 2^-52', 'output > 0.5')
    >>> words_of(Both(Above(3, 24.5), Below(2, -3.0)), encoder)
    'output is not a float32 (it has more than 24 significant bits) and |output| < 2^-3'
    """
    if isinstance(event, Both):
        parts = ((part, words_of(part, encoder)) for part in (event.first, event.second))
        return " and ".join(
            f"({text})" if isinstance(part, Outside) else text for part, text in parts
        )
    name = encoder.names[event.column] if isinstance(event, Single) else ""
    found = about_bits(name)
    if found is None:
        return event.words(encoder)
    about, place = found
    if isinstance(event, IsWord | IsNumber):  # bits are there or missing, as the number is
        return f"{place} is {'not ' * isinstance(event, IsWord)}a finite number"
    said = [_said(about, place, span) for span in spans(event, about)]
    return " or ".join(said) or event.words(encoder)


def spans(event: Event, about: str) -> tuple[Span, ...]:
    """Give the whole numbers in an event that a column of bits can hold, in one span or two.

    >>> spans(Below(0, -52.5), GRAIN), spans(Outside(0, 2.0, 53.0), WIDTH)
    (((None, -53),), ((None, 1),))
    """
    first, last = RANGES[about]
    found = ((max(low, first), min(high, last)) for low, high in _spans(event))
    return tuple(
        (int(low) if low > first else None, int(high) if high < last else None)
        for low, high in found
        if low <= high
    )


def is_zero(about: str, span: Span) -> bool:
    """Tell whether nothing but 0 is in a span.

    >>> is_zero(GRAIN, (1024, None)), is_zero(WIDTH, (None, 1))
    (True, False)
    """
    return about in ZERO and ZERO[about] == (span[0] if about == GRAIN else span[1])


def _spans(event: Event) -> list[tuple[float, float]]:
    match event:
        case Above(_, threshold):
            return [(math.floor(threshold) + 1, math.inf)]
        case Below(_, threshold):
            return [(-math.inf, math.ceil(threshold) - 1)]
        case Between(_, low, high):
            return [(math.floor(low) + 1, math.ceil(high) - 1)]
        case Outside(_, low, high):
            return [(-math.inf, math.ceil(low) - 1), (math.floor(high) + 1, math.inf)]
        case Equals(_, number):
            return [(number, number)]
        case _:
            return []


def _said(about: str, place: str, span: Span) -> str:
    if span == (None, None):
        return f"{place} is a finite number"
    return f"{place} = 0" if is_zero(about, span) else _WORDS[about](place, span)


def _grain(place: str, span: Span) -> str:
    least, largest = span
    if least is None:
        assert largest is not None
        nonzero = largest + 1 == ZERO[GRAIN]
        return f"{place} is not {'0' if nonzero else f'a multiple of 2^{largest + 1}'}"
    multiple = f"{place} is a multiple of 2^{least}"
    return multiple if largest is None else f"{multiple} but not of 2^{largest + 1}"


def _magnitude(place: str, span: Span) -> str:
    least, largest = span
    if largest is None:
        return f"|{place}| >= 2^{least}"
    below = f"|{place}| < 2^{largest + 1}"
    return below if least is None else f"2^{least} <= {below}"


def _width(place: str, span: Span) -> str:
    least, largest = span
    if largest is None:
        assert least is not None
        more = f"more than {least - 1} significant bits"
        plain = f"{place} has {more}"
        return plain if least != FLOAT32 + 1 else f"{place} is not a float32 (it has {more})"
    if least is None:
        most = f"at most {largest} significant bits"
        plain = f"{place} has {most}"
        return plain if largest != FLOAT32 else f"{place} is a float32 (it has {most})"
    return f"{place} has {_from_to(str(least), str(largest))} significant bits"


def _last_bits(place: str, span: Span) -> str:
    least, largest = span[0] or 0, 2**LAST - 1 if span[1] is None else span[1]
    return f"the last {LAST} bits of {place} are {_from_to(_binary(least), _binary(largest))}"


def _binary(number: int) -> str:
    return f"{number:0{LAST}b}"


def _from_to(least: str, largest: str) -> str:
    return least if least == largest else f"{least} to {largest}"


_WORDS: Mapping[str, Callable[[str, Span], str]] = {
    GRAIN: _grain,
    MAGNITUDE: _magnitude,
    WIDTH: _width,
    LAST_BITS: _last_bits,
}
