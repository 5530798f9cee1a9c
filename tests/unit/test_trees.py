"""Boosted trees: as few threads as the rows deserve, and no number too large for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import dpaudit
from dpaudit.guessing import trees

Floats = npt.NDArray[np.float64]


class Asked:
    """A model that notes how many threads it is given, and what it sees."""

    def __init__(self) -> None:
        self.threads = 0
        self.rows: Floats = np.empty((0, 0))

    def fit(self, rows: Floats, labels: Any, sample_weight: Floats | None) -> Asked:
        from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

        self.threads, self.rows = _openmp_effective_n_threads(), rows
        return self


@pytest.fixture
def two_threads() -> Any:
    import sklearn.ensemble  # noqa: F401 -- its pool must be there to be set
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=2, user_api="openmp"):
        yield


def test_few_rows_are_fitted_with_one_thread(two_threads: None) -> None:
    small, large = (Asked(), Asked())
    trees.fitted(small, np.zeros((10, 3)), np.zeros(10), np.ones(10))
    trees.fitted(large, np.zeros((trees.MIN_CELLS_FOR_THREADS // 2, 2)), np.zeros(1), np.ones(1))
    assert (small.threads, large.threads) == (1, 2)


def test_the_largest_numbers_keep_their_order_and_can_be_added() -> None:
    largest = np.finfo(np.float64).max
    rows = np.array([[-largest, 1.0, np.nan, largest], [0.0, 0.0, 0.0, 0.0]])
    model = trees.fitted(Asked(), rows, [1, 0], np.ones(2))
    first, one, missing, last = model.rows[0]
    assert first < one < last
    assert np.isnan(missing)
    assert np.isfinite([first + first, last + last]).all()


def test_a_column_that_is_missing_in_all_rows_is_no_hindrance() -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier

    number = np.arange(100.0)
    rows = np.column_stack([number, np.full(100, np.nan)])
    model = trees.fitted(HistGradientBoostingClassifier(), rows, number > 50, np.ones(100))
    odds = trees.log_odds(model, np.column_stack([number, number]))  # one that comes later
    assert np.array_equal(odds > 0, number > 50)


def test_outputs_without_any_number_can_be_measured() -> None:
    def sometimes(data: Any, size: int, rng: np.random.Generator) -> Floats:
        outputs = len(data) + rng.laplace(size=(size, 2))
        return np.where(rng.random((size, 1)) < 0.4, np.nan, outputs)

    bound = dpaudit.measure_epsilon(sometimes, [1.0], [], samples=5_000, rng=7)
    assert bound.epsilon_lower > 0.0
