"""diffprivlib: `randomise` of every mechanism whose law is known; all others are refused.

A law is that of the code in diffprivlib 0.6.6, with the parameters that the object has at that
moment, of real numbers instead of floats. Whoever subclasses a mechanism is refused: another
sampler has another law.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dpaudit.inside.choosing import RandomizedResponse
from dpaudit.inside.libraries.choices import FlippedChoice, WeightedChoice
from dpaudit.inside.libraries.directions import bingham
from dpaudit.inside.libraries.hooking import (
    WAY_OUT,
    Replaced,
    following,
    refusing,
    released,
)
from dpaudit.inside.libraries.one_number import OneNumber
from dpaudit.inside.libraries.reals import (
    GaussianNoise,
    LaplaceBoundedDomain,
    LaplaceBoundedNoise,
    LaplaceFolded,
    LaplaceNoise,
    LaplaceTruncated,
    Snapped,
    Staircase,
    UniformNoise,
)
from dpaudit.inside.libraries.whole_numbers import (
    DiscreteGaussianNoise,
    GeometricFolded,
    GeometricNoise,
    GeometricTruncated,
    WholeNumber,
)
from dpaudit.inside.recording import Recorder

LARGEST_WHOLE = 2**53  # beyond it the code rounds whole numbers to floats


def hook(module: Any) -> Iterator[Replaced]:
    """`randomise` of all mechanisms, of the library and of others."""
    for mechanism in _below(module.DPMechanism):
        plain = vars(mechanism).get("randomise")
        if plain is None or getattr(plain, "__isabstractmethod__", False):
            continue
        if mechanism.__module__.startswith("diffprivlib.") and mechanism.__name__ != "Vector":
            yield Replaced(mechanism, "randomise", following(plain, _law(mechanism, plain)))
        elif mechanism.__name__ != "Vector":
            yield Replaced(mechanism, "randomise", refusing(plain, mechanism.__name__))


def _below(kind: Any) -> Iterator[Any]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)


def _law(owner: type, plain: Callable[..., Any]) -> Callable[..., Any]:
    """What `randomise` of a mechanism does in a run that is followed."""

    def follow(recorder: Recorder, mechanism: Any, value: Any = None) -> Any:
        kind = type(mechanism)
        first = next(each for each in kind.__mro__ if "randomise" in vars(each))
        law = LAWS.get(kind.__name__) if first is owner else None
        if law is None or not kind.__module__.startswith("diffprivlib."):
            recorder.refuse(f"draws from {kind.__name__}, whose law is not known here. {WAY_OUT}")
        if law in _CHOICES and not np.isfinite(mechanism._probabilities).any():
            return plain(mechanism, value)  # which raises
        mechanism._check_all(value)
        try:
            return law(recorder, mechanism, value)
        except (ValueError, OverflowError, ZeroDivisionError) as error:
            recorder.refuse(f"draws from {kind.__name__} with settings that have no law: {error}")

    return follow


def _number(kernel_of: Callable[[Any], OneNumber]) -> Callable[..., Any]:
    """The law of a mechanism for one number."""

    def release(recorder: Recorder, mechanism: Any, value: Any) -> Any:
        kernel = kernel_of(mechanism)
        if not isinstance(kernel, WholeNumber):
            return np.float64(released(recorder, float(value), kernel))
        if isinstance(kernel, GeometricNoise) and abs(int(value)) > LARGEST_WHOLE:
            raise ValueError(f"the code rounds {int(value)} to a float.")
        return int(released(recorder, int(value), kernel))

    return release


def _laplace_scale(mechanism: Any) -> float:
    return float(mechanism.sensitivity / (mechanism.epsilon - math.log1p(-mechanism.delta)))


def _bounds(mechanism: Any) -> dict[str, float]:
    return {"low": float(mechanism.lower), "high": float(mechanism.upper)}


def _folding(mechanism: Any) -> dict[str, float]:
    """Bounds that a number can be mirrored at, again and again."""
    if not mechanism.lower < mechanism.upper:
        raise ValueError(f"it folds between {mechanism.lower!r} and {mechanism.upper!r}.")
    return _bounds(mechanism)


def _bounded_domain(mechanism: Any) -> LaplaceBoundedDomain:
    scale = float(mechanism._find_scale() if mechanism._scale is None else mechanism._scale)
    if scale > 0.0 and not mechanism.lower < mechanism.upper:
        raise ValueError(f"it bounds noise by {mechanism.lower!r} and {mechanism.upper!r}.")
    return LaplaceBoundedDomain(scale=scale, **_bounds(mechanism))


def _bounded_noise(mechanism: Any) -> LaplaceBoundedNoise:
    scale, epsilon = mechanism.sensitivity / mechanism.epsilon, mechanism.epsilon
    most = scale * math.log1p(math.expm1(epsilon) / 2.0 / mechanism.delta)
    return LaplaceBoundedNoise(scale=scale, most=most)


def _geometric_scale(mechanism: Any) -> float:
    return float(-1.0 / mechanism._scale)


def _staircase(mechanism: Any) -> Staircase:
    return Staircase(scale=mechanism.sensitivity, epsilon=mechanism.epsilon, gamma=mechanism.gamma)


def _snapping(recorder: Recorder, mechanism: Any, value: Any) -> Any:
    """The law in the library's own units, in which the sensitivity is 1 and 0 the middle."""
    if mechanism.sensitivity == 0.0 or math.isinf(mechanism.epsilon):
        raise ValueError("no noise is drawn.")
    scale, bound = 1.0 / mechanism.effective_epsilon(), float(mechanism._bound)
    step = mechanism._get_nearest_power_of_2(scale)
    kernel = Snapped(scale=scale, step=step, low=-bound, high=bound)
    middle = float(mechanism._truncate(mechanism._scale_and_offset_value(value)))
    return mechanism._reverse_scale_and_offset_value(released(recorder, middle, kernel))


