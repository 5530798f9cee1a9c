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
from dpaudit.outputs import Encoder
from dpaudit.outputs.bits import (
    FLOAT32,
    GRAIN,
    GRAIN_OF_ZERO,
    LAST,
    LAST_BITS,
    MAGNITUDE,
    MAGNITUDE_OF_ZERO,
    WIDTH,
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
        parts = (words_of(part, encoder) for part in (event.first, event.second))
        return " and ".join(f"({part})" if " or " in part else part for part in parts)
    name = encoder.names[event.column] if isinstance(event, Single) else ""
    found = about_bits(name)
    if found is None:
        return event.words(encoder)
    about, place = found
    if isinstance(event, IsWord | IsNumber):  # bits are there or missing, as the number is
        return f"{place} is {'not ' * isinstance(event, IsWord)}a finite number"
    return " or ".join(_WORDS[about](place, span) for span in spans(event))


def spans(event: Event) -> tuple[Span, ...]:
    """Give the whole numbers in an event, one span or two; none for an event about words.

    >>> spans(Below(0, -52.5)), spans(Outside(0, 2.0, 5.0)), spans(Between(0, 2.0, 5.0))
    (((None, -53),), ((None, 1), (6, None)), ((3, 4),))
    """
    match event:
        case Above(_, threshold):
            return ((_above(threshold), None),)
        case Below(_, threshold):
            return ((None, _below(threshold)),)
        case Between(_, low, high):
            return ((_above(low), _below(high)),)
        case Outside(_, low, high):
            return (None, _below(low)), (_above(high), None)
        case Equals(_, number):
            return ((int(number), int(number)),)
        case _:
            return ()


def is_zero(about: str, span: Span) -> bool:
    """Tell whether nothing but 0 is in a span.

    >>> is_zero(GRAIN, (1024, None)), is_zero(WIDTH, (None, 1))
    (True, False)
    """
    least, largest = span
    if about == GRAIN:
        return least is not None and least >= GRAIN_OF_ZERO
    of_zero = {MAGNITUDE: MAGNITUDE_OF_ZERO, WIDTH: 0.0}.get(about)
    return of_zero is not None and largest is not None and largest <= of_zero


def _above(threshold: float) -> int:
    return math.floor(threshold) + 1


def _below(threshold: float) -> int:
    return math.ceil(threshold) - 1


def _grain(place: str, span: Span) -> str:
    least, largest = span
    if is_zero(GRAIN, span):
        return f"{place} = 0"
    if least is None:
        assert largest is not None
        return f"{place} is not a multiple of 2^{largest + 1}"
    multiple = f"{place} is a multiple of 2^{least}"
    return multiple if largest is None else f"{multiple} but not of 2^{largest + 1}"


def _magnitude(place: str, span: Span) -> str:
    least, largest = span
    if is_zero(MAGNITUDE, span):
        return f"{place} = 0"
    if largest is None:
        return f"|{place}| >= 2^{least}"
    below = f"|{place}| < 2^{largest + 1}"
    return below if least is None else f"2^{least} <= {below}"


def _width(place: str, span: Span) -> str:
    least, largest = span
    if is_zero(WIDTH, span):
        return f"{place} = 0"
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
    least, largest = (max(span[0] or 0, 0), 2**LAST - 1 if span[1] is None else span[1])
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
