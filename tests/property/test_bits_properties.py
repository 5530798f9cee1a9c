"""The bits of any float, against exact arithmetic."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpaudit.outputs import bits_of


@given(st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: number != 0.0))
def test_a_float_is_an_odd_number_of_its_grains(number: float) -> None:
    bits = {about: int(column[0]) for about, column in bits_of(np.array([number])).items()}
    grains = abs(Fraction(number)) / Fraction(2) ** bits["grain"]
    assert grains.denominator == 1
    assert grains.numerator % 2 == 1
    assert grains.numerator.bit_length() == bits["width"]
    magnitude = Fraction(2) ** bits["magnitude"]
    assert magnitude <= abs(Fraction(number)) < 2 * magnitude
    whole = abs(Fraction(number)) / magnitude * 2**52
    assert whole.numerator % 16 == bits["last_bits"]


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_float32_has_at_most_24_significant_bits(number: float) -> None:
    assert bits_of(np.array([number]))["width"][0] <= 24
