"""`release`: one noisy output in a user's own code, which an audit inside records or forces."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpaudit.inside.generator import FollowedGenerator
from dpaudit.inside.kernels import Kernel
from dpaudit.inside.noisy import Noisy
from dpaudit.inside.recording import current


def release(value: Any, kernel: Kernel, rng: np.random.Generator) -> Any:
    """Draw from a kernel on a private value. Outside an audit it does nothing else.

    Inside an audit the output is recorded on the one dataset and forced on the other, and the loss
    is `kernel.log_density(output, value)` on the one less that on the other. All code after it may
    use the output freely.

    >>> from dpaudit.inside import Laplace
    >>> print(round(release(3.0, Laplace(0.5), np.random.default_rng(0)), 4))
    3.16
    """
    followed = rng if isinstance(rng, FollowedGenerator) else None
    recorder = current() if followed is None else followed._recorder
    if recorder is None:
        return kernel.draw(value, rng)
    if _has_noise(value):
        recorder.refuse("releases a number that has noise of the generator in it already.")
    return recorder.release(value, kernel)


def _has_noise(value: Any) -> bool:
    if isinstance(value, Noisy):
        return True
    if isinstance(value, np.ndarray):
        return value.dtype == object and any(map(_has_noise, value.flat))
    return isinstance(value, (list, tuple)) and any(map(_has_noise, value))
