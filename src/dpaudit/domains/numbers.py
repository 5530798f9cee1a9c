"""Records that are numbers: `floats` and `integers`."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.domains.chooser import Chooser
from dpaudit.domains.domain import (
    EDGE_SHARE,
    as_array,
    between,
    bounds,
    distinct,
    is_real,
    moved,
    one_of,
    plainer,
    short,
    spread,
    whole,
)
from dpaudit.domains.refinable import Refinable
from dpaudit.errors import InvalidDomain

JUMP_SHARE = 0.2  # of the changes of a number: to an edge, however far
FINEST = 6.0  # decades below the whole range: the smallest step of a change
SMALL = 1000  # whole numbers up to here read more easily than digits behind the point


@dataclass(frozen=True, slots=True, kw_only=True)
class Floats(Refinable):
    """Real numbers between two bounds, both included."""

    low: float
    high: float

    def edges(self) -> tuple[float, ...]:
        zero = (0.0,) if self.low <= 0.0 <= self.high else ()
        return tuple(dict.fromkeys((self.high, self.low, *zero, between(self.low, self.high, 0.5))))

    def draw(self, rng: np.random.Generator) -> float:
        if rng.random() < EDGE_SHARE:
            return float(one_of(self.edges(), rng))
        return between(self.low, self.high, rng.random())

    def dataset(self, records: Sequence[float]) -> NDArray[np.float64]:
        return np.array(list(records), dtype=np.float64)

    def unpack(self, data: Any) -> list[float]:
        return [float(number) for number in as_array(data, self, kinds="fiu", ndim=1).tolist()]

    def contains(self, record: Any) -> bool:
        return is_real(record) and bool(self.low <= record <= self.high)

    def choose(self, chooser: Chooser, name: str) -> float:
        if self.low == self.high:
            return self.low
        if math.isinf(self.high - self.low):  # no chooser can be asked for so wide a range
            return between(self.low, self.high, chooser.real(name, 0.0, 1.0))
        return min(max(float(chooser.real(name, self.low, self.high)), self.low), self.high)

    def coordinates(self, record: float) -> tuple[float, ...]:
        return (share_of(float(record), self.low, self.high),)

    def near(self, record: float, rng: np.random.Generator) -> float:
        """A step of any scale from the whole range to its millionth, or a jump to an edge."""

        def change() -> float:
            if rng.random() < JUMP_SHARE:
                return float(one_of(self.edges(), rng))
            half = (0.5 * self.high - 0.5 * self.low) * any_scale(rng)
            half = half if rng.random() < 0.5 else -half
            return min(max(number + half + half, self.low), self.high)

        number = float(record)
        return float(moved(self, number, rng, change))

    def plainness(self, record: float) -> float:
        return plainness_of(float(record), self.low, self.high)

    def simpler(self, record: float) -> tuple[float, ...]:
        number = float(record)
        whole_ones = (math.trunc(number), math.trunc(number / 2))
        rounded = (float(f"{number:.{digits - 1}e}") for digits in (1, 2, 3, 5, 9))
        plain = (0.0, 1.0, -1.0, self.high, self.low)
        return plainer(self, number, (*plain, *map(float, whole_ones), *rounded))

    def grid(self, points: int) -> tuple[float, ...]:
        return distinct(
            (*self.edges(), *(between(self.low, self.high, share) for share in spread(points)))
        )

    def beyond(self) -> tuple[float, ...]:
        width = self.high - self.low
        largest, smallest = sys.float_info.max, sys.float_info.min
        return (
            *(self.high + width, math.nan, self.low - width, math.inf, -math.inf),
            *(largest, -largest),
            *(-0.0, 5e-324, smallest / 2),
        )

    def __str__(self) -> str:
        return f"floats({short(self.low)}, {short(self.high)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Integers(Refinable):
    """Whole numbers between two bounds, both included."""

    low: int
    high: int

    def edges(self) -> tuple[int, ...]:
        plain = [number for number in (0, 1) if self.low <= number <= self.high]
        middle = (self.low + self.high) // 2
        return tuple(dict.fromkeys((self.high, self.low, *plain, middle)))

    def draw(self, rng: np.random.Generator) -> int:
        if rng.random() < EDGE_SHARE:
            return int(one_of(self.edges(), rng))
        return int(rng.integers(self.low, self.high, endpoint=True))

    def dataset(self, records: Sequence[int]) -> NDArray[np.int64]:
        return np.array(list(records), dtype=np.int64)

    def unpack(self, data: Any) -> list[int]:
        return [int(number) for number in as_array(data, self, kinds="iu", ndim=1).tolist()]

    def contains(self, record: Any) -> bool:
        is_whole = isinstance(record, (int, np.integer)) and not isinstance(record, bool)
        return is_whole and bool(self.low <= record <= self.high)

    def choose(self, chooser: Chooser, name: str) -> int:
        return chosen_whole(chooser, name, self.low, self.high)

    def coordinates(self, record: int) -> tuple[float, ...]:
        return (share_of(int(record), self.low, self.high),)

    def near(self, record: int, rng: np.random.Generator) -> int:
        """A step of any scale from the whole range to its millionth, at least 1, or an edge."""

        def change() -> int:
            if rng.random() < JUMP_SHARE:
                return int(one_of(self.edges(), rng))
            return stepped(number, self.low, self.high, rng)

        number = int(record)
        return int(moved(self, number, rng, change))

    def plainness(self, record: int) -> float:
        return plainness_of(int(record), self.low, self.high)

    def simpler(self, record: int) -> tuple[int, ...]:
        number = int(record)
        sign = -1 if number < 0 else 1
        nearer = (sign * (abs(number) // 2), sign * (abs(number) - abs(number) // 4))
        rounded = (round(number, digits - len(str(abs(number)))) for digits in (1, 2, 3, 5))
        return plainer(self, number, (0, 1, -1, self.high, self.low, *nearer, *rounded))

    def grid(self, points: int) -> tuple[int, ...]:
        return distinct((*self.edges(), *spread_whole(self.low, self.high, points)))

    def beyond(self) -> tuple[int, ...]:
        odd = (self.high + 1, self.low - 1, 2**63 - 1, -(2**63), 0)
        return tuple(n for n in odd if -(2**63) <= n < 2**63 and not self.contains(n))

    def __str__(self) -> str:
        return f"integers({self.low}, {self.high})"


def floats(low: float, high: float) -> Floats:
    """Records that are real numbers in [low, high].

    >>> print(floats(-1, 1), floats(-1, 1).edges())
    floats(-1, 1) (1.0, -1.0, 0.0)
    """
    low, high = bounds("floats", low, high)
    return Floats(low=low, high=high)


def integers(low: int, high: int) -> Integers:
    """Records that are whole numbers in [low, high].

    >>> integers(0, 10).edges()
    (10, 0, 1, 5)
    """
    low, high = whole("integers", "low", low), whole("integers", "high", high)
    if low > high:
        raise InvalidDomain(f"integers needs low <= high, got low={low}, high={high}. Swap them.")
    if low < -(2**63) or high >= 2**63:
        raise InvalidDomain(
            f"integers must fit in 64 bits, got low={low}, high={high}. Narrow the range."
        )
    return Integers(low=low, high=high)


def plainness_of(number: float, low: float, high: float) -> float:
    """How much there is to read: 0, then 1, the bounds, small whole numbers, then by digits.

    >>> [round(plainness_of(number, -5, 7.5), 1) for number in (0.0, 1, -1, 7.5, 3, 0.5, 0.123)]
    [0.0, 1.0, 1.1, 1.2, 2.0, 4.0, 6.0]
    """
    size, negative = abs(number), number < 0
    if size == 0:
        return 0.5 if math.copysign(1.0, number) < 0 else 0.0
    if size == 1:
        return 1.1 if negative else 1.0
    if number in (high, low):
        return 1.2 if number == high else 1.3
    if size <= SMALL and number == math.trunc(number):
        return 2.0 + size / (SMALL + 1) + (0.5 / (SMALL + 1) if negative else 0.0)
    shortest = Decimal(repr(number)).normalize()
    digits = len(shortest.as_tuple().digits)
    denormal = 50.0 if size < sys.float_info.min else 0.0
    # At most 17 digits and 324 decades: what weighs less never outweighs what weighs more.
    return 3.0 + denormal + digits + abs(shortest.adjusted()) / 400 + (0.1 if negative else 0.0)


def share_of(number: float, low: float, high: float) -> float:
    """How far the number is from low to high: 0 to 1 also beyond them, 0.5 for NaN."""
    if number != number:
        return 0.5
    if low == high or number <= low:
        return 0.0
    if number >= high:
        return 1.0
    scale = 0.5 if math.isinf(high - low) else 1  # 1, not 1.0: whole numbers stay exact
    return float((scale * number - scale * low) / (scale * high - scale * low))


def any_scale(rng: np.random.Generator) -> float:
    """A factor from 1 down to a millionth, each decade as likely as the other."""
    return float(10.0 ** (-FINEST * rng.random()))


def stepped(number: int, low: int, high: int, rng: np.random.Generator) -> int:
    """The number after a step of any scale from the whole range to its millionth, at least 1."""
    step = max(1, round((high - low) * any_scale(rng)))
    return min(max(number + (step if rng.random() < 0.5 else -step), low), high)


def chosen_whole(chooser: Chooser, name: str, low: int, high: int) -> int:
    """A whole number in [low, high], asked for only where there is a choice."""
    return low if low == high else min(max(int(chooser.whole(name, low, high)), low), high)


def spread_whole(low: int, high: int, points: int) -> tuple[int, ...]:
    """All numbers from low to high if they are few; else this many, evenly spread.

    >>> spread_whole(0, 3, 10), spread_whole(0, 100, 3)
    ((0, 1, 2, 3), (0, 50, 100))
    """
    if len(spread(points)) > high - low:
        return tuple(range(low, high + 1))
    if points == 1:
        return ((low + high) // 2,)
    return tuple(low + (high - low) * step // (points - 1) for step in range(points))
