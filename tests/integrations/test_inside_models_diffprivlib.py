"""Models of diffprivlib inside: known faults are found, others not accused, losses exact.

All audits here are of pure claims, which one exact loss decides.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import dpaudit
from dpaudit import InsideVerdict, PureDP
from dpaudit.inside import shown_coins, transcript_of
from dpaudit.mechanism import as_mechanism
from dpaudit.neighbours import Pair

pytest.importorskip("diffprivlib", reason="diffprivlib is not installed")
models = import_module("diffprivlib.models")
accountant = import_module("diffprivlib.accountant")
pytestmark = pytest.mark.filterwarnings(  # of the optimiser behind logistic regression
    "ignore:scipy.optimize. The `disp`:DeprecationWarning", "ignore:lbfgs failed to converge"
)

Rng = np.random.Generator


def learned(model: Any, names: tuple[str, ...], **settings: Any) -> Any:
    """A function that fits a model on records whose last column is the label."""

    def fit(data: Any, rng: Rng) -> list[float]:
        state = np.random.RandomState(shown_coins(rng).bit_generator)
        budget = accountant.BudgetAccountant()
        one = model(epsilon=1.0, random_state=state, accountant=budget, **settings)
        one.fit(data[:, :-1], data[:, -1])
        return [float(x) for name in names for x in np.ravel(getattr(one, name))]

    return fit


LINE = ("coef_",)
NEAR = [[0.0, 0.0]] * 3
TREE = {"bounds": (0, 1), "classes": [0, 1], "max_depth": 2}
LEAVES = [[0.1, 0.0], [0.2, 1.0], [0.9, 1.0]]


def told(trees: int) -> Any:
    """A forest, or a tree, and what it predicts."""

    def fit(data: Any, rng: Rng) -> list[float]:
        state = np.random.RandomState(shown_coins(rng).bit_generator)
        given = {**TREE, "accountant": accountant.BudgetAccountant(), "random_state": state}
        one = models.DecisionTreeClassifier(epsilon=1.0, **given)
        if trees > 1:
            one = models.RandomForestClassifier(trees, epsilon=1.0, **given)
        one.fit(data[:, :-1], data[:, -1])
        corners = np.array([[0.0], [0.3], [0.7], [1.0]])
        return [
            float(y) for tree in getattr(one, "estimators_", [one]) for y in tree.predict(corners)
        ]

    return fit


def test_linear_regression_with_a_lower_bound_of_zero_has_no_noise() -> None:
    pair = np.array([[1.0, 0.0], *NEAR]), np.array([[0.1, 0.0], *NEAR])
    wrong = learned(models.LinearRegression, LINE, bounds_X=(0, 1), bounds_y=(0, 1))
    found = dpaudit.audit_inside(wrong, PureDP(1.0), [pair], rng=1)
    assert found.verdict is InsideVerdict.BROKEN_INSIDE
    right = learned(
        models.LinearRegression, LINE, bounds_X=(-1, 1), bounds_y=(-1, 1), fit_intercept=False
    )
    found = dpaudit.audit_inside(right, PureDP(1.0), [pair], rng=1, transcripts=60)
    assert found.verdict is InsideVerdict.NOT_REFUTED


def test_logistic_regression_of_a_large_norm_is_broken_inside() -> None:
    rows = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    for norm, verdict in ((100.0, "broken inside"), (1.0, "not refuted")):
        far = rows.copy()
        far[0, 0] = norm
        code = learned(models.LogisticRegression, LINE, data_norm=norm, fit_intercept=False)
        found = dpaudit.audit_inside(code, PureDP(1.0), [(rows, far)], rng=1, transcripts=100)
        assert found.verdict.value == verdict


def test_an_optimiser_that_stops_early_is_refused() -> None:
    rows = np.array([[0.5, 0.0], [0.0, 0.0], [0.2, 1.0], [1.0, 1.0]])
    code = learned(models.LogisticRegression, LINE, data_norm=1.0, fit_intercept=False, max_iter=1)
    found = dpaudit.audit_inside(code, PureDP(1.0), [(rows, rows[::-1])], rng=1)
    assert found.verdict is InsideVerdict.CANNOT_FOLLOW
    assert "optimiser" in found.reason


def test_a_tree_is_followed_where_a_record_makes_a_leaf_empty() -> None:
    rows = np.array(LEAVES)
    pairs = [(rows, np.delete(rows, place, axis=0)) for place in range(3)]
    for seed in range(3):
        found = dpaudit.audit_inside(told(1), PureDP(1.0), pairs, rng=seed, transcripts=40)
        assert found.verdict is InsideVerdict.NOT_REFUTED
    again = dpaudit.audit_inside(told(1), PureDP(0.5), pairs, rng=1)
    assert again.verdict is InsideVerdict.BROKEN_INSIDE


def test_a_forest_deals_records_to_trees_by_their_number() -> None:
    rows = np.array([[0.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
    pair = rows, np.array([*rows, [0.0, 0.0]])
    found = dpaudit.audit_inside(told(3), PureDP(1.0), [pair], rng=1)
    assert found.verdict is InsideVerdict.BROKEN_INSIDE


def test_the_random_state_of_a_model_must_not_be_the_global_one() -> None:
    """A tree of diffprivlib draws its thresholds from np.random if it is given no random state."""

    def code(data: Any, rng: Rng) -> list[float]:
        budget = accountant.BudgetAccountant()
        tree = models.DecisionTreeClassifier(epsilon=1.0, accountant=budget, **TREE)
        return [float(tree.fit(data[:, :-1], data[:, -1]).predict([[0.0]])[0])]

    rows = np.array(LEAVES)
    found = dpaudit.audit_inside(code, PureDP(1.0), [(rows, rows[:2])], rng=1)
    assert found.verdict is InsideVerdict.CANNOT_FOLLOW
    assert "np.random" in found.reason


def test_the_mean_of_exp_of_minus_the_loss_of_a_whole_model_is_one() -> None:
    """A tree of which a leaf becomes empty, and a regression: all releases of a run together."""
    rows = np.array([[0.1, 0.0], [0.2, 1.0], [0.9, 1.0], [0.5, 0.0]])
    line = learned(
        models.LinearRegression, LINE, bounds_X=(-1, 1), bounds_y=(-1, 1), fit_intercept=False
    )
    moved = rows.copy()
    moved[0] = [0.9, 1.0]
    for code, other in ((told(1), rows[:3]), (line, moved)):
        mechanism = as_mechanism(dpaudit.one_at_a_time(code))
        found = [
            transcript_of(mechanism, Pair(rows, other), np.random.default_rng(seed))
            for seed in range(400)
        ]
        assert all(one.differs is None for one in found)
        ratios = [math.exp(-one.loss) for one in found]
        assert np.std(ratios) > 0.0
        error = float(np.std(ratios)) / math.sqrt(len(ratios))
        assert abs(float(np.mean(ratios)) - 1.0) <= 4.0 * error
