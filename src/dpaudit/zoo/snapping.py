"""A count with Laplace noise whose last bits tell nothing, because they are rounded away."""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats
from dpaudit.claims import PureDP
from dpaudit.errors import InvalidMechanism
from dpaudit.zoo.checks import require_positive
from dpaudit.zoo.entry import COUNT_PAIR, SIX_RECORDS, ZooEntry


@dataclass(frozen=True, slots=True)
class Snapping:
    """The number of records plus Laplace noise, snapped to a grid: `epsilon`-DP even in floats.

    `clamp(snap(clamp(count) + sign * scale * log(U)))`: `clamp` to [-bound, bound], `snap` to
    the nearest multiple of `spacing`, the least power of two that is at least `scale`. In floats
    this is `(1 + 2^-49 bound) / scale`-DP, so `scale` makes that `epsilon`. On real numbers it is
    `1 / scale`-DP and no better: the lowest output is `e^(1/scale)` times likelier with a record
    less. Mironov (2012), "On significance of the least significant bits for differential
    privacy", section 5.

    The paper asks for a logarithm with the last bit right; numpy's may be off by one there.

    >>> mechanism = Snapping(0.1)
    >>> round(mechanism.scale, 6), mechanism.spacing
    (10.0, 16.0)
    >>> set((mechanism([3.0, 4.0], 99, np.random.default_rng(0)) % 16).tolist())
    {0.0}
    """

    epsilon: float = 1.0
    _: KW_ONLY
    bound: float = 64.0
    name: ClassVar[str] = "Snapping"

    def __post_init__(self) -> None:
        require_positive(self.name, epsilon=self.epsilon, bound=self.bound)
        if not self.scale < self.bound < 2.0**46 * self.scale:
            raise InvalidMechanism(
                f"{self.name} needs a bound between its scale {self.scale:g} and 2**46 times that, "
                f"got {self.bound!r}."
            )

    @property
    def scale(self) -> float:
        """The scale of the noise, `(1 + 2^-49 bound) / epsilon`."""
        return (1 + 2.0**-49 * self.bound) / self.epsilon

    @property
    def spacing(self) -> float:
        """The width of the grid: the least power of two that is at least the scale."""
        mantissa, exponent = math.frexp(self.scale)  # mantissa in [0.5, 1)
        return math.ldexp(1.0, exponent - (mantissa == 0.5))

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        sign = rng.choice((-1.0, 1.0), size=size)
        noise = sign * self.scale * np.log(uniform_floats(size, rng))
        noisy = min(float(len(data)), self.bound) + noise
        return np.clip(snapped(noisy, self.spacing), -self.bound, self.bound)


def uniform_floats(size: int, rng: np.random.Generator) -> Floats:
    """Draw floats in (0, 1), each of them as likely as it is far from the next.

    `rng.random` gives multiples of 2^-53 only: near 0 it leaves most floats out, and tells by that.
    """
    fraction = 1 + np.ldexp(rng.integers(2**52, size=size), -52)
    drawn: Floats = np.ldexp(fraction, -coin_tosses(size, rng))
    return drawn


def coin_tosses(size: int, rng: np.random.Generator) -> npt.NDArray[np.intc]:
    """Count the tosses of a fair coin until the first head, that one included."""
    tosses = np.zeros(size, dtype=np.intc)
    waiting = np.arange(size)
    while len(waiting):
        eight = rng.integers(256, size=len(waiting))
        lowest = np.frexp(eight & -eight)[1]  # the place of the first bit that is set, from 1
        tosses[waiting] += np.where(eight == 0, 8, lowest)
        waiting = waiting[eight == 0]
    return tosses


def snapped(values: Floats, spacing: float) -> Floats:
    """Round to the nearest multiple of the spacing, a power of two; halves go up.

    >>> snapped(np.array([-1.0, 0.9, 1.0, 3.5]), 2.0).tolist()
    [0.0, 0.0, 2.0, 4.0]
    """
    steps = values / spacing
    below = np.floor(steps)
    return (below + (steps - below >= 0.5)) * spacing  # steps + 0.5 could round up itself


ENTRIES = (
    ZooEntry(
        name="Snapping",
        factory=Snapping,
        claim=PureDP(1.0),
        keeps_claim=True,
        true_epsilon=1 / Snapping().scale,  # on real numbers; 1 - 1e-13
        bug="",
        source="Mironov 2012, On significance of the least significant bits for differential "
        "privacy, section 5",
        pair=COUNT_PAIR,
        neighbours=SIX_RECORDS,
    ),
)