def _exponential(recorder: Recorder, mechanism: Any, value: Any) -> Any:
    return _candidate(mechanism, released(recorder, log_weights(mechanism), WeightedChoice()))


def _permute_and_flip(recorder: Recorder, mechanism: Any, value: Any) -> Any:
    logs = np.asarray(mechanism._probabilities, dtype=np.float64)
    if logs.max() > 0.0:
        raise ValueError(f"the log of a probability is {logs.max()}.")
    return _candidate(mechanism, released(recorder, logs, FlippedChoice()))


def _candidate(mechanism: Any, place: int) -> Any:
    return mechanism.candidates[place] if mechanism.candidates else np.int64(place)


def log_weights(mechanism: Any) -> Any:
    """What the exponential mechanism weighs its candidates by, without the floats' underflow.

    The subtraction is the library's own: in an unsigned type it wraps round.
    """
    epsilon, sensitivity = mechanism.epsilon, mechanism.sensitivity
    below = np.array(mechanism.utility) - max(mechanism.utility)
    if sensitivity / epsilon > 0:
        logs = epsilon / sensitivity / (2 - mechanism.monotonic) * below.astype(np.float64)
    else:
        logs = np.where(np.isclose(below, 0), 0.0, -np.inf)
    with np.errstate(divide="ignore"):
        return logs + np.log(np.array(mechanism.measure, float)) if mechanism.measure else logs


def _categorical(recorder: Recorder, mechanism: Any, value: Any) -> Any:
    labels = list(mechanism._normalising_constant)
    logs = np.log([mechanism._get_prob(value, label) for label in labels])
    return labels[released(recorder, logs, WeightedChoice())]


def _binary(recorder: Recorder, mechanism: Any, value: Any) -> Any:
    labels = mechanism.value0, mechanism.value1
    kernel = RandomizedResponse(epsilon=mechanism.epsilon)
    return labels[released(recorder, int(value != mechanism.value0), kernel)]


Law = Callable[[Recorder, Any, Any], Any]
_CHOICES: tuple[Law, ...] = (_exponential, _permute_and_flip)
_GAUSSIAN = _number(lambda it: GaussianNoise(scale=float(it._scale)))
LAWS: dict[str, Law] = {  # by the name of the class; all other classes are refused
    "Laplace": _number(lambda it: LaplaceNoise(scale=_laplace_scale(it))),
    "LaplaceTruncated": _number(
        lambda it: LaplaceTruncated(scale=_laplace_scale(it), **_bounds(it))
    ),
    "LaplaceFolded": _number(lambda it: LaplaceFolded(scale=_laplace_scale(it), **_folding(it))),
    "LaplaceBoundedDomain": _number(_bounded_domain),
    "LaplaceBoundedNoise": _number(_bounded_noise),
    "Gaussian": _GAUSSIAN,
    "GaussianAnalytic": _GAUSSIAN,
    "GaussianDiscrete": _number(lambda it: DiscreteGaussianNoise(scale=float(it._scale))),
    "Geometric": _number(lambda it: GeometricNoise(scale=_geometric_scale(it))),
    "GeometricTruncated": _number(
        lambda it: GeometricTruncated(scale=_geometric_scale(it), **_bounds(it))
    ),
    "GeometricFolded": _number(
        lambda it: GeometricFolded(scale=_geometric_scale(it), **_folding(it))
    ),
    "Staircase": _number(_staircase),
    "Uniform": _number(lambda it: UniformNoise(scale=float(it.sensitivity / it.delta / 2.0))),
    "Snapping": _snapping,
    "Exponential": _exponential,
    "PermuteAndFlip": _permute_and_flip,
    "ExponentialCategorical": _categorical,
    "ExponentialHierarchical": _categorical,
    "Binary": _binary,
    "Bingham": bingham,
}
