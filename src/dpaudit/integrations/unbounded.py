"""Numbers of which a library says no bounds: far enough for any clamp, and odd ones too."""

from __future__ import annotations

import math

from dpaudit.domains import Refinable, floats, integers

FAR = 1000  # how far records go where nothing bounds them: a clamp cuts them off


def any_float(*, nan: bool = True, infinite: bool = True) -> Refinable:
    """Floats far out, with NaN and infinities where a library takes them.

    >>> any_float().contains(math.nan), any_float(nan=False).contains(math.nan)
    (True, False)
    """
    odd = floats(-FAR, FAR).with_odd_values()
    if nan:
        return odd if infinite else odd.filter(_is_not_infinite, "not infinite")
    return odd.filter(_is_number, "no NaN") if infinite else odd.filter(math.isfinite, "finite")


def any_integer(*, least: int | None = None, narrow: bool = False) -> Refinable:
    """Whole numbers far out; a tenth as far where they have to fit into eight bits.

    >>> print(any_integer(), any_integer(least=0, narrow=True))
    integers(-1000, 1000) integers(0, 100)
    """
    reach = FAR // 10 if narrow else FAR
    return integers(-reach if least is None else least, reach)


def _is_number(record: float) -> bool:
    return not math.isnan(record)


def _is_not_infinite(record: float) -> bool:
    return not math.isinf(record)
