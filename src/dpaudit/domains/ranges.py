"""Records between two bounds: `floats`, `integers` and `dates`."""

from __future__ import annotations

import math
import sys
from calendar import isleap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from numbers import Real
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from dpaudit.architecture import Chooser, Domain
from dpaudit.arrays import Counts, Floats
from dpaudit.domains.domain import Refinable, distinct, one_of, whole
from dpaudit.errors import InvalidDomain

JUMP_SHARE = 0.2  # of the changes of a number: to an edge, however far
STEP_DECADES = 6.0  # from a step as wide as the range down to the smallest
MAX_SMALL = 1000  # whole numbers up to here read more easily than digits behind the point
NEAR_ZERO = 1e-6  # an edge beside 0: a scale or a sign taken from the data may turn there
EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class FloatRange(Refinable):
    """Real numbers between two bounds, both included."""

    low: float
    high: float

    def edges(self) -> tuple[float, ...]:
        """Both ends, 0, the middle, and numbers near 0 where it lies inside."""
        near = (1.0, -1.0, NEAR_ZERO, -NEAR_ZERO) if self.low < 0.0 < self.high else ()
        plain = (0.0, between(self.low, self.high, 0.5), *near)
        inside = (number for number in plain if self.low <= number <= self.high)
        return tuple(dict.fromkeys((self.high, self.low, *inside)))

    def draw_anywhere(self, rng: np.random.Generator) -> float:
        return between(self.low, self.high, rng.random())

    def dataset(self, records: Sequence[float]) -> Floats:
        return np.array(list(records), dtype=np.float64)

    def unpack(self, data: Any) -> list[float]:
        return [float(number) for number in as_array(data, self, kinds="fiu", ndim=1).tolist()]

    def contains(self, record: Any) -> bool:
        return _is_real(record) and bool(self.low <= record <= self.high)

    def choose(self, chooser: Chooser, name: str) -> float:
        if self.low == self.high:
            return self.low
        if math.isinf(self.high - self.low):  # too wide a range to ask a chooser for
            return between(self.low, self.high, chooser.real(name, 0.0, 1.0))
        return min(max(float(chooser.real(name, self.low, self.high)), self.low), self.high)

    def coordinates(self, record: float) -> tuple[float, ...]:
        return (share_of(float(record), self.low, self.high),)

    def near(self, record: float, rng: np.random.Generator) -> Any:
        def step() -> float:
            half = (0.5 * self.high - 0.5 * self.low) * _any_scale(rng)
            half = half if rng.random() < 0.5 else -half
            return min(max(number + half + half, self.low), self.high)

        number = float(record)
        return step_or_edge(self, number, rng, step)

    def plainness(self, record: float) -> float:
        return plainness_of(float(record), self.low, self.high)

    def simpler(self, record: float) -> tuple[float, ...]:
        number = float(record)
        whole_ones = (math.trunc(number), math.trunc(number / 2))
        rounded = (float(f"{number:.{digits - 1}e}") for digits in (1, 2, 3, 5, 9))
        plain = (0.0, 1.0, -1.0, self.high, self.low)
        return self.plainer(number, (*plain, *map(float, whole_ones), *rounded))

    def grid(self, points: int) -> tuple[float, ...]:
        last = _checked(points) - 1
        shares = [step / last for step in range(points)] if last > 0 else [0.5]
        spread = [between(self.low, self.high, share) for share in shares]
        return distinct((*self.edges(), *spread))

    def beyond(self) -> tuple[float, ...]:
        width = self.high - self.low
        largest, smallest = sys.float_info.max, sys.float_info.min
        far = (self.high + width, math.nan, self.low - width, math.inf, -math.inf)
        return (*far, largest, -largest, -0.0, 5e-324, smallest / 2)

    def __str__(self) -> str:
        return f"floats({short(self.low)}, {short(self.high)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegerRange(Refinable):
    """Whole numbers between two bounds, both included."""

    low: int
    high: int

    def edges(self) -> tuple[int, ...]:
        """Both ends, 0, 1, the middle and -1, if inside."""
        near = (0, 1, (self.low + self.high) // 2, -1)
        inside = (number for number in near if self.low <= number <= self.high)
        return tuple(dict.fromkeys((self.high, self.low, *inside)))

    def draw_anywhere(self, rng: np.random.Generator) -> int:
        return int(rng.integers(self.low, self.high, endpoint=True))

    def dataset(self, records: Sequence[int]) -> Counts:
        return np.array(list(records), dtype=np.int64)

    def unpack(self, data: Any) -> list[int]:
        return [int(number) for number in as_array(data, self, kinds="iu", ndim=1).tolist()]

    def contains(self, record: Any) -> bool:
        is_integer = isinstance(record, (int, np.integer)) and not isinstance(record, bool)
        return is_integer and bool(self.low <= record <= self.high)

    def choose(self, chooser: Chooser, name: str) -> int:
        return chosen_whole(chooser, name, self.low, self.high)

    def coordinates(self, record: int) -> tuple[float, ...]:
        return (share_of(int(record), self.low, self.high),)

    def near(self, record: int, rng: np.random.Generator) -> Any:
        number = int(record)
        return step_or_edge(self, number, rng, lambda: whole_step(number, self.low, self.high, rng))

    def plainness(self, record: int) -> float:
        return plainness_of(int(record), self.low, self.high)

    def simpler(self, record: int) -> tuple[int, ...]:
        number = int(record)
        sign = -1 if number < 0 else 1
        nearer = (sign * (abs(number) // 2), sign * (abs(number) - abs(number) // 4))
        rounded = (round(number, digits - len(str(abs(number)))) for digits in (1, 2, 3, 5))
        return self.plainer(number, (0, 1, -1, self.high, self.low, *nearer, *rounded))

    def grid(self, points: int) -> tuple[int, ...]:
        return distinct((*self.edges(), *spread_whole(self.low, self.high, points)))

    def beyond(self) -> tuple[int, ...]:
        odd = (self.high + 1, self.low - 1, 2**63 - 1, -(2**63), 0)
        return tuple(n for n in odd if -(2**63) <= n < 2**63 and not self.contains(n))

    def __str__(self) -> str:
        return f"integers({self.low}, {self.high})"


@dataclass(frozen=True, slots=True, kw_only=True)
class DateRange(Refinable):
    """Days between two days, both included. A dataset is a list of `datetime.date`."""

    start: date
    end: date

    def edges(self) -> tuple[date, ...]:
        """Both ends, the first leap day, the first New Year's Day and the epoch, if inside."""
        first = self.start.year
        years = range(first, min(first + 9, self.end.year + 1))  # 9: from 1896 to 1904
        leap_days = (date(year, 2, 29) for year in years if isleap(year))
        new_years = (date(year, 1, 1) for year in years)
        firsts = [next(filter(self.contains, days), self.start) for days in (leap_days, new_years)]
        return distinct(filter(self.contains, (self.end, self.start, *firsts, EPOCH)))

    def draw_anywhere(self, rng: np.random.Generator) -> date:
        return date.fromordinal(int(rng.integers(*self._ordinals(), endpoint=True)))

    def restored(self, seen: Any) -> date:
        """Texts are read as ISO dates."""
        return as_date(f"a dataset of {self}", seen)

    def contains(self, record: Any) -> bool:
        return _is_day(record) and self.start <= record <= self.end

    def choose(self, chooser: Chooser, name: str) -> date:
        return date.fromordinal(chosen_whole(chooser, name, *self._ordinals()))

    def coordinates(self, record: date) -> tuple[float, ...]:
        return (share_of(record.toordinal(), *self._ordinals()),)

    def near(self, record: date, rng: np.random.Generator) -> Any:
        def step() -> date:
            return date.fromordinal(whole_step(record.toordinal(), *self._ordinals(), rng))

        return step_or_edge(self, record, rng, step)

    def plainness(self, record: date) -> float:
        """The start, then the edges, first days of a year, first days of a month; early ones first.

        >>> days = dates("2020-03-05", "2024-12-31")
        >>> [int(days.plainness(date(*day))) for day in ((2020, 3, 5), (2024, 2, 29), (2022, 1, 1))]
        [0, 1, 2]
        """
        if record == self.start:
            return 0.0
        level = 4.0 if record.day > 1 else 3.0 if record.month > 1 else 2.0
        level = 1.0 if record in self.edges() else level
        return level + self.coordinates(record)[0] / 2  # half: never up to the next level

    def simpler(self, record: date) -> tuple[date, ...]:
        halfway = date.fromordinal((self.start.toordinal() + record.toordinal()) // 2)
        months = [record.replace(day=1), halfway.replace(day=1)]
        years = [day.replace(month=1) for day in months]
        return self.plainer(record, (*self.edges(), *months, *years, halfway))

    def grid(self, points: int) -> tuple[date, ...]:
        days = map(date.fromordinal, spread_whole(*self._ordinals(), points))
        return distinct((*self.edges(), *days))

    def beyond(self) -> tuple[date, ...]:
        return tuple(day for day in (date.max, date.min) if not self.contains(day))

    def __str__(self) -> str:
        return f"dates({self.start}, {self.end})"

    def _ordinals(self) -> tuple[int, int]:
        return self.start.toordinal(), self.end.toordinal()


def floats(low: float, high: float) -> FloatRange:
    """Records that are real numbers in [low, high].

    >>> print(floats(-1, 1), floats(-1, 1).edges())
    floats(-1, 1) (1.0, -1.0, 0.0, 1e-06, -1e-06)
    """
    low, high = bounds("floats", low, high)
    return FloatRange(low=low, high=high)


def integers(low: int, high: int) -> IntegerRange:
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
    return IntegerRange(low=low, high=high)


def dates(start: date | str, end: date | str) -> DateRange:
    """Records that are days from start to end, given as `datetime.date` or as ISO text.

    >>> print(dates("2020-01-01", "2021-12-31"))
    dates(2020-01-01, 2021-12-31)
    """
    first, last = as_date("dates", start), as_date("dates", end)
    if first > last:
        raise InvalidDomain(f"dates needs start <= end, got {first} and {last}. Swap them.")
    return DateRange(start=first, end=last)


def as_date(name: str, given: Any) -> date:
    """The day that was given, or that the ISO text names; an error names `name`."""
    try:
        return given if _is_day(given) else date.fromisoformat(given)
    except (TypeError, ValueError):
        raise InvalidDomain(f"{name} needs a date such as 2020-12-31, got {given!r}.") from None


def _is_day(value: Any) -> TypeGuard[date]:
    return isinstance(value, date) and not isinstance(value, datetime)


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
    if size <= MAX_SMALL and number == math.trunc(number):
        return 2.0 + size / (MAX_SMALL + 1) + (0.5 / (MAX_SMALL + 1) if negative else 0.0)
    shortest = Decimal(repr(number)).normalize()
    digits = len(shortest.as_tuple().digits)
    denormal = 50.0 if size < sys.float_info.min else 0.0
    # At most 17 digits and 324 decades: the decades never outweigh a digit.
    return 3.0 + denormal + digits + abs(shortest.adjusted()) / 400 + (0.1 if negative else 0.0)


def share_of(number: float, low: float, high: float) -> float:
    """How far the number is from low to high, in [0, 1] even for one beyond; 0.5 for NaN."""
    if number != number:
        return 0.5
    if low == high or number <= low:
        return 0.0
    if number >= high:
        return 1.0
    scale = 0.5 if math.isinf(high - low) else 1  # 1, not 1.0: whole numbers stay exact
    return float((scale * number - scale * low) / (scale * high - scale * low))


def step_or_edge(
    domain: Refinable, record: Any, rng: np.random.Generator, step: Callable[[], Any]
) -> Any:
    """The record after a step of any scale, or now and then an edge, however far."""

    def change() -> Any:
        return one_of(domain.edges(), rng) if rng.random() < JUMP_SHARE else step()

    return domain.moved(record, rng, change)


def whole_step(number: int, low: int, high: int, rng: np.random.Generator) -> int:
    """The number after a step of any scale from the whole range to its millionth, at least 1."""
    step = max(1, round((high - low) * _any_scale(rng)))
    return min(max(number + (step if rng.random() < 0.5 else -step), low), high)


def _any_scale(rng: np.random.Generator) -> float:
    """A factor from 1 down to a millionth, every decade equally likely."""
    return float(10.0 ** (-STEP_DECADES * rng.random()))


def chosen_whole(chooser: Chooser, name: str, low: int, high: int) -> int:
    """A whole number in [low, high]; the chooser is asked only if there is a choice."""
    return low if low == high else min(max(int(chooser.whole(name, low, high)), low), high)


def spread_whole(low: int, high: int, points: int) -> tuple[int, ...]:
    """All numbers from low to high if they are few; else this many, evenly spread.

    >>> spread_whole(0, 3, 10), spread_whole(0, 100, 3)
    ((0, 1, 2, 3), (0, 50, 100))
    """
    if _checked(points) > high - low:
        return tuple(range(low, high + 1))
    if points == 1:
        return ((low + high) // 2,)
    return tuple(low + (high - low) * step // (points - 1) for step in range(points))


def _checked(points: int) -> int:
    if whole("grid", "points", points) < 1:
        raise InvalidDomain(f"a grid needs at least 1 point, got {points}.")
    return points


def bounds(name: str, low: Any, high: Any) -> tuple[float, float]:
    """Both bounds as floats, if they are finite numbers in order."""
    for side, bound in (("low", low), ("high", high)):
        if not _is_real(bound):
            raise InvalidDomain(f"{name} needs a number for {side}, got {bound!r}.")
        if not abs(bound) <= sys.float_info.max:
            raise InvalidDomain(
                f"{name} needs a finite {side}, got {bound!r}. Give the bound that the data keep."
            )
    if low > high:
        raise InvalidDomain(f"{name} needs low <= high, got low={low!r}, high={high!r}. Swap them.")
    return float(low) + 0.0, float(high) + 0.0  # + 0.0: no negative zero


def between(low: float, high: float, share: float) -> float:
    """The number this share of the way from low to high."""
    # Not low + share * (high - low): the width of the widest ranges overflows.
    return min(max((1.0 - share) * low + share * high, low), high)


def short(bound: float) -> str:
    """The number as a reader writes it: `1`, not `1.0`."""
    return repr(bound).removesuffix(".0")


def as_array(data: Any, domain: Domain, *, kinds: str, ndim: int) -> NDArray[Any]:
    """The dataset as an array of these kinds of numbers."""
    table = np.asarray(data)
    is_empty = table.ndim >= 1 and len(table) == 0
    if not is_empty and (table.ndim != ndim or table.dtype.kind not in kinds):
        raise InvalidDomain(f"not a dataset of {domain}: {data!r}.")
    return table


def _is_real(value: Any) -> bool:
    """Whether this is a number with a place on the line: no NaN, no truth value."""
    return isinstance(value, Real) and not isinstance(value, bool) and bool(value == value)
