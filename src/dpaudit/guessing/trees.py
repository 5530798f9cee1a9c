"""Boosted trees of scikit-learn, as we fit and ask them: few threads, numbers they can average."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import numpy as np

from dpaudit.arrays import Floats

_LARGEST = np.finfo(np.float64).max / 4  # trees average two neighbouring values, as their sum
_MANY = 2_000_000  # numbers from which a pool of threads is worth its making


def fitted(model: Any, rows: Floats, labels: Any, weights: Floats | None) -> Any:
    """The model, fitted to rows of numbers; NaN stands for what is missing."""
    with _few_threads(rows):
        return model.fit(_known(_moderate(rows)), labels, sample_weight=weights)


def log_odds(model: Any, rows: Floats) -> Floats:
    """The log-odds that a fitted model gives to each row."""
    with _few_threads(rows):
        return np.asarray(model.decision_function(_moderate(rows)), dtype=np.float64)


def _moderate(rows: Floats) -> Floats:
    """The rows with the largest numbers pulled in: only their order matters to a tree."""
    return np.clip(rows, -_LARGEST, _LARGEST)


def _known(rows: Floats) -> Floats:
    """The rows with zeros in a column that is missing in all: there are no bins of no numbers."""
    return np.where(np.isnan(rows).all(axis=0), 0.0, rows)


def _few_threads(rows: Floats) -> AbstractContextManager[object]:
    """One thread for rows that are few: on a busy machine threads wait for each other, and long."""
    return nullcontext() if rows.size >= _MANY else _pools().limit(limits=1, user_api="openmp")


@cache
def _pools() -> Any:
    """The pools of threads of this process, once scikit-learn has made them."""
    import sklearn.ensemble  # noqa: F401 -- its pool is there only once it is loaded
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
