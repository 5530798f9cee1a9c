"""A printed bound never says more than the bound."""

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaudit.bounds import round_down, round_up

finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("x", "digits", "down", "up"),
    [
        (1.8679, 3, 1.86, 1.87),
        (1.86, 3, 1.86, 1.86),
        (0.3, 1, 0.3, 0.3),
        (0.29, 2, 0.29, 0.29),
        (0.1 + 0.2, 3, 0.3, 0.301),
        (9.999, 2, 9.9, 10.0),
        (-1.8679, 3, -1.87, -1.86),
        (123456.0, 2, 120000.0, 130000.0),
        (1.23e-12, 2, 1.2e-12, 1.3e-12),
        (5e-324, 1, 5e-324, 5e-324),
        (0.0, 3, 0.0, 0.0),
    ],
)
def test_by_hand(x: float, digits: int, down: float, up: float) -> None:
    assert (round_down(x, digits), round_up(x, digits)) == (down, up)


@given(finite, st.integers(1, 20))
def test_to_the_safe_side_and_to_the_digits_asked(x: float, digits: int) -> None:
    down, up = round_down(x, digits), round_up(x, digits)
    assert down <= x <= up
    for rounded in (down, up):
        if digits <= 15 and math.isfinite(rounded) and abs(rounded) > 1e-300:
            assert len(Decimal(repr(rounded)).normalize().as_tuple().digits) <= digits


@given(finite.filter(lambda x: 1e-300 < abs(x) < 1e300), st.integers(1, 15))
def test_no_further_than_one_unit_of_the_last_digit(x: float, digits: int) -> None:
    unit = Decimal(1).scaleb(Decimal(repr(x)).adjusted() - digits + 1)
    assert Decimal(repr(round_up(x, digits))) - Decimal(repr(round_down(x, digits))) <= unit
    assert round_down(-x, digits) == -round_up(x, digits)
    assert round_down(round_down(x, digits), digits) == round_down(x, digits)


def test_what_is_not_finite_is_kept() -> None:
    for rounded in (round_down, round_up):
        assert rounded(math.inf, 3) == math.inf
        assert rounded(-math.inf, 3) == -math.inf
        assert math.isnan(rounded(math.nan, 3))
    assert round_up(1.7976931348623157e308, 2) == math.inf
    assert round_down(1.7976931348623157e308, 2) == 1.7e308


def test_numpy_numbers_give_plain_floats() -> None:
    value: Any = round_down(np.float64(1.8679), 3)
    assert type(value) is float
    assert value == 1.86


@pytest.mark.parametrize("digits", [0, -1])
def test_digits_below_one_are_refused(digits: int) -> None:
    with pytest.raises(ValueError, match="digits must be at least 1"):
        round_down(1.0, digits)
