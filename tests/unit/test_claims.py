"""Claims against high precision, by hand, and against everything that is not a claim."""

import copy
import dataclasses
import math
import pickle
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any, cast

import mpmath as mp  # type: ignore[import-untyped]
import numpy as np
import pytest

import dpaudit.claims
from dpaudit.claims import ZCDP, ApproxDP, Claim, GaussianDP, Profile, PureDP, RenyiDP, Scalable
from dpaudit.errors import InvalidClaim

DIGITS = 60
SCALABLE: tuple[Scalable, ...] = (
    PureDP(1.0),
    ApproxDP(1.0, 1e-6),
    RenyiDP(2.0, 0.5),
    ZCDP(0.1),
    GaussianDP(1.0),
)
CLAIMS: tuple[Any, ...] = (*SCALABLE, Profile(math.exp, name="any"))
LEVELS = (0.0, 1e-4, 1e-2, 0.1, 0.5, 0.999999, 1.0, 2.0, 5.0, 10.0, 20.0, 49.999, 50.0)
STRENGTHS = (1e-4, 1e-3, 0.1, 1.0, 3.0, 10.0, 50.0)


def normal_cdf(x: Any) -> Any:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def gaussian_profile(mu: float, epsilon: float) -> Any:
    """The textbook difference, with digits to spare for its cancellation."""
    m, e = mp.mpf(mu), mp.mpf(epsilon)
    return normal_cdf(m / 2 - e / m) - mp.exp(e) * normal_cdf(-m / 2 - e / m)


def renyi_profile(order: Any, divergence: Any, epsilon: float) -> Any:
    a = mp.mpf(order)
    return mp.exp((a - 1) * (divergence - mp.mpf(epsilon))) / (a - 1) * (1 - 1 / a) ** a


def zcdp_profile(rho: float, epsilon: float) -> Any:
    """The least bound over the orders, by golden section on `log(order - 1)`."""
    golden = (mp.sqrt(5) - 1) / 2

    def bound(log_excess: Any) -> Any:
        order = 1 + mp.exp(log_excess)
        return mp.log(renyi_profile(order, order * mp.mpf(rho), epsilon))

    low, high = mp.mpf(-160), mp.mpf(20)
    for _ in range(90):
        left, right = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, right) if bound(left) < bound(right) else (left, high)
    return mp.exp(bound((low + high) / 2))


def relative_error(value: float, truth: Any) -> float:
    return abs(float(mp.mpf(value) / truth - 1))


# --- accuracy -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mu", [1e-3, 3e-3, 1e-2, 0.1, 0.5, 0.99, 1.0, 1.01, 2.0, 5.0, 10.0])
def test_gaussian_profile_keeps_its_digits_where_its_terms_cancel(mu: float) -> None:
    levels = [*LEVELS, *(mu * z for z in (0.01, 0.3, 1, 3, 10, 25, 36)), mu * mu / 2]
    checked = 0
    with mp.workdps(DIGITS):
        for epsilon in levels:
            truth = gaussian_profile(mu, epsilon)
            if epsilon <= 50 and truth > mp.mpf("1e-300"):
                assert relative_error(GaussianDP(mu).delta(epsilon), truth) < 1e-12, epsilon
                checked += 1
    assert checked >= 10


def test_gaussian_profile_at_zero_is_the_total_variation() -> None:
    for mu in (1e-9, 1e-3, 0.2, 1.0, 4.0, 30.0):
        truth = math.erf(mu / math.sqrt(8.0))
        assert GaussianDP(mu).delta(0.0) == pytest.approx(truth, rel=1e-14, abs=0)


@pytest.mark.parametrize("strength", STRENGTHS)
def test_pure_and_approximate_profiles_keep_their_digits(strength: float) -> None:
    with mp.workdps(DIGITS):
        for level in (*LEVELS, strength * (1 - 1e-9), strength * (1 + 1e-9)):
            e = mp.exp(mp.mpf(strength))
            truth = max(mp.mpf(0), (e - mp.exp(mp.mpf(level))) / (1 + e))
            value = PureDP(strength).delta(level)
            assert (value == 0.0) if truth == 0 else relative_error(value, truth) < 1e-14
            for slack in (0.0, 1e-12, 1e-6, 0.3):
                full = mp.mpf(slack) + (1 - mp.mpf(slack)) * truth
                value = ApproxDP(strength, slack).delta(level)
                assert (value == 0.0) if full == 0 else relative_error(value, full) < 1e-14


@pytest.mark.parametrize("order", [1 + 1e-9, 1.01, 1.5, 1.99, 2.0, 2.01, 10.0, 1e3, 1e6])
def test_renyi_profile_keeps_its_digits(order: float) -> None:
    below_one = 0
    with mp.workdps(DIGITS):
        for strength in STRENGTHS:
            for level in LEVELS:
                truth = renyi_profile(order, mp.mpf(strength), level)
                value = RenyiDP(order, strength).delta(level)
                if truth >= 1:
                    assert value == 1.0
                elif truth > mp.mpf("1e-300"):
                    assert relative_error(value, truth) < 1e-12
                    below_one += 1
    assert below_one >= 5


