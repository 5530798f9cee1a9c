"""What holds of every claim: a decreasing, convex curve, nested in its strength, mostly tight."""

import itertools
import json
import math
from typing import Any

import mpmath as mp  # type: ignore[import-untyped]
from hypothesis import assume, given
from hypothesis import strategies as st

import dpaudit.claims
from dpaudit.claims import ZCDP, ApproxDP, Claim, GaussianDP, Profile, PureDP, RenyiDP, Scalable

ROUNDING = 1e-9


def log_uniform(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(math.log(low), math.log(high)).map(math.exp)


epsilons = log_uniform(1e-4, 50.0)
levels = st.just(0.0) | epsilons
slacks = st.just(0.0) | log_uniform(1e-12, 0.9)
orders = log_uniform(1e-3, 1e3).map(lambda excess: 1.0 + excess)
mus = log_uniform(1e-3, 10.0)
rhos = log_uniform(1e-6, 50.0)

tight = st.one_of(epsilons.map(PureDP), st.builds(ApproxDP, epsilons, slacks), mus.map(GaussianDP))
implied = st.one_of(rhos.map(ZCDP), st.builds(RenyiDP, orders, epsilons))
claims: st.SearchStrategy[Any] = tight | implied


@given(claims, levels, levels)
def test_a_profile_is_a_probability_and_never_increases(
    claim: Claim, one: float, other: float
) -> None:
    low, high = sorted((one, other))
    assert 0.0 <= claim.delta(high) <= claim.delta(low) * (1 + ROUNDING) <= 1 + ROUNDING
    assert claim.delta(low) <= 1.0


@given(claims, st.tuples(levels, levels, levels).map(sorted))
def test_a_profile_is_convex_in_e_to_the_epsilon(claim: Claim, where: list[float]) -> None:
    left, middle, right = where
    assume(left < middle < right)
    high, low = claim.delta(left), claim.delta(right)
    if not isinstance(claim, PureDP | ApproxDP | GaussianDP):
        assume(high < 1.0)  # the cap at 1 bends a converted profile the other way
    # math.expm1(50) is far from overflow
    share = math.expm1(middle - left) / math.expm1(right - left)
    assert claim.delta(middle) <= ((1 - share) * high + share * low) * (1 + ROUNDING)


@given(claims, st.floats(0.0, 1.0), levels)
def test_the_nulls_are_nested_in_the_dial(claim: Scalable, share: float, level: float) -> None:
    stricter = claim.with_strength(share * claim.strength)
    assert stricter.delta(level) <= claim.delta(level) * (1 + ROUNDING)


def largest_advantage(p: list[Any], q: list[Any], level: float) -> Any:
    """`sup_A P(A) - e^level Q(A)` by trying every event."""
    factor = mp.exp(mp.mpf(level))
    events = itertools.product((0, 1), repeat=len(p))
    return max(
        sum(a * (x - factor * y) for a, x, y in zip(event, p, q, strict=True)) for event in events
    )


@given(epsilons, slacks, levels)
def test_pure_and_approximate_profiles_are_attained(
    epsilon: float, slack: float, level: float
) -> None:
    with mp.workdps(100):
        yes = 1 / (1 + mp.exp(-mp.mpf(epsilon)))
        pure = largest_advantage([yes, 1 - yes], [1 - yes, yes], level)
        d = mp.mpf(slack)
        p = [d, (1 - d) * yes, (1 - d) * (1 - yes), mp.mpf(0)]
        approximate = largest_advantage(p, p[::-1], level)
        for claim, truth in ((PureDP(epsilon), pure), (ApproxDP(epsilon, slack), approximate)):
            assert abs(mp.mpf(claim.delta(level)) - truth) <= 1e-13 * truth + mp.mpf("1e-50")


@given(mus, orders, levels)
def test_the_gaussian_mechanism_keeps_the_claims_it_implies(
    mu: float, order: float, level: float
) -> None:
    """`mu`-GDP implies `mu^2/2`-zCDP, which implies `order mu^2/2` Rényi DP at every order."""
    rho = mu * mu / 2
    exact = GaussianDP(mu).delta(level)
    concentrated = ZCDP(rho).delta(level)
    assert exact <= concentrated * (1 + ROUNDING)
    assert concentrated <= RenyiDP(order, order * rho).delta(level) * (1 + ROUNDING)


@given(epsilons, orders, levels)
def test_randomized_response_keeps_the_renyi_claim_it_implies(
    epsilon: float, order: float, level: float
) -> None:
    with mp.workdps(40):
        yes = 1 / (1 + mp.exp(-mp.mpf(epsilon)))
        a = mp.mpf(order)
        moment = yes**a * (1 - yes) ** (1 - a) + (1 - yes) ** a * yes ** (1 - a)
        divergence = float(mp.log(moment) / (a - 1))
    assert PureDP(epsilon).delta(level) <= RenyiDP(order, divergence).delta(level) * (1 + ROUNDING)


@given(claims, st.integers(1, 40))
def test_levels_are_ordered_points_of_the_profile(claim: Any, count: int) -> None:
    points = claim.tangents(count)
    assert 1 <= len(points) <= count
    assert all(delta == claim.delta(level) for level, delta in points[:3] + points[-1:])
    assert all(left < right for (left, _), (right, _) in itertools.pairwise(points))


@given(claims)
def test_saved_and_printed_forms_are_the_claim(claim: Any) -> None:
    assert dpaudit.claims.claim_from_json(json.loads(json.dumps(claim.to_json()))) == claim
    fields = {name: value for name, value in claim.to_json().items() if name != "kind"}
    assert (
        dpaudit.claims.parse_claim(",".join(f"{name}={value!r}" for name, value in fields.items()))
        == claim
    )


@given(tight, levels)
def test_a_saved_profile_never_promises_more(claim: Claim, level: float) -> None:
    loaded = dpaudit.claims.claim_from_json(Profile(claim.delta).to_json())
    assert loaded.delta(level) >= claim.delta(level) * (1 - ROUNDING)
