"""`release`: one noisy output in a user's own code, which an audit inside records or forces."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpaudit.inside.kernels import Kernel
from dpaudit.inside.noise.generator import FollowedGenerator
from dpaudit.inside.noise.noisy import Noisy
from dpaudit.inside.recording import Recorder, current


def release(value: Any, kernel: Kernel, rng: np.random.Generator) -> Any:
    """Draw from a kernel on a private value. Outside an audit it does nothing else.

    Inside an audit the output is recorded on the one dataset and forced on the other, and the loss
    is `kernel.log_density(output, value)` on the one less that on the other. All code after it may
    use the output freely.

    >>> from dpaudit.inside import Laplace
    >>> print(round(release(3.0, Laplace(0.5), np.random.default_rng(0)), 4))
    3.16
    """
    recorder = recorder_of(rng)
    if recorder is None:
        return kernel.draw(value, rng)
    if has_noise(value):
        recorder.refuse("releases a number that has noise of the generator in it already.")
    return recorder.release(value, kernel)


def recorder_of(rng: np.random.Generator | None) -> Recorder | None:
    """The recorder of the run that this generator, or the code that runs now, belongs to."""
    return rng._recorder if isinstance(rng, FollowedGenerator) else current()


def has_noise(value: Any) -> bool:
    """Whether noise of the generator is in a value.

    >>> has_noise([1.0, np.ones(2)])
    False
    """
    if isinstance(value, Noisy):
        return bool(value.noisy.any())
    if isinstance(value, np.ndarray):
        return value.dtype == object and any(map(has_noise, value.flat))
    return isinstance(value, (list, tuple)) and any(map(has_noise, value))
