"""The levels of a claim at which to bet, and profiles that users bring."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.claims import ZCDP, ApproxDP, GaussianDP, Profile, PureDP, RenyiDP
from dpaudit.errors import InvalidClaim

CLAIMS: tuple[Any, ...] = (
    PureDP(1.0),
    ApproxDP(1.0, 1e-6),
    RenyiDP(2.0, 0.5),
    ZCDP(0.1),
    GaussianDP(1.0),
    Profile(math.exp, name="any"),
)

# --- levels ---------------------------------------------------------------------------------------


def test_pure_and_approximate_claims_have_one_level() -> None:
    for count in (1, 2, 9):
        assert PureDP(1.5).tangents(count) == ((1.5, 0.0),)
        assert ApproxDP(1.5, 1e-6).tangents(count) == ((1.5, 1e-6),)


@pytest.mark.parametrize(
    "claim",
    [
        *(GaussianDP(mu) for mu in (1e-3, 0.3, 1.0, 4.0)),
        *(ZCDP(rho) for rho in (1e-6, 0.1, 4.0)),
        *(RenyiDP(order, e) for order in (1.5, 2.0, 10.0) for e in (1e-3, 0.5, 5.0)),
        Profile(GaussianDP(1.0).delta),
        Profile(PureDP(1e-4).delta),
    ],
    ids=str,
)
def test_levels_lie_on_the_profile_and_span_its_descent(claim: Any) -> None:
    points = claim.tangents(12)
    levels = [level for level, _ in points]
    deltas = [delta for _, delta in points]
    assert len(points) == 12
    assert levels == sorted(set(levels))
    assert deltas == [claim.delta(level) for level in levels]
    assert deltas == sorted(deltas, reverse=True)
    assert deltas[0] < 1.0
    assert deltas[0] >= 0.99 * claim.delta(0.0)
    assert deltas[-1] <= 3e-3 * deltas[0]
    assert levels[-1] <= 50.0


def test_gaussian_levels_by_hand() -> None:
    levels = [level for level, _ in GaussianDP(1.0).tangents(8)]
    assert levels == pytest.approx([0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5])  # to 1/2 + 3
    assert [level for level, _ in ZCDP(0.5).tangents(8)] == pytest.approx(levels)
    assert GaussianDP(8.0).tangents(3)[0][0] == pytest.approx(8.0)  # 8^2/2 - 3 * 8
    assert [level for level, _ in GaussianDP(1.0).tangents(1)] == [1.75]


def test_levels_that_say_nothing_are_left_out() -> None:
    first, delta = RenyiDP(10.0, 5.0).tangents(8)[0]
    assert RenyiDP(10.0, 5.0).delta(first - 1e-3) == 1.0
    assert 0.99 < delta < 1.0
    assert all(delta < 1.0 for _, delta in ZCDP(80.0).tangents(6))
    assert GaussianDP(0.0).tangents(8) == ((0.0, 0.0),)
    assert GaussianDP(100.0).tangents(8) == ((50.0, 1.0),)  # nothing to bet on, but never empty
    assert Profile(lambda epsilon: 7.0).tangents(8) == ((0.0, 1.0),)


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_a_count_below_one_is_refused(claim: Any) -> None:
    with pytest.raises(ValueError, match="count must be at least 1, got 0"):
        claim.tangents(0)


# --- profiles -------------------------------------------------------------------------------------


def constant(value: Any) -> Callable[[float], float]:
    return lambda epsilon: value


def test_profile_is_capped_and_takes_numpy_values() -> None:
    assert Profile(lambda epsilon: 3.0).delta(1.0) == 1.0
    for convert in (np.float64, np.float32, np.asarray, lambda x: np.array([x]), Fraction):
        value = Profile(constant(convert(0.25))).delta(1.0)
        assert type(value) is float
        assert value == 0.25


@pytest.mark.parametrize("bad", [math.nan, -1e-12, None, "0.1", 1j, True, np.bool_(True)])
def test_profile_refuses_what_is_not_a_delta(bad: Any) -> None:
    with pytest.raises(InvalidClaim, match=r"delta >= 0, got .* at epsilon=0\.5"):
        Profile(constant(bad)).delta(0.5)


@pytest.mark.parametrize(
    "function",
    [
        lambda epsilon: epsilon / 100,
        lambda epsilon: 0.5 - 0.1 * math.sin(epsilon),
        lambda epsilon: 0.2 if epsilon < 1 else 0.3 if epsilon < 2 else 0.0,
    ],
)
def test_profile_refuses_to_increase(function: Callable[[float], float]) -> None:
    with pytest.raises(InvalidClaim, match="a profile must not increase, got delta"):
        Profile(function).tangents(4)


def test_profile_forgives_the_rounding_of_an_accountant() -> None:
    assert Profile(lambda epsilon: 0.1 + 1e-14 * (epsilon > 1)).tangents(5) == ((0.0, 0.1),)
    with pytest.raises(InvalidClaim, match="a profile must not increase"):
        Profile(lambda epsilon: 0.1 + 1e-8 * (epsilon > 1)).tangents(5)


def test_profile_stops_where_it_stops_decreasing() -> None:
    claim = Profile(ApproxDP(0.7, 0.01).delta)
    last, delta = claim.tangents(5)[-1]
    assert last == pytest.approx(0.7, abs=1e-3)
    assert delta == pytest.approx(0.01, rel=0.02)


def test_profile_tells_which_function_failed() -> None:
    def broken(epsilon: float) -> float:
        raise ZeroDivisionError("inside")

    with pytest.raises(ZeroDivisionError, match="inside") as caught:
        Profile(broken).delta(0.5)
    assert caught.value.__notes__ == [
        "while asking privacy profile 'broken' for delta at epsilon=0.5"
    ]


def test_profile_wants_a_function_and_a_name() -> None:
    with pytest.raises(InvalidClaim, match=r"a function from epsilon to delta, got 1\.0"):
        Profile(1.0)  # type: ignore[arg-type]
    with pytest.raises(InvalidClaim, match="name must be a string, got 3"):
        Profile(math.exp, name=3)  # type: ignore[arg-type]
