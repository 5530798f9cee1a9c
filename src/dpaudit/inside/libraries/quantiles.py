"""diffprivlib's quantiles: an interval by the exponential mechanism, then a number within it.

The interval alone is not released, and the number within it is drawn by the random state. So both
are one release, of a number whose density is constant between neighbouring records.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpaudit.inside.libraries.choices import PiecewiseConstant
from dpaudit.inside.libraries.diffprivlib import log_weights
from dpaudit.inside.libraries.hooking import Replaced, following, released
from dpaudit.inside.recording import Recorder


def hook(module: Any) -> Iterator[Replaced]:
    """The two names that `quantile` draws through: a mechanism, and a random state."""
    yield Replaced(module, "Exponential", following(module.Exponential, _interval(module)))
    yield Replaced(module, "check_random_state", following(module.check_random_state, _within))


class _Within:
    """Stands for the random state: the number that it draws is released already."""

    def __init__(self) -> None:
        self.number: float | None = None

    def random(self) -> _Within:
        return self

    def __mul__(self, width: Any) -> _Within:
        return self

    def __add__(self, start: Any) -> Any:
        return np.float64(self.number)


def _within(recorder: Recorder, seed: Any, secure: bool = False) -> _Within:
    return _Within()


def _interval(module: Any) -> Any:
    exponential = module.Exponential

    def made(recorder: Recorder, **given: Any) -> Any:
        state = given.pop("random_state")
        edges = sys._getframe(2).f_locals.get("array", ())  # the sorted records, between the bounds
        mechanism = exponential(**given)
        if not isinstance(state, _Within) or len(edges) != len(mechanism.utility) + 1:
            recorder.refuse("draws a quantile in a way that is not followed.")
        return _Quantile(recorder, mechanism, edges, state)

    return made


class _Quantile:
    """Stands for the mechanism that chooses an interval."""

    def __init__(self, recorder: Recorder, mechanism: Any, edges: Any, state: _Within) -> None:
        self.recorder, self.mechanism, self.edges, self.state = recorder, mechanism, edges, state

    def randomise(self) -> int:
        mechanism, edges = self.mechanism, np.array(self.edges, dtype=np.float64)
        if not np.isfinite(mechanism._probabilities).all():  # every one is too small for a float
            raise RuntimeError("Can't find a candidate to return.")
        mechanism.measure = None
        number = released(self.recorder, (edges, log_weights(mechanism)), PiecewiseConstant())
        self.state.number = number
        return max(0, min(len(edges) - 2, int(np.searchsorted(edges, number)) - 1))
