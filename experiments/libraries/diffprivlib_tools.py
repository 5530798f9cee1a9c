"""Tools of diffprivlib: statistics of an array, after those of NumPy.

Their noise fits one record that is replaced, in histograms one that is added or removed. All are
given bounds, so the library does not warn of a leak.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from entry import Entry

import dpaudit
from dpaudit import Subject

UNIT = {"epsilon": 1.0, "bounds": (0, 1)}
IN_BINS = {"epsilon": 1.0, "bins": 3, "range": (0, 1)}
RECORDS = 5
BEYOND = "numbers beyond the bounds, infinities, one record"
WITH_NAN = "NaN, numbers beyond the bounds, infinities, one record"
SOME_NAN = "NaN beside two or three numbers"
EQUALS = 2978  # equal records, with which every chance of a median is too small for a float


def of(tool: str, domain: Any = None, **settings: Any) -> Callable[[], Subject]:
    """Who makes a subject of a tool, with the claim that it makes."""

    def make() -> Subject:
        call = getattr(importlib.import_module("diffprivlib.tools"), tool)
        return dpaudit.integrations.from_diffprivlib(
            call, records=domain, max_records=RECORDS, **settings
        )

    return make


def on(neighbours: Any, make: Callable[[], Subject]) -> Callable[[], Subject]:
    """The same, with other neighbours."""
    return lambda: replace(make(), neighbours=neighbours)


def odd(low: float = 0, high: float = 1) -> Any:
    """Numbers in bounds, and what should not be among them."""
    return dpaudit.floats(low, high).with_odd_values()


def beyond(low: float = 0, high: float = 1) -> Any:
    """The same without NaN."""
    return odd(low, high).filter(lambda number: not np.isnan(number), "not NaN")


def any_number(domain: Any) -> Any:
    """Datasets of one record more or less, from none on."""
    return dpaudit.add_or_remove_one(domain, max_records=RECORDS)


def of_columns(tool: str, **settings: Any) -> Callable[[], Subject]:
    """A tool that takes the two columns one by one."""

    def split(data: Any, **given: Any) -> Any:
        call = getattr(importlib.import_module("diffprivlib.tools"), tool)
        return call(data[:, 0], data[:, 1], **given)

    split.__name__ = tool  # by which the neighbours are known
    domain = dpaudit.vectors(2, 0, 1)
    return lambda: dpaudit.integrations.from_diffprivlib(
        split, records=domain, max_records=RECORDS, epsilon=1.0, **settings
    )


def weighted(weight: float) -> Callable[[], Subject]:
    """A histogram of records that all have the same weight."""

    def histogram(data: Any, **given: Any) -> Any:
        call = importlib.import_module("diffprivlib.tools").histogram
        return call(data, weights=np.full(len(data), weight), **given)

    domain = dpaudit.floats(0, 1)
    return lambda: dpaudit.integrations.from_diffprivlib(
        histogram, records=domain, max_records=RECORDS, **IN_BINS
    )


def equal_records() -> Any:
    """Thousands of equal records, and one of them at the upper bound."""
    data = np.full(EQUALS, 0.5)
    return dpaudit.pairs([(data, np.append(data[1:], 1.0))])


def some_nan() -> Any:
    """Two or three numbers beside NaN, so that each dataset has both."""
    pairs = [([0.0, 0.0], [0.0, 1.0]), ([0.0, 0.5, 1.0], [0.0, 0.5, 0.5])]
    missing = [np.nan] * 20
    return dpaudit.pairs([(np.array(a + missing), np.array(b + missing)) for a, b in pairs])


def near_the_last(dtype: type[np.integer[Any]]) -> dict[str, Any]:
    """A sum in a whole type that holds the records, though not the sum of two."""
    return {"epsilon": 1.0, "dtype": dtype, "bounds": (0, int(np.iinfo(dtype).max) // 2 + 1)}


def summed(dtype: type[np.integer[Any]]) -> Callable[[], Subject]:
    """The sum of whole numbers in a type that is too small for it."""
    settings = near_the_last(dtype)
    return of("sum", dpaudit.integers(*settings["bounds"]), **settings)


def entry(function: str, make: Callable[[], Subject], watched: str = "") -> Entry:
    """One tool; a call takes a fifth of a thousandth of a second."""
    return Entry(function, make, samples=40_000, watched=watched)


ENTRIES: tuple[Entry, ...] = (
    entry("mean", of("mean", **UNIT)),
    entry("mean, numbers beyond", of("mean", beyond(), **UNIT), BEYOND),
    entry("mean, NaN", of("mean", odd(), **UNIT), WITH_NAN),
    entry("nanmean, no NaN", of("nanmean", beyond(), **UNIT), BEYOND),
    entry("nanmean, all NaN", of("nanmean", odd(), **UNIT), WITH_NAN),
    entry("nanmean, some NaN", on(some_nan(), of("nanmean", **UNIT)), SOME_NAN),
    entry("sum", of("sum", **UNIT)),
    entry("sum, numbers beyond", of("sum", beyond(), **UNIT), BEYOND),
    entry("sum, NaN", of("sum", odd(), **UNIT), WITH_NAN),
    entry(
        "sum, whole numbers",
        of("sum", dpaudit.integers(0, 3), epsilon=1.0, bounds=(0, 3), dtype=int),
    ),
    entry("sum, int32 near its end", summed(np.int32), "sums beyond the type"),
    entry("nansum, NaN", of("nansum", odd(), **UNIT), WITH_NAN),
    entry(
        "nansum, NaN, bounds away from 0",
        of("nansum", odd(10, 20), epsilon=1.0, bounds=(10, 20)),
        WITH_NAN,
    ),
    entry("var", of("var", **UNIT)),
    entry("var, numbers beyond", of("var", beyond(), **UNIT), BEYOND),
    entry("nanvar, some NaN", on(some_nan(), of("nanvar", **UNIT)), SOME_NAN),
    entry("std", of("std", **UNIT)),
    entry("nanstd, some NaN", on(some_nan(), of("nanstd", **UNIT)), SOME_NAN),
    entry("count_nonzero", of("count_nonzero", dpaudit.integers(0, 1), epsilon=1.0)),
    entry("count_nonzero, NaN", of("count_nonzero", odd(), epsilon=1.0), WITH_NAN),
    entry("median", of("median", **UNIT)),
    entry("median, numbers beyond", of("median", beyond(), **UNIT), BEYOND),
    entry("median, NaN", of("median", odd(), **UNIT), WITH_NAN),
    Entry(
        "median, thousands of equal records",
        on(equal_records(), of("median", **UNIT)),
        samples=4_000,
        watched="2978 equal records",
    ),
    entry("quantile 0.9", of("quantile", **UNIT, quant=0.9)),
    entry("percentile 25 and 75", of("percentile", **UNIT, percent=[25, 75])),
    entry(
        "histogram", on(any_number(dpaudit.floats(0, 1)), of("histogram", **IN_BINS)), "no record"
    ),
    entry("histogram, NaN", on(any_number(odd()), of("histogram", **IN_BINS)), WITH_NAN),
    entry("histogram, bins='auto'", of("histogram", **{**IN_BINS, "bins": "auto"})),
    entry("histogram, weights of 3", weighted(3.0)),
    entry("histogram2d", of_columns("histogram2d", bins=2, range=[(0, 1), (0, 1)])),
    entry(
        "histogramdd, NaN",
        of(
            "histogramdd",
            dpaudit.vectors(2, 0, 1).with_odd_values(),
            epsilon=1.0,
            bins=2,
            range=[(0, 1), (0, 1)],
        ),
        WITH_NAN,
    ),
)
