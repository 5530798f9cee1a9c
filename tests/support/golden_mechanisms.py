"""The mechanisms of the golden audits, one for every kind of output."""

from __future__ import annotations

from typing import Any

import numpy as np


def noisy_sum(data: Any, size: int, rng: np.random.Generator) -> Any:
    return np.clip(data, -1, 1).sum() + rng.laplace(scale=1.0, size=size)


def tight_sum(data: Any, size: int, rng: np.random.Generator) -> Any:
    return np.clip(data, -1, 1).sum() + rng.laplace(scale=2.0, size=size)


def gaussian_sum(data: Any, size: int, rng: np.random.Generator) -> Any:
    return np.sum(data) + rng.normal(scale=1.0, size=size)


def whole_count(data: Any, size: int, rng: np.random.Generator) -> Any:
    return len(data) + rng.geometric(0.5, size) - rng.geometric(0.5, size)


def words(data: Any, size: int, rng: np.random.Generator) -> list[str]:
    chance = 0.8 if "a" in list(data) else 0.3
    return ["yes" if toss < chance else "no" for toss in rng.random(size)]


def dictionaries(data: Any, size: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    rate = 2.0 * len(data)
    return [
        {"count": rate + rng.laplace(), "kind": "few" if rate < 4 else None} for _ in range(size)
    ]


def lists_of_any_length(data: Any, size: int, rng: np.random.Generator) -> list[list[float]]:
    return [[rng.normal() for _ in range(int(rng.poisson(1 + len(data))))] for _ in range(size)]


def vectors_out(data: Any, size: int, rng: np.random.Generator) -> Any:
    return np.resize(np.asarray(data, float).mean(axis=0), 3) + rng.laplace(size=(size, 3))


def sometimes_none(data: Any, size: int, rng: np.random.Generator) -> list[Any]:
    return [None if rng.random() < 0.1 * len(data) else float(rng.normal()) for _ in range(size)]


def raises_on_empty(data: Any, size: int, rng: np.random.Generator) -> Any:
    if len(data) == 0:
        raise ValueError("no data")
    return rng.normal(size=size)


def table_sum(data: Any, size: int, rng: np.random.Generator) -> Any:
    total = sum(float(age) for age in np.asarray(data["age"], float)) / 50.0
    return total + rng.laplace(size=size)


def record_sum(data: Any, size: int, rng: np.random.Generator) -> Any:
    return sum(record["hours"] for record in data) + rng.laplace(size=size)


def float_bits(data: Any, size: int, rng: np.random.Generator) -> Any:
    return float(np.sum(data)) + rng.laplace(size=size)