@pytest.mark.parametrize("rho", [1e-6, 1e-3, 0.1, 0.5, 2.0, 50.0])
def test_zcdp_profile_is_the_least_over_the_orders(rho: float) -> None:
    checked = 0
    with mp.workdps(DIGITS):
        for level in (0.0, rho, *(rho + math.sqrt(2 * rho) * z for z in (0.1, 1, 6, 25))):
            truth = zcdp_profile(rho, level)
            assert relative_error(ZCDP(rho).delta(level), truth) < 1e-12
            checked += truth < 0.99
    assert checked >= 3


def test_renyi_conversion_by_hand() -> None:
    # order 2: e^(e - epsilon) * (1/2)^2
    assert RenyiDP(2, 0.5).delta(1.0) == pytest.approx(math.exp(-0.5) / 4, rel=1e-15)
    assert RenyiDP(2, 10).delta(0.0) == 1.0


@pytest.mark.parametrize(
    ("claim", "level", "expected"),
    [
        (PureDP(1e308), 0.0, 1.0),
        (PureDP(1.0), 1e308, 0.0),
        (PureDP(0.0), 0.0, 0.0),
        (ApproxDP(1e308, 0.5), 0.0, 1.0),
        (ApproxDP(0.0, 0.25), 0.0, 0.25),
        (ApproxDP(1.0, 0.25), 1e308, 0.25),
        (RenyiDP(1e308, 1.0), 1e308, 0.0),
        (RenyiDP(1e308, 1e308), 0.0, 1.0),
        (RenyiDP(math.nextafter(1.0, 2.0), 1.0), 0.0, pytest.approx(1.0, rel=1e-13)),
        (ZCDP(0.0), 0.0, 0.0),
        (ZCDP(5e-324), 1.0, 0.0),
        (ZCDP(1e308), 0.0, 1.0),
        (ZCDP(1.0), 1e308, 0.0),
        (GaussianDP(0.0), 0.0, 0.0),
        (GaussianDP(5e-324), 1.0, 0.0),
        (GaussianDP(1e308), 0.0, 1.0),
        (GaussianDP(1.0), 1e308, 0.0),
        (GaussianDP(100.0), 4000.0, pytest.approx(1.0, rel=1e-15)),
    ],
)
def test_extremes_neither_overflow_nor_divide_by_zero(
    claim: Claim, level: float, expected: Any
) -> None:
    assert claim.delta(level) == expected


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
@pytest.mark.parametrize("level", [-1e-9, -1, math.nan, math.inf, "1", None, True])
def test_a_level_that_is_not_a_level_is_refused(claim: Claim, level: Any) -> None:
    with pytest.raises(InvalidClaim, match=r"epsilon must be .*>= 0"):
        claim.delta(level)


# --- values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [-1.0, -1, math.nan, math.inf, "1", None, True, 1j, [1.0], 10**400])
@pytest.mark.parametrize(
    ("build", "name"),
    [
        (PureDP, "epsilon"),
        (lambda x: ApproxDP(x, 1e-6), "epsilon"),
        (lambda x: ApproxDP(1.0, x), "delta"),
        (lambda x: RenyiDP(x, 1.0), "order"),
        (lambda x: RenyiDP(2.0, x), "epsilon"),
        (ZCDP, "rho"),
        (GaussianDP, "mu"),
    ],
)
def test_nonsense_is_refused_by_name_and_value(
    build: Callable[[Any], Claim], name: str, bad: Any
) -> None:
    with pytest.raises(InvalidClaim) as caught:
        build(bad)
    assert str(caught.value).startswith(f"{name} must be ")
    assert repr(bad) in str(caught.value)


def test_the_edges_of_delta_and_order() -> None:
    assert ApproxDP(1, 0.0).delta(1.0) == 0.0
    for delta in (1.0, 1.5):
        with pytest.raises(InvalidClaim, match=r"delta must be in \[0, 1\), got 1"):
            ApproxDP(1.0, delta)
    for order in (1.0, 0.5, 0.0):
        with pytest.raises(InvalidClaim, match="order must be > 1"):
            RenyiDP(order, 1.0)
    assert isinstance(InvalidClaim("x"), ValueError)


