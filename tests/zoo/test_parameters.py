"""Every parameter of every mechanism refuses the values that make no sense for it."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import pytest

from dpaudit.errors import InvalidMechanism
from dpaudit.zoo import (
    ZOO,
    ClassicalGaussianCount,
    GradientDescent,
    HistogramThresholdBeforeNoise,
    OneTimeRappor,
    Rappor,
    RapporOneHashClaim,
    RoundedGeometric,
    RoundedGeometricNaturalLog,
    ScaledGD,
    Snapping,
    ThresholdedHistogram,
    ZooEntry,
)

NOT_POSITIVE = (0.0, -1.0, math.inf, math.nan)
NO_FRACTION = (0.0, 1.0, -0.5, math.nan)
REFUSED = {
    **dict.fromkeys(
        ("epsilon", "threshold_epsilon", "query_epsilon", "answer_epsilon"), NOT_POSITIVE
    ),
    **dict.fromkeys(("bound", "sensitivity", "scale", "noise_multiplier"), NOT_POSITIVE),
    **dict.fromkeys(("learning_rate", "clip"), NOT_POSITIVE),
    **dict.fromkeys(("delta", "probability", "f"), NO_FRACTION),
    **dict.fromkeys(("most", "cutoff", "bins", "steps", "times", "hashes"), (0, -1)),
    "categories": (1, 0, -3),
    "gamma": (-0.1, 1.1, math.nan),
    "threshold": (),  # any number
    "salt": (),
    "bits": (4,),  # of four hashes
    "p": (-0.1, 0.55, 0.6, math.nan),  # of q = 0.55
    "q": (1.1, 0.45, 0.4, math.nan),  # of p = 0.45
}


@pytest.mark.parametrize("entry", ZOO.values(), ids=lambda entry: entry.name)
def test_every_parameter_refuses_its_wrong_values(entry: ZooEntry) -> None:
    mechanism: Any = entry.factory()
    for field in dataclasses.fields(mechanism):
        for value in REFUSED[field.name]:
            message = rf"^{entry.name} needs .*\b{field.name}\b.*, got .*{value}"
            with pytest.raises(InvalidMechanism, match=message):
                dataclasses.replace(mechanism, **{field.name: value})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ScaledGD(0.0), r"ScaledGD needs a positive scale, got 0.0\."),
        (lambda: ScaledGD(steps=0), r"ScaledGD needs steps >= 1, got 0\."),
        (lambda: GradientDescent().divergence(0.0), "positive order, got 0.0"),
        (lambda: ClassicalGaussianCount(1.0), "epsilon below 1.* got 1.0. GaussianCount takes any"),
        (lambda: RoundedGeometric(1e-19), r"epsilon >= 2\*\*-60, got 1e-19"),
        (lambda: RoundedGeometricNaturalLog(1e-19), r"epsilon >= 2\*\*-60, got 1e-19"),
        (lambda: ThresholdedHistogram(delta=0.6), "needs 0 < delta <= 0.5, got 0.6"),
        (lambda: HistogramThresholdBeforeNoise(delta=0.6), "needs 0 < delta <= 0.5, got 0.6"),
        (lambda: Snapping(0.1, bound=10.0), r"its scale 10 and 2\*\*46 times that, got 10.0"),
        (lambda: Snapping(1.0, bound=2.0**47), r"bound between its scale 1.25 and"),
        (lambda: Rappor(bits=4), "Rappor needs more bits than hashes, got bits=4, hashes=4"),
        (lambda: OneTimeRappor(bits=4), "OneTimeRappor needs more bits than hashes, got bits=4"),
        (lambda: RapporOneHashClaim(p=0.6), "Claim needs 0 <= p < q <= 1, got p=0.6, q=0.55"),
    ],
)
def test_what_an_error_says(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidMechanism, match=message):
        make()
