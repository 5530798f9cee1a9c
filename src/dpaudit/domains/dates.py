"""Records that are days of the calendar: `dates`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np

from dpaudit.domains.chooser import Chooser
from dpaudit.domains.domain import EDGE_SHARE, as_list, distinct, moved, one_of, plainer
from dpaudit.domains.numbers import JUMP_SHARE, chosen_whole, share_of, spread_whole, stepped
from dpaudit.domains.refinable import Refinable
from dpaudit.errors import InvalidDomain

EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dates(Refinable):
    """Days between two days, both included. A dataset is a list of `datetime.date`."""

    start: date
    end: date

    def edges(self) -> tuple[date, ...]:
        """Both ends, the first leap day, the first New Year's Day, the epoch; those inside."""
        years = range(self.start.year, min(self.start.year + 9, self.end.year + 1))  # 1896 to 1904
        leap_days = (date(year, 2, 29) for year in years if is_leap(year))
        new_years = (date(year, 1, 1) for year in years)
        firsts = [next(filter(self.contains, days), self.start) for days in (leap_days, new_years)]
        return distinct(filter(self.contains, (self.end, self.start, *firsts, EPOCH)))

    def draw(self, rng: np.random.Generator) -> date:
        if rng.random() < EDGE_SHARE:
            return _day(one_of(self.edges(), rng))
        return date.fromordinal(int(rng.integers(*self._ordinals(), endpoint=True)))

    def dataset(self, records: Sequence[date]) -> list[date]:
        return list(records)

    def unpack(self, data: Any) -> list[date]:
        """The days of a list, or of an array of `datetime64[D]`; texts are read as ISO dates."""
        if isinstance(data, np.ndarray) and data.dtype == np.dtype("datetime64[D]"):
            data = data.tolist()
        return [as_date(f"a dataset of {self}", day) for day in as_list(data, self)]

    def contains(self, record: Any) -> bool:
        is_day = isinstance(record, date) and not isinstance(record, datetime)
        return is_day and self.start <= record <= self.end

    def choose(self, chooser: Chooser, name: str) -> date:
        return date.fromordinal(chosen_whole(chooser, name, *self._ordinals()))

    def coordinates(self, record: date) -> tuple[float, ...]:
        return (share_of(record.toordinal(), *self._ordinals()),)

    def near(self, record: date, rng: np.random.Generator) -> date:
        def change() -> date:
            if rng.random() < JUMP_SHARE:
                return _day(one_of(self.edges(), rng))
            return date.fromordinal(stepped(record.toordinal(), *self._ordinals(), rng))

        return _day(moved(self, record, rng, change))

    def plainness(self, record: date) -> float:
        """The start, then the edges, first days of a year, first days of a month; early ones first.

        >>> days = dates("2020-03-05", "2024-12-31")
        >>> [int(days.plainness(date(*day))) for day in ((2020, 3, 5), (2024, 2, 29), (2022, 1, 1))]
        [0, 1, 2]
        """
        if record == self.start:
            return 0.0
        if record in self.edges():
            level = 1.0
        elif record.day == 1:
            level = 2.0 if record.month == 1 else 3.0
        else:
            level = 4.0
        return level + self.coordinates(record)[0] / 2  # half: never up to the next level

    def simpler(self, record: date) -> tuple[date, ...]:
        first, last = self.start.toordinal(), record.toordinal()
        halfway = date.fromordinal((first + last) // 2)
        rounder = [
            day
            for near in (record, halfway)
            for day in (near.replace(day=1), near.replace(month=1, day=1))
        ]
        return plainer(self, record, (*self.edges(), *rounder, halfway))

    def grid(self, points: int) -> tuple[date, ...]:
        days = map(date.fromordinal, spread_whole(*self._ordinals(), points))
        return distinct((*self.edges(), *days))

    def beyond(self) -> tuple[date, ...]:
        return tuple(day for day in (date.max, date.min) if not self.contains(day))

    def __str__(self) -> str:
        return f"dates({self.start}, {self.end})"

    def _ordinals(self) -> tuple[int, int]:
        return self.start.toordinal(), self.end.toordinal()


def dates(start: date | str, end: date | str) -> Dates:
    """Records that are days from start to end, given as `datetime.date` or as ISO text.

    >>> print(dates("2020-01-01", "2021-12-31"))
    dates(2020-01-01, 2021-12-31)
    """
    first, last = as_date("dates", start), as_date("dates", end)
    if first > last:
        raise InvalidDomain(f"dates needs start <= end, got {first} and {last}. Swap them.")
    return Dates(start=first, end=last)


def as_date(name: str, given: Any) -> date:
    """The day that was given, or that the ISO text names; `name` says who needs it."""
    if isinstance(given, date) and not isinstance(given, datetime):
        return given
    try:
        return date.fromisoformat(given)
    except (TypeError, ValueError) as error:
        text = f"{name} needs a date such as 2020-12-31, got {given!r}."
        raise InvalidDomain(text) from error


def is_leap(year: int) -> bool:
    """Whether the year has a 29 February."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _day(found: Any) -> date:
    assert isinstance(found, date)
    return found
