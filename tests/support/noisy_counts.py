"""Small mechanisms that count with noise, and audits without their seconds."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from dpaudit import Audit

Floats = npt.NDArray[np.float64]
Mechanism = Callable[..., Any]

ONE_PAIR = [(np.array([1.0]), np.array([]))]


def laplace(scale: float = 1.0) -> Mechanism:
    def noisy_count(data: Any, size: int, rng: np.random.Generator) -> Floats:
        return len(data) + rng.laplace(scale=scale, size=size)

    return noisy_count


def gaussian(scale: float = 1.0) -> Mechanism:
    def noisy_count(data: Any, size: int, rng: np.random.Generator) -> Floats:
        return len(data) + rng.normal(scale=scale, size=size)

    return noisy_count


def told_apart(strange: Any, ordinary: Any) -> Mechanism:
    """On `data` an output is the strange one nine times out of ten, on the neighbour once."""

    def leak(data: Any, size: int, rng: np.random.Generator) -> list[Any]:
        odd = rng.random(size) < (0.9 if len(data) else 0.1)
        return [strange if here else ordinary for here in odd.tolist()]

    return leak


def without_seconds(audit: Audit) -> str:
    return json.dumps({**audit.to_json(), "seconds": 0, "provenance": None}, sort_keys=True)
