"""Mechanisms that are called in other processes, and what two audits are compared by."""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import time
from typing import Any

import numpy as np

import dpaudit

RECORDS = dpaudit.floats(-1, 1)
REPLACED = dpaudit.replace_one(RECORDS, max_records=3)


def noisy_sum(data: Any, size: int, rng: np.random.Generator) -> Any:
    """Exactly 1-DP where one record in [-1, 1] is replaced."""
    return np.clip(data, -1, 1).sum() + rng.laplace(scale=2.0, size=size)


def rough_sum(data: Any, size: int, rng: np.random.Generator) -> Any:
    """2-DP."""
    return np.clip(data, -1, 1).sum() + rng.laplace(scale=1.0, size=size)


def rarely_fails(data: Any, size: int, rng: np.random.Generator) -> list[float]:
    """One release in three hundred raises, whatever the data."""
    noise = rng.laplace(scale=2.0, size=size)
    if (rng.random(size) < 1 / 300).any():
        raise ArithmeticError("no luck")
    return [float(np.clip(data, -1, 1).sum() + one) for one in noise]


def always_fails(data: Any, size: int, rng: np.random.Generator) -> Any:
    raise ZeroDivisionError(f"{size} outputs")


def always_dies(data: Any, size: int, rng: np.random.Generator) -> Any:
    os._exit(3)


def segfaults(data: Any, size: int, rng: np.random.Generator) -> Any:
    ctypes.string_at(0)


def runs_out_of_memory(data: Any, size: int, rng: np.random.Generator) -> Any:
    """On one of two datasets only: as a leak, if it counted."""
    if np.sum(data) > 0.0:
        import resource  # Unix only

        resource.setrlimit(resource.RLIMIT_AS, (2**32, resource.RLIM_INFINITY))
        return np.ones(2**40)
    return rng.laplace(size=size)


def dies_and_leaves_a_child(data: Any, size: int, rng: np.random.Generator) -> Any:
    """The child process holds open what the process had open."""
    if os.fork() == 0:
        time.sleep(30.0)
        os._exit(0)
    os._exit(3)


def never_returns(data: Any, size: int, rng: np.random.Generator) -> Any:
    while True:
        time.sleep(1.0)


def ill_mannered(data: Any, size: int, rng: np.random.Generator) -> Any:
    """Prints, reads what is typed, changes the global seeds and forks."""
    print("look at me")
    random.seed(0)
    with contextlib.suppress(EOFError):
        input()
    np.random.seed(0)  # noqa: NPY002
    if os.fork() != 0:
        os.wait()
    return rng.laplace(size=size)


def told_apart(audit: dpaudit.Audit) -> dict[str, object]:
    """All of an audit but how long it took."""
    return {
        name: value
        for name, value in audit.to_json().items()
        if name not in ("seconds", "provenance")
    }
