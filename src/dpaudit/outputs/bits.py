"""What a float is besides its value: its grain, its magnitude, its width and its last bits.

`0.0 + noise` and `1.0 + noise` are rounded to different grids of floats, so which grid an output
lies on can tell the datasets apart for sure, however well the noise hides its value (Mironov 2012,
"On significance of the least significant bits for differential privacy"). These columns show the
grid. They stand beside the columns of the values, and only where they were asked for.
"""

import re
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from dpaudit.outputs.table import Floats

FloatView: TypeAlias = Literal["real", "bits"]
FLOAT_VIEWS: tuple[FloatView, ...] = ("real", "bits")

GRAIN, MAGNITUDE, WIDTH, LAST_BITS = "grain", "magnitude", "width", "last_bits"
ABOUT_BITS = (GRAIN, MAGNITUDE, WIDTH, LAST_BITS)
FLOATING = (GRAIN, WIDTH, LAST_BITS)  # what a real number does not have
LAST = 4  # bits
FLOAT32 = 24  # significant bits
_SIGNIFICANT = 53  # bits of a float64
RANGES = {  # of finite floats; 0 is a multiple of every power of 2, and smaller than any
    GRAIN: (-1074, 1024),
    MAGNITUDE: (-1075, 1023),
    WIDTH: (0, _SIGNIFICANT),
    LAST_BITS: (0, 2**LAST - 1),
}
ZERO = {GRAIN: RANGES[GRAIN][1], MAGNITUDE: RANGES[MAGNITUDE][0], WIDTH: 0}

_NAME = re.compile(rf"(?P<about>{'|'.join(ABOUT_BITS)})\((?P<place>.+)\)'*")


def has_floats(values: Any) -> bool:
    """Tell whether any number is a float by type: what is whole or exact has no grid.

    Among floats a whole number is one of them, such as the 0 of `max(0, noisy)`.

    >>> has_floats(np.zeros(2)), has_floats([0, np.float32(2.5)]), has_floats([1, 2])
    (True, True, False)
    """
    if isinstance(values, np.ndarray):
        return bool(values.dtype.kind == "f")
    return any(issubclass(kind, float | np.floating) for kind in set(map(type, values)))


def name_of(about: str, place: str) -> str:
    """Name a column of bits.

    >>> name_of(GRAIN, "output[0]"), about_bits("grain(output[0])"), about_bits("output[0]")
    ('grain(output[0])', ('grain', 'output[0]'), None)
    """
    return f"{about}({place})"


def about_bits(name: str) -> tuple[str, str] | None:
    """Say what a column of bits is about, and of which place; None for another column."""
    found = _NAME.fullmatch(name)
    return None if found is None else (found["about"], found["place"])


def bits_of(numbers: Floats) -> dict[str, Floats]:
    """Describe finite floats, one column for each of `ABOUT_BITS`.

    The grain is the exponent of the lowest set bit: the largest `k` with the number a multiple of
    `2^k`. The magnitude is the exponent of the highest, so that `2^k <= |number| < 2^(k + 1)`, and
    the width counts the bits from one to the other: at most 24 in a float32, be it inside a
    float64. The last bits are the lowest four of the 53, as a number from 0 to 15.

    >>> {about: column.tolist() for about, column in bits_of(np.array([0.75, 0.1, 0.0])).items()}
    {'grain': [-2.0, -55.0, 1024.0], 'magnitude': [-1.0, -4.0, -1075.0],
     'width': [2.0, 52.0, 0.0], 'last_bits': [0.0, 10.0, 0.0]}
    """
    fraction, exponent = np.frexp(numbers)
    whole = np.ldexp(np.abs(fraction), _SIGNIFICANT).astype(np.int64)  # 53 bits, the first a 1
    trailing = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    zero = whole == 0
    return {
        GRAIN: _where(zero, ZERO[GRAIN], exponent - _SIGNIFICANT + trailing),
        MAGNITUDE: _where(zero, ZERO[MAGNITUDE], exponent - 1),
        WIDTH: _where(zero, ZERO[WIDTH], _SIGNIFICANT - trailing),
        LAST_BITS: (whole & (2**LAST - 1)).astype(np.float64),
    }


def _where(zero: npt.NDArray[np.bool_], of_zero: int, others: npt.NDArray[Any]) -> Floats:
    return np.where(zero, of_zero, others).astype(np.float64)
