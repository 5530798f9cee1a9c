"""The bits of floats on a page: events about them as Python, and names for the axes of figures."""

from __future__ import annotations

from dpaudit.events import IsNumber, Single, Span, is_zero, spans
from dpaudit.outputs import GRAIN, LAST, LAST_BITS, MAGNITUDE, WIDTH, ZERO, about_bits

_AXES = {
    GRAIN: "lowest set bit of {place}, as a power of 2",
    MAGNITUDE: "highest set bit of {place}, as a power of 2",
    WIDTH: "significant bits of {place}",
    LAST_BITS: "last {last} bits of {place}, as a number",
}


def axis_name(place: str) -> str:
    """The name of a place under a figure.

    >>> axis_name("grain(output)"), axis_name("output")
    ('lowest set bit of output, as a power of 2', 'output')
    """
    found = about_bits(place)
    return place if found is None else _AXES[found[0]].format(place=found[1], last=LAST)


def bits_code(event: Single, about: str, place: str) -> str | None:
    """An event about the bits of a place, as Python; None where it is about words.

    What is not a finite number is in none of them: every comparison with NaN is false.

    >>> from dpaudit.events import Below
    >>> bits_code(Below(0, -52.5), "grain", "output")
    'abs(output) % 2.0**-52 > 0'
    """
    if isinstance(event, IsNumber):
        return f"math.isfinite({place})"
    tests = [_test(about, place, span) for span in spans(event, about)]
    return " or ".join(tests) if tests else None


def _test(about: str, place: str, span: Span) -> str:
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
    return f"{multiple}0 < {number} < math.inf"  # of all powers of 2 only 0 is a multiple


def _multiples(number: str, of: int | None, not_of: int | None) -> str:
    """That a number is a multiple of one power of 2, and not of another."""
    tests = [] if of is None else [f"{number} % 2.0**{of} == 0"]
    tests += [] if not_of is None else [f"{number} % 2.0**{not_of} > 0"]
    return " and ".join(tests)
