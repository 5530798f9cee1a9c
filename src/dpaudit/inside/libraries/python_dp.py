"""python-dp: the numerical mechanisms on floats, and the selection of partitions.

Its algorithms add their noise in C++, where neither the input nor the law can be had, so they are
refused; so is noise on whole numbers, which is rounded in a way of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dpaudit.inside.kernels import Gaussian, Laplace
from dpaudit.inside.libraries.choices import WeightedChoice
from dpaudit.inside.libraries.hooking import WAY_OUT, Replaced, following, refusing, released
from dpaudit.inside.recording import Recorder

_DRAWING = (  # methods of classes in C++ that draw
    "add_noise",
    "compute_quantiles",
    "compute_quantiles_and_confidence_intervals",
    "get_uniform_double",
    "noised_value_above_threshold",
    "partial_result",
    "result",
    "sample",
    "should_keep",
)


def hook(module: Any) -> Iterator[Replaced]:
    """Every method of the library in C++ that draws."""
    inner = module._pydp
    for part in (inner._algorithms, inner._distributions, inner._util):
        for owner, name, plain in _methods(part):
            yield Replaced(owner, name, refusing(plain, f"{owner.__name__}.{name}"))
    for owner, name, plain in _methods(inner._mechanisms):
        follow = following(plain, _noised(owner)) if name == "add_noise" else None
        yield Replaced(owner, name, follow or refusing(plain, f"{owner.__name__}.{name}"))
    for owner, name, plain in _methods(inner._partition_selection):
        yield Replaced(owner, name, following(plain, _kept))


def _methods(module: Any) -> Iterator[tuple[type, str, Callable[..., Any]]]:
    for owner in vars(module).values():
        if isinstance(owner, type):
            for name in _DRAWING:
                if hasattr(owner, name):
                    yield owner, name, getattr(owner, name)


def _noised(owner: type) -> Callable[..., Any]:
    def release(recorder: Recorder, mechanism: Any, result: Any) -> float:
        name = type(mechanism).__name__
        if isinstance(result, (int, np.integer)) or name not in _KERNELS:
            kind = type(result).__name__
            recorder.refuse(f"draws noise of {name} on {kind}, whose law is not known. {WAY_OUT}")
        return float(released(recorder, float(result), _KERNELS[name](mechanism)))

    return release


_KERNELS: dict[str, Callable[[Any], Any]] = {
    "LaplaceMechanism": lambda it: Laplace(float(it.diversity)),
    "GaussianMechanism": lambda it: Gaussian(float(it.std)),
}


def _kept(recorder: Recorder, strategy: Any, num_users: int) -> bool:
    """Whether a partition is kept: the library says with which probability."""
    chance = float(strategy.probability_of_keep(num_users))
    chances = 1.0 - chance, chance
    logs = [math.log(each) if each > 0.0 else -math.inf for each in chances]
    return bool(released(recorder, logs, WeightedChoice()))
