"""Gradient descent with noise: with all of the noise that is accounted for, and with a part of it.

The model is one number, starting at 0; the loss of a record is half of its squared distance. Every
step adds up the gradients of the records, each clipped to [-clip, clip], and goes down the sum plus
Gaussian noise (Abadi et al. 2016, "Deep learning with differential privacy", on the whole batch).
One row per draw, one column per step: all iterates are released.
"""

import math
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import numpy as np

from dpaudit.arrays import Floats
from dpaudit.claims import RenyiDP
from dpaudit.domains import floats
from dpaudit.errors import InvalidMechanism
from dpaudit.neighbours import add_or_remove_one
from dpaudit.zoo.frame import AtLeastOne, Positive, ZooMechanism, entry, pair_of

__all__ = ["GradientDescent", "ScaledGD"]


@dataclass(frozen=True, slots=True)
class GradientDescent(ZooMechanism):
    """Noise of standard deviation `noise_multiplier * clip` at every step, as accounted for.

    >>> GradientDescent(steps=3)([2.0, -5.0], 4, np.random.default_rng(0)).shape
    (4, 3)
    >>> print(GradientDescent(2.0, steps=3).claim(order=4.0))
    (order 4, 1.5)-Rényi DP
    """

    noise_multiplier: Positive = 1.0
    steps: AtLeastOne = 1
    _: KW_ONLY
    learning_rate: Positive = 0.1
    clip: Positive = 1.0

    def divergence(self, order: float) -> float:
        """The largest Rényi divergence of all neighbours: `order * steps / (2 multiplier^2)`.

        Mironov (2017), "Rényi differential privacy", propositions 1 (steps add up) and 7 (one
        step). A record that is clipped at every step has it. One step reaches it with any record
        beyond `clip`; several steps come closer, the farther away the record is.

        >>> GradientDescent(2.0, steps=4).divergence(1.5)
        0.75
        """
        if not 0 < order < math.inf:
            raise InvalidMechanism(f"a divergence needs a positive order, got {order!r}.")
        return order * self.steps / (2 * self.noise_multiplier**2)

    def claim(self, order: float = 2.0) -> RenyiDP:
        """What Rényi accounting with the noise multiplier says (Mironov 2017)."""
        return RenyiDP(order, self.divergence(order))

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        noise = self.noise_multiplier * self.clip * rng.normal(size=(size, self.steps))
        return descend(data, noise, self.learning_rate, self.clip)


@dataclass(frozen=True, slots=True)
class ScaledGD(ZooMechanism):
    """Accounted for with `noise_multiplier`, run with `scale * noise_multiplier`.

    A scale of 0.5 is what happens when micro-batches are clipped in place of records: a record
    then moves the sum by up to `2 * clip`, and the accountant is not told. The divergence is
    `1 / scale^2` times the claimed one. DP-Auditorium (Kong et al. 2023), section 6.5.

    >>> developer = ScaledGD(0.5)
    >>> print(developer.claim(order=2.0), developer.divergence(order=2.0))
    (order 2, 1)-Rényi DP 4.0
    """

    scale: Positive = 0.5
    noise_multiplier: Positive = 1.0
    steps: AtLeastOne = 1
    _: KW_ONLY
    learning_rate: Positive = 0.1
    clip: Positive = 1.0

    def divergence(self, order: float) -> float:
        """The largest Rényi divergence of all neighbours, with the noise that there is."""
        return self._with(self.scale * self.noise_multiplier).divergence(order)

    def claim(self, order: float = 2.0) -> RenyiDP:
        """What the developer claims: accounting with the whole noise multiplier."""
        return self._with(self.noise_multiplier).claim(order)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        return self._with(self.scale * self.noise_multiplier)(data, size, rng)

    def _with(self, multiplier: float) -> GradientDescent:
        return GradientDescent(
            multiplier, self.steps, learning_rate=self.learning_rate, clip=self.clip
        )


def descend(data: Any, noise: Floats, learning_rate: float, clip: float) -> Floats:
    """Give the iterates of every draw, with this noise on the sum of the clipped gradients.

    >>> descend([0.25, -9.0], np.zeros((1, 2)), 0.5, 1.0).tolist()
    [[-0.375, -0.5625]]
    """
    records = np.asarray(data, dtype=np.float64)
    iterates = np.empty_like(noise)
    model = np.zeros(len(noise))
    for step in range(noise.shape[1]):
        gradients = np.clip(model[:, None] - records, -clip, clip)
        model = model - learning_rate * (gradients.sum(axis=1) + noise[:, step])
        iterates[:, step] = model
    return iterates


_CLIPPED = pair_of([10], []), partial(add_or_remove_one, floats(-10, 10), max_records=6)

ENTRIES = (
    entry(
        GradientDescent,
        _CLIPPED,
        claim=GradientDescent().claim(order=2.0),
        source="Abadi et al. 2016, Deep learning with differential privacy, algorithm 1; "
        "Mironov 2017, Rényi differential privacy, proposition 7",
    ),
    entry(
        ScaledGD,
        _CLIPPED,
        claim=ScaledGD().claim(order=2.0),
        true_epsilon=ScaledGD().divergence(order=2.0),
        bug="The noise is half of what the accountant was told: clipping micro-batches in place of "
        "records doubles what a record can move.",
        source="Kong, Medina, Ribero and Syed 2023, DP-Auditorium, section 6.5",
    ),
)