@pytest.mark.parametrize(
    ("by_position", "by_name"),
    [
        (PureDP(1), PureDP(epsilon=1.0)),
        (ApproxDP(1, 1e-6), ApproxDP(delta=1e-6, epsilon=1.0)),
        (RenyiDP(2, 0.5), RenyiDP(epsilon=0.5, order=2.0)),
        (ZCDP(0.1), ZCDP(rho=0.1)),
        (GaussianDP(1), GaussianDP(mu=1.0)),
        (PureDP(cast(Any, Fraction(1, 4))), PureDP(epsilon=0.25)),
        (PureDP(float(np.float32(0.25))), PureDP(epsilon=np.float64(0.25))),
    ],
)
def test_claims_are_values(by_position: Any, by_name: Any) -> None:
    assert by_position == by_name
    assert hash(by_position) == hash(by_name)
    for copied in (
        pickle.loads(pickle.dumps(by_position)),
        copy.copy(by_position),
        copy.deepcopy(by_position),
        eval(repr(by_position)),
    ):
        assert type(copied) is type(by_position)
        assert copied == by_position
        assert copied.delta(0.5) == by_position.delta(0.5)


def test_different_claims_differ() -> None:
    assert len({*SCALABLE, PureDP(2.0), ApproxDP(1.0, 1e-7), ApproxDP(2.0, 1e-6)}) == 8
    one: Any = PureDP(1.0)
    assert one != GaussianDP(1.0)


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_claims_are_frozen(claim: Any) -> None:
    for field in dataclasses.fields(claim):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(claim, field.name, 2.0)


def test_numpy_numbers_become_plain_floats() -> None:
    claim = ApproxDP(np.float64(1.0), np.float32(0.25))  # type: ignore[arg-type]
    assert repr(claim) == "ApproxDP(epsilon=1.0, delta=0.25)"
    assert type(claim.delta(np.int64(1))) is float  # type: ignore[arg-type]
    assert math.copysign(1.0, PureDP(-0.0).epsilon) == 1.0


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        (PureDP(1.0), "1-DP"),
        (PureDP(0.1 + 0.2), "0.3-DP"),
        (PureDP(1.2345678), "1.2345678-DP"),
        (ApproxDP(1, 1e-6), "(1, 1e-06)-DP"),
        (RenyiDP(2, 0.5), "(order 2, 0.5)-Rényi DP"),
        (ZCDP(0.1), "0.1-zCDP"),
        (GaussianDP(1), "1-GDP"),
        (Profile(math.exp, name="pld"), "privacy profile 'pld'"),
        (Profile(math.exp), "privacy profile 'exp'"),
        (Profile(lambda epsilon: 0.0), "privacy profile"),
    ],
)
def test_one_line(claim: Claim, text: str) -> None:
    assert str(claim) == text


def test_protocols() -> None:
    assert all(isinstance(claim, Claim) for claim in CLAIMS)
    assert all(isinstance(claim, Scalable) for claim in SCALABLE)
    assert not isinstance(Profile(math.exp), Scalable)
    assert not isinstance("eps=1", Claim)


@pytest.mark.parametrize(
    ("claim", "symbol", "strength", "scaled"),
    [
        (PureDP(1.0), "epsilon", 1.0, PureDP(0.25)),
        (ApproxDP(1.0, 1e-6), "epsilon", 1.0, ApproxDP(0.25, 1e-6)),
        (RenyiDP(3.0, 0.5), "epsilon", 0.5, RenyiDP(3.0, 0.25)),
        (ZCDP(0.1), "rho", 0.1, ZCDP(0.25)),
        (GaussianDP(2.0), "mu", 2.0, GaussianDP(0.25)),
    ],
)
def test_the_parameter_that_scales_a_claim(
    claim: Scalable, symbol: str, strength: float, scaled: Scalable
) -> None:
    assert (claim.symbol, claim.strength) == (symbol, strength)
    assert claim.with_strength(0.25) == scaled
    assert claim.with_strength(claim.strength) == claim
    with pytest.raises(InvalidClaim, match=f"{symbol} must be >= 0"):
        claim.with_strength(-0.25)


@pytest.mark.parametrize(
    ("claim", "point"),
    [
        (PureDP(1.0), (1.0, 0.0)),
        (ApproxDP(1.0, 1e-6), (1.0, 1e-6)),
        *((claim, None) for claim in (*SCALABLE[2:], Profile(math.exp))),
    ],
    ids=str,
)
def test_the_point_of_a_claim(claim: Any, point: tuple[float, float] | None) -> None:
    assert claim.point == dpaudit.claims.point_of(claim) == point


def test_a_claim_of_ones_own_needs_no_point() -> None:
    class Own:
        def delta(self, epsilon: float) -> float:
            return math.exp(-epsilon)

    assert isinstance(Own(), Claim)
    assert dpaudit.claims.point_of(Own()) is None


def test_claims_load_neither_numpy_nor_scipy() -> None:
    code = """
import sys
from dpaudit import claims as c
from dpaudit.claims import claim_from_json
for claim in (c.PureDP(1), c.ApproxDP(1, .1), c.RenyiDP(2, 1), c.ZCDP(1), c.GaussianDP(1)):
    claim.delta(0.5), claim.tangents(4), claim_from_json(claim.to_json())
print([name for name in ("numpy", "scipy") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
