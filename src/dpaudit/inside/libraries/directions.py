"""diffprivlib's `Bingham` in the plane: a random direction, by the law that its sampler has.

Kent, Ganeiban and Mardia (2013), "A new method to simulate the Bingham and related distributions",
accept a proposal with a probability that is multiplied by a power of a quadratic form. The code
divides by that power, so that its directions are drawn from another law, more concentrated. What is
released is what the code draws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.arrays import Floats
from dpaudit.inside.libraries.hooking import released
from dpaudit.inside.recording import Recorder

PLACES = 4_096  # on the circle, over which a density is summed
MOST_CURVED = 1e4  # a quadratic form beyond which the density is too narrow for them


@dataclass(frozen=True, slots=True)
class PlaneDirection:
    """A unit vector `u` of the plane with density in proportion to `exp(-u'Au) (u'Ou)^-2`.

    `A` is `rate` times the largest eigenvalue of the input less the input, and `O` is `1 + 2 A / b`
    with the `b` for which the sum of `1 / (b + 2 a)` over the eigenvalues of `A` is 1.

    >>> law = PlaneDirection(rate=0.25)
    >>> print(round(2.0 * math.pi * math.exp(law.log_density([1.0, 0.0], np.eye(2))), 12))
    1.0
    """

    rate: float

    def log_density(self, output: Any, input: Any) -> float:
        """The log density of a direction."""
        form, other = self._forms(input)
        angles = 2.0 * math.pi * np.arange(PLACES) / PLACES
        logs = _logs(np.stack([np.cos(angles), np.sin(angles)], axis=1), form, other)
        whole = np.log(np.mean(np.exp(logs - logs.max()))) + logs.max() + math.log(2.0 * math.pi)
        return float(_logs(np.asarray(output, dtype=np.float64)[None], form, other)[0] - whole)

    def draw(self, input: Any, rng: np.random.Generator) -> Floats:
        """A direction, by rejection from `(u'Ou)^-1`, the direction of a Gaussian vector."""
        form, other = self._forms(input)
        root = np.linalg.cholesky(np.linalg.inv(other))
        while True:
            vector = root @ rng.standard_normal(2)
            unit = vector / np.linalg.norm(vector)
            if rng.random() <= math.exp(-unit @ form @ unit) / (unit @ other @ unit):
                return np.asarray(unit)

    def slack(self, output: Any, input: Any, error: Any) -> float:
        """How far the exponents may be off, here and in the whole."""
        return 8.0 * self.rate * float(np.sum(error))

    def _forms(self, input: Any) -> tuple[Floats, Floats]:
        given = np.asarray(input, dtype=np.float64)
        form = self.rate * (np.linalg.eigvalsh(given).max() * np.eye(2) - given)
        curved = float(np.linalg.eigvalsh(form).max())
        if not curved <= MOST_CURVED:
            raise ValueError(f"its input is too large beside its noise: {curved:g}.")
        shift = 0.5 * (2.0 - 2.0 * curved + math.hypot(2.0 - 2.0 * curved, math.sqrt(8.0 * curved)))
        return form, np.eye(2) + 2.0 * form / shift


def _logs(units: Floats, form: Floats, other: Floats) -> Floats:
    here = np.einsum("ij,jk,ik->i", units, form, units)
    return np.asarray(-here - 2.0 * np.log(np.einsum("ij,jk,ik->i", units, other, units)))


def bingham(recorder: Recorder, mechanism: Any, value: Any) -> Any:
    """Release a direction of the plane; of a line there is one only."""
    if len(value) == 1:
        return np.ones((1, 1))
    rate = mechanism.epsilon / 4.0 / mechanism.sensitivity if mechanism.sensitivity else math.inf
    if len(value) != 2 or not 0.0 < rate < math.inf:
        raise ValueError(f"{len(value)} dimensions at a rate of {rate:g}.")
    return released(recorder, np.array(value, dtype=np.float64), PlaneDirection(rate))
