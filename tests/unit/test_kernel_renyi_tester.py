"""The kernel Rényi tester: its tangents, the inequality behind it, claims, and odd outputs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from samples import examine

from dpaudit.arrays import Floats
from dpaudit.claims import ZCDP, ApproxDP, Claim, GaussianDP, PureDP, RenyiDP
from dpaudit.errors import Underpowered, UnsupportedClaim
from dpaudit.testers import KernelRenyi, method_of, pure_renyi
from dpaudit.testers.kernel_renyi import _Tangent
from dpaudit.testing import check_tester

ORDERS = (1.05, 1.5, 2.0)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def power(matrix: Floats, exponent: float) -> Floats:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, 0.0) ** exponent) @ vectors.T)


def trace(first: Floats, second: Floats, order: float) -> float:
    """`tr(A^a B^(1-a))`, by its definition."""
    return float(np.trace(power(first, order) @ power(second, 1.0 - order)))


def covariance(size: int, rank: int, seed: int) -> Floats:
    rows = rng(seed).normal(size=(rank, size))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows.T @ rows / rank)


@pytest.mark.parametrize("order", ORDERS)
def test_a_tangent_touches_the_trace_and_lies_below_it_everywhere(order: float) -> None:
    size, ridge = 5, 0.01
    identity = ridge * np.eye(size)
    for seed in range(20):
        first, second = covariance(size, 3, seed), covariance(size, 9, 100 + seed)
        tangent = _Tangent.at(first, second, ridge, order)

        def value(a: Floats, b: Floats, tangent: _Tangent = tangent) -> float:
            return float(np.trace(tangent.slope @ a) + np.trace(tangent.neighbour_slope @ b))

        touched = trace(first, second + identity, order)
        assert value(first, second + identity) == pytest.approx(touched, rel=1e-9)
        for other in range(20):
            a, b = covariance(size, 2, 200 + other), covariance(size, 4, 300 + other) + identity
            assert value(a, b) <= trace(a, b, order) + 1e-9


@pytest.mark.parametrize("order", ORDERS)
def test_the_trace_is_at_most_that_of_the_outputs(order: float) -> None:
    """`tr(S_P^a (S_Q + ridge)^(1-a)) <= sum p^a q^(1-a)`, for any features of norm at most 1."""
    for seed in range(30):
        generator = rng(seed)
        p, q = generator.dirichlet(np.ones(6)), generator.dirichlet(np.ones(6))
        features = generator.normal(size=(6, 3))
        norms = np.linalg.norm(features, axis=1, keepdims=True)
        features *= generator.random((6, 1)) / norms
        first, second = ((features.T * each) @ features for each in (p, q))
        most = float((p**order * q ** (1.0 - order)).sum())
        for ridge in (1e-6, 0.1):
            assert trace(first, second + ridge * np.eye(3), order) <= most + 1e-9


@pytest.mark.parametrize(
    ("claim", "order", "allowed"),
    [
        (PureDP(0.7), 2.0, pure_renyi(0.7, 2.0)),
        (ZCDP(0.3), 1.5, 0.45),
        (GaussianDP(1.0), None, 1.0),
        (RenyiDP(2.0, 0.4), None, 0.4),
        (RenyiDP(1.3, 0.4), None, 0.4),
        (RenyiDP(8.0, 0.4), 1.5, 0.4),
    ],
    ids=str,
)
def test_what_claims_allow(claim: Claim, order: float | None, allowed: float) -> None:
    assert KernelRenyi(order=order).threshold(claim) == pytest.approx(allowed)


def test_claims_and_settings_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UnsupportedClaim, match=r"use KernelRenyi\(order=1.3\)"):
        KernelRenyi(order=2.0).threshold(RenyiDP(1.3, 0.4))
    with pytest.raises(UnsupportedClaim, match="bounds no Rényi divergence"):
        KernelRenyi().threshold(ApproxDP(1.0, 1e-6))
    for order in (1.0, 2.5, math.nan):
        with pytest.raises(ValueError, match=r"order must be in \(1, 2\]"):
            KernelRenyi(order=order)
    with pytest.raises(Underpowered):
        examine(KernelRenyi(), np.zeros(40), np.ones(40), PureDP(5.0))


def test_it_comes_near_the_divergence_and_stays_below() -> None:
    """N(1, 1) against N(0, 1): the divergence of order a is a / 2."""
    x, y = rng(0).normal(size=20_000) + 1.0, rng(1).normal(size=20_000)
    for order in (1.2, 2.0):
        found = examine(KernelRenyi(order=order), x, y, GaussianDP(0.5)).lower_bound
        assert 0.6 * order / 2.0 < found < order / 2.0


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (np.zeros(900), np.zeros(900)),
        (np.full(900, np.nan), np.full(900, np.nan)),
        (np.tile([1e300, -1e300, np.inf], 300), np.tile([1e300, np.inf, -1e300], 300)),
        ([()] * 900, [()] * 900),
        (rng(2).standard_cauchy(900), rng(3).standard_cauchy(900)),
    ],
    ids=["zeros", "nan", "huge", "empty", "cauchy"],
)
def test_outputs_that_tell_nothing_certify_nothing(x: Any, y: Any) -> None:
    assert examine(KernelRenyi(), x, y, PureDP(0.01)).lower_bound <= 0.0


def test_it_passes_the_suite() -> None:
    assert method_of(KernelRenyi()).refutes
    check_tester(KernelRenyi(), claims=[PureDP(1.0), RenyiDP(1.5, 0.5)], runs=3)
