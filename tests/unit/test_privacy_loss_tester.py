"""Profiles from masses, known and counted: closed forms, enumerations, and the suite."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from samples import examine, laplace, normal
from scipy.stats import laplace as laplace_law
from scipy.stats import norm

from dpaudit import add_or_remove_one, floats
from dpaudit.claims import ApproxDP, Claim, GaussianDP, Profile, PureDP
from dpaudit.testers import (
    FiniteOutputs,
    PrivacyLossBounds,
    connect_the_dots,
    method_of,
    optimistic_profile,
)
from dpaudit.testers.event_bound import Curve, of_cells
from dpaudit.testers.privacy_loss import Cdf
from dpaudit.testing import check_tester

LEVELS = (0.0, 0.3, 1.0, 2.5, 5.0)


def shifted(mu: float) -> Cdf:
    return lambda x: np.asarray(norm.cdf(x - mu))


# Cells


def test_the_curve_of_cells_is_the_best_union_of_them() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        p, q = rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(6))
        p[rng.integers(6)] = q[rng.integers(6)] = 0.0
        curve = of_cells(p, q)
        unions = [list(chosen) for k in range(7) for chosen in itertools.combinations(range(6), k)]
        for level in LEVELS:
            best = max(float(p[each].sum() - math.exp(level) * q[each].sum()) for each in unions)
            assert curve.delta_lower(level) == pytest.approx(best, abs=1e-12)
        if math.isfinite(epsilon := curve.epsilon_lower(0.05)):
            assert epsilon == 0.0 or curve.excess(epsilon) == pytest.approx(0.05, abs=1e-9)


# Known distributions


@pytest.mark.parametrize("mu", [0.3, 1.0, 3.0])
def test_the_optimistic_profile_of_normals_is_below_and_near(mu: float) -> None:
    exact = GaussianDP(mu)
    edges = np.linspace(-9.0, 9.0 + mu, 4_000)
    curve = optimistic_profile(shifted(mu), shifted(0.0), edges)
    for level in LEVELS:
        assert exact.delta(level) - 2e-5 < curve.delta_lower(level) <= exact.delta(level) + 1e-15


def test_it_touches_the_true_profile_where_no_cell_straddles_the_level() -> None:
    """The loss of N(1, 1) against N(0, 1) is x - 1/2: edges at level + 1/2."""
    curve = optimistic_profile(shifted(1.0), shifted(0.0), [level + 0.5 for level in LEVELS])
    for level in LEVELS:
        assert curve.delta_lower(level) == pytest.approx(GaussianDP(1.0).delta(level), abs=1e-12)


def test_laplace_noise_has_its_epsilon_whatever_the_cells() -> None:
    """The loss is flat in the tails, so two cells show all of epsilon."""
    curve = optimistic_profile(lambda x: laplace_law.cdf(x - 1.0), laplace_law.cdf, [1.0])
    assert curve.epsilon_lower(0.0) == pytest.approx(1.0, abs=1e-12)
    assert curve.epsilon_lower(0.0) <= 1.0


def test_finer_cells_never_say_less() -> None:
    coarse, fine = (
        optimistic_profile(shifted(1.0), shifted(0.0), np.linspace(-6.0, 6.0, size))
        for size in (13, 25)
    )
    for level in LEVELS:
        assert coarse.delta_lower(level) <= fine.delta_lower(level) + 1e-12


def test_masses_that_make_no_sense_are_refused() -> None:
    for edges in ([], [1.0, 1.0], [[0.0, 1.0]]):
        with pytest.raises(ValueError, match="edges must be numbers that rise"):
            optimistic_profile(shifted(1.0), shifted(0.0), edges)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must rise from 0 to 1"):
        optimistic_profile(lambda x: 1.0 - norm.cdf(x), shifted(0.0), [0.0, 1.0])


@pytest.mark.parametrize("claim", [PureDP(1.0), ApproxDP(1.0, 0.1), GaussianDP(2.0)], ids=str)
def test_the_dots_are_connected_above_the_profile(claim: Claim) -> None:
    joined = connect_the_dots(claim.delta, [0.2, 1.0, 2.0, 3.0])
    assert isinstance(joined, Profile)
    for level in (0.2, 1.0, 2.0, 3.0):
        assert joined.delta(level) == pytest.approx(claim.delta(level), abs=1e-12)
    for level in np.linspace(0.0, 6.0, 61).tolist():
        assert joined.delta(level) >= claim.delta(level) - 1e-12
    for levels in ([], [1.0, 1.0], [2.0, 1.0]):
        with pytest.raises(ValueError, match="levels must be numbers that rise"):
            connect_the_dots(claim.delta, levels)


def test_known_bounds_enclose_the_truth_and_meet_claims() -> None:
    """What is below cannot refute what is above, and refutes a stricter claim."""
    below = optimistic_profile(shifted(1.0), shifted(0.0), np.linspace(-9.0, 10.0, 400))
    above = connect_the_dots(GaussianDP(1.0).delta, np.linspace(0.0, 4.0, 41).tolist())
    levels = np.linspace(0.0, 4.0, 81).tolist()
    assert all(below.delta_lower(level) <= above.delta(level) for level in levels)
    assert any(below.delta_lower(level) > GaussianDP(0.99).delta(level) for level in levels)


# Counted masses


@pytest.mark.parametrize("tester", [PrivacyLossBounds(), FiniteOutputs()], ids=["loss", "finite"])
def test_they_pass_the_suite(tester: PrivacyLossBounds | FiniteOutputs) -> None:
    assert method_of(tester).refutes
    check_tester(tester, claims=[PureDP(1.0), GaussianDP(1.0)], runs=3)


def test_the_counted_profile_is_near_and_below() -> None:
    x, y = normal(20_000)
    curve = PrivacyLossBounds().curve(x, y, alpha=0.05, rng=np.random.default_rng(0))
    assert isinstance(curve, Curve)
    for level in (0.0, 0.5, 1.0):
        exact = GaussianDP(1.0).delta(level)
        assert 0.75 * exact < curve.delta_lower(level) < exact


def test_losses_of_unlike_levels_are_seen_with_one_curve() -> None:
    found = examine(PrivacyLossBounds(), laplace(1.0, 20_000, 0), laplace(0.0, 20_000, 1))
    assert found.strength_lower is not None
    assert 0.7 < found.strength_lower < 1.0


def test_finite_outputs_are_bounded_one_by_one() -> None:
    """The naive sum over outputs, with the bounds of a cell each."""
    rng = np.random.default_rng(0)
    p, q = [0.5, 0.3, 0.2], [0.1, 0.3, 0.6]
    x, y = (rng.choice(["a", "b", "c"], size=20_000, p=each).tolist() for each in (p, q))
    found = examine(FiniteOutputs(), x, y, PureDP(0.5))
    assert found.strength_lower is not None
    assert 1.4 < found.strength_lower < math.log(5.0)
    excess = max(0.5 - math.exp(0.5) * 0.1, 0.0)
    assert 0.9 * excess < found.lower_bound < excess


def test_outputs_that_never_repeat_show_nothing() -> None:
    x, y = laplace(9.0, seed=0), laplace(0.0, seed=1)
    assert examine(FiniteOutputs(), x, y).lower_bound <= 0.0


@pytest.mark.parametrize("above", [2.0, 0.5])
def test_the_share_of_broken_pairs(above: float) -> None:
    """Only a record above a bound is told, and always; with a bound of 2 there are none."""

    def told(data: list[float]) -> bool:
        return any(record > above for record in data)

    def tells(data: list[float], size: int, rng: np.random.Generator) -> list[str]:
        return ["yes" if told(data) else "no"] * size

    neighbours = add_or_remove_one(floats(0, 1), max_records=1)
    share = FiniteOutputs().share_broken(
        tells, PureDP(0.3), neighbours, pairs=60, draws=100, alpha=1e-3, rng=1
    )
    rng = np.random.default_rng(0)
    pairs = [neighbours.random_pair(rng) for _ in range(2_000)]
    truth = float(np.mean([told(pair.data) != told(pair.neighbour) for pair in pairs]))
    assert 0.5 * truth <= share <= truth
