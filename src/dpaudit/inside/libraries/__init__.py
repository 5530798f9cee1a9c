"""Noise that libraries draw themselves: hooked for the time of a run, and released.

Only libraries that are imported are hooked. A run that imports one is made again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from dpaudit.inside.libraries import (
    diffprivlib,
    forest,
    hooking,
    numpy_random,
    objective,
    opacus,
    opendp,
    python_dp,
    quantiles,
)
from dpaudit.inside.recording import Recorder

HOOKS: dict[str, hooking.Hook] = {  # all hooks, by the module whose functions they replace
    "diffprivlib.mechanisms": diffprivlib.hook,
    "diffprivlib.models.forest": forest.hook,
    "diffprivlib.models.logistic_regression": objective.hook,
    "diffprivlib.tools.quantiles": quantiles.hook,
    "numpy.random": numpy_random.hook,
    "opacus.optimizers.optimizer": opacus.hook_noise,
    "opacus.utils.uniform_sampler": opacus.hook_samples,
    "opendp.core": opendp.hook,
    "pydp": python_dp.hook,
}


def imported() -> frozenset[str]:
    """The modules with a hook that are imported now."""
    return frozenset(name for name in HOOKS if name in sys.modules)


@contextmanager
def hooked(recorder: Recorder) -> Iterator[None]:
    """Follow the noise of all libraries that are imported now, for the time of a run."""
    modules = {name: (sys.modules[name], HOOKS[name]) for name in sorted(imported())}
    with opacus.torch_seeded(recorder), hooking.hooked(recorder, modules):
        yield
