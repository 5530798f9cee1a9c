"""Samples of outputs that the tests of testers share."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpaudit.arrays import Floats
from dpaudit.claims import Claim, PureDP
from dpaudit.testers import Examiner, Finding

SIZE = 2_000


def laplace(shift: float, shape: Any = SIZE, seed: int = 0) -> Floats:
    """Laplace noise of scale 1 around a shift."""
    return np.asarray(shift + np.random.default_rng(seed).laplace(size=shape))


def normal(size: int) -> tuple[Floats, Floats]:
    """Gaussian noise with mu = 1, on both sides."""
    rng = np.random.default_rng(0)
    return 1.0 + rng.normal(size=size), rng.normal(size=size)


def unique_words(seed: int, size: int) -> list[str]:
    """Words that never repeat, from a mechanism that ignores its data."""
    return [f"{number:x}" for number in np.random.default_rng(seed).integers(2**60, size=size)]


def examine(
    tester: Examiner,
    outputs: Any,
    neighbour_outputs: Any,
    claim: Claim | None = None,
    *,
    alpha: float = 0.025,
) -> Finding:
    """What a tester finds in one direction of a run at alpha = 0.05, against 0.3-DP by default."""
    claim = PureDP(0.3) if claim is None else claim
    rng = np.random.default_rng(1)
    return tester.examine(outputs, neighbour_outputs, claim, alpha=alpha, rng=rng)


class Memory:
    """A classifier that is certain of every row it has seen: nothing overfits more."""

    def __init__(self) -> None:
        self.seen: dict[bytes, int] = {}

    def fit(self, rows: Floats, labels: np.ndarray[Any, np.dtype[np.int64]]) -> None:
        assert rows.ndim == 2
        assert rows.dtype == np.float64
        assert set(labels.tolist()) == {0, 1}
        self.seen = {row.tobytes(): int(y) for row, y in zip(rows, labels, strict=True)}

    def predict_proba(self, rows: Floats) -> Floats:
        ones = np.array([self.seen.get(row.tobytes(), 0.5) for row in rows])
        return np.column_stack([1.0 - ones, ones])
