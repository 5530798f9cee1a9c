"""OpenDP: measurements of Laplace, Gaussian and geometric noise, and what is composed of them.

OpenDP keeps with each measurement the call that made it. So a measurement is taken apart into its
transformation, which is run, its noise, which is released, and what is done after it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dpaudit.inside.kernels import Gaussian, Kernel, Laplace, Vector
from dpaudit.inside.libraries.choices import WeightedChoice
from dpaudit.inside.libraries.hooking import WAY_OUT, Replaced, following, refusing, released
from dpaudit.inside.libraries.whole_numbers import DiscreteGaussianNoise, GeometricNoise
from dpaudit.inside.recording import Recorder

FARTHEST = 1_000.0  # scales from the end of a whole type, where sums of noise would end there
_INNER = (  # measurements that only count the loss of another one in another way
    "make_approximate",
    "make_fix_delta",
    "make_fixed_approxDP_to_approxDP",
    "make_pureDP_to_zCDP",
    "make_zCDP_to_approxDP",
)
_TOGETHER = ("make_composition", "make_basic_composition")


def hook(module: Any) -> Iterator[Replaced]:
    """The call of a measurement, and its function, which draws too."""
    yield Replaced(module, "measurement_invoke", following(module.measurement_invoke, _invoked))
    function = refusing(module.measurement_function, "the function of a measurement")
    yield Replaced(module, "measurement_function", function)


def _invoked(recorder: Recorder, this: Any, arg: Any) -> Any:
    """The output of a measurement, part by part."""
    made = getattr(this, "__opendp_dict__", {})
    name, given = made.get("__function__", "a measurement of unknown make"), made.get("__kwargs__")
    if given is None:
        recorder.refuse(f"draws from {name}, whose law is not known here. {WAY_OUT}")
    if name == "make_chain_mt":
        return _invoked(recorder, given["measurement1"], given["transformation0"](arg))
    if name == "make_chain_pm":
        return given["postprocess1"](_invoked(recorder, given["measurement0"], arg))
    if name in _TOGETHER:
        return [_invoked(recorder, each, arg) for each in given["measurements"]]
    if name in _INNER:
        return _invoked(recorder, given["measurement"], arg)
    law = LAWS.get(name)
    if law is None:
        recorder.refuse(f"draws from {name} of opendp, whose law is not known here. {WAY_OUT}")
    try:
        return law(recorder, this, given, arg)
    except ValueError as error:
        recorder.refuse(f"draws from {name} of opendp with settings that have no law: {error}")


def _noise(real: Callable[[float], Kernel], whole: Callable[[float], Kernel]) -> Any:
    """The law of additive noise: of reals on floats, in whole steps on whole numbers."""

    def release(recorder: Recorder, this: Any, given: dict[str, Any], arg: Any) -> Any:
        scale = float(given["scale"])
        if given.get("k") is not None or given.get("bounds") is not None:
            raise ValueError("of their own granularity or bounds.")
        kind = str(this.input_carrier_type).removeprefix("Vec<").removesuffix(">")
        several = isinstance(arg, (list, np.ndarray))
        values = list(arg) if several else [arg]
        if kind[0] == "f":
            kernel, plain = real(scale), [float(value) for value in values]
        else:
            kernel, plain = whole(scale), [_within(kind, int(value), scale) for value in values]
        output = released(recorder, plain, Vector((kernel,) * len(plain)))
        return list(output) if several else output[0]

    return release


def _within(kind: str, value: int, scale: float) -> int:
    """The value, where noise does not reach the end of its type, at which sums are cut off."""
    bits, signed = int(kind[1:]), kind[0] == "i"
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    if not low + FARTHEST * scale < value < high - FARTHEST * scale:
        raise ValueError(f"{value} is near the end of {kind}.")
    return value


def _answer(recorder: Recorder, this: Any, given: dict[str, Any], arg: Any) -> Any:
    """Randomized response: the value itself with a probability, else any other category."""
    categories = list(given.get("categories", (False, True)))
    other = (1.0 - given["prob"]) / max(1, len(categories) - 1)
    chances = [given["prob"] if each == arg else other for each in categories]
    if arg not in categories:
        chances = [1.0 / len(categories)] * len(categories)
    logs = [math.log(chance) if chance > 0.0 else -math.inf for chance in chances]
    return categories[released(recorder, logs, WeightedChoice())]


LAWS: dict[str, Any] = {
    "make_laplace": _noise(Laplace, lambda scale: GeometricNoise(scale=scale)),
    "make_geometric": _noise(Laplace, lambda scale: GeometricNoise(scale=scale)),
    "make_gaussian": _noise(Gaussian, lambda scale: DiscreteGaussianNoise(scale=scale)),
    "make_randomized_response": _answer,
    "make_randomized_response_bool": _answer,
}
