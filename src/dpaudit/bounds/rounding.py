"""Rounding a bound to the safe side, so that what is printed is never more than what was proved."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal


def round_down(x: float, digits: int) -> float:
    """The largest number of `digits` significant digits that is not above `x`: for lower bounds.

    Decimal, so that a number that is short already stays what it is. Infinities and NaN are kept.

    >>> round_down(1.8679, 3), round_down(0.3, 2), round_down(-1.01, 2)
    (1.86, 0.3, -1.1)
    """
    return _rounded(x, digits, ROUND_FLOOR)


def round_up(x: float, digits: int) -> float:
    """The smallest number of `digits` significant digits that is not below `x`: for upper bounds.

    >>> round_up(1.8612, 3), round_up(0.3, 2), round_up(9.99, 2)
    (1.87, 0.3, 10.0)
    """
    return _rounded(x, digits, ROUND_CEILING)


def percent_below(alpha: float) -> str:
    """`1 - alpha` in percent, rounded down: never 100, however small alpha is.

    >>> percent_below(0.05), percent_below(0.001), percent_below(1e-8), percent_below(1e-20)
    ('95', '99.9', '99.999999', '99.9999999999')
    """
    missing = Decimal(repr(round_up(max(alpha, 1e-12), 6)))  # floats would lose the last digits
    return f"{(100 * (1 - missing)).normalize():f}"


def _rounded(x: float, digits: int, rounding: str) -> float:
    if digits < 1:
        raise ValueError(f"digits must be at least 1, got {digits!r}.")
    x = float(x)
    if not math.isfinite(x):
        return x
    # repr is the shortest decimal that reads back as x, so no rounding reads back beyond x.
    return float(Context(prec=digits, rounding=rounding).create_decimal(repr(x)))
