"""Tumult Core: noise on numbers and series, quantiles, and what is composed of them.

Values of note are within the domain that the measurement names: infinities where it takes them, the
ends of 64 bits, an empty series. Measurements on frames of Spark are left out: one output of them
takes seconds.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

from entry import Entry, between

import dpaudit
from dpaudit import Subject
from dpaudit.domains import Domain

SLOW = 20_000  # draws: a call takes half a millisecond
SLOWER = 10_000
LARGEST = 2**63 - 1
UNIT = dpaudit.floats(-1, 2)  # clamped to [0, 1]
INFINITE = UNIT.with_odd_values().filter(lambda record: not math.isnan(record), "no NaN")
PLACES = {
    "AddNoiseToSeries": "measurements.pandas_measurements.series",
    "AddDiscreteGaussianNoise": "measurements.noise_mechanisms",
    "AddGaussianNoise": "measurements.noise_mechanisms",
    "AddGeometricNoise": "measurements.noise_mechanisms",
    "AddLaplaceNoise": "measurements.noise_mechanisms",
    "AggregateByColumn": "measurements.pandas_measurements.dataframe",
    "Composition": "measurements.composition",
    "NoisyQuantile": "measurements.pandas_measurements.series",
    "NumpyFloatDomain": "domains.numpy_domains",
    "NumpyIntegerDomain": "domains.numpy_domains",
    "PandasDataFrameDomain": "domains.pandas_domains",
    "PandasSeriesDomain": "domains.pandas_domains",
    "PureDP": "measures",
    "PureDPToRhoZCDP": "measurements.converters",
    "RhoZCDP": "measures",
}


def core(name: str, *given: Any, **named: Any) -> Any:
    """An object of Tumult Core, by the name of its class."""
    module = importlib.import_module(f"tmlt.core.{PLACES[name]}")
    return getattr(module, name)(*given, **named)


def numbers(*, infinite: bool = False) -> Any:
    """A domain of series of floats."""
    return core("PandasSeriesDomain", core("NumpyFloatDomain", allow_inf=infinite))


def whole_numbers() -> Any:
    """A domain of series of whole numbers."""
    return core("PandasSeriesDomain", core("NumpyIntegerDomain"))


def laplace() -> Any:
    """Laplace noise of scale 1."""
    return core("AddLaplaceNoise", core("NumpyFloatDomain"), 1)


def quantile(
    at: float, domain: Callable[[], Any] = numbers, *, measure: str = "PureDP", upper: float = 1.0
) -> Any:
    """A quantile of numbers clamped to a range that begins at 0."""
    return core(
        "NoisyQuantile", domain(), core(measure), quantile=at, lower=0.0, upper=upper, epsilon=1
    )


def of_records(measurement: Any, records: Domain = UNIT) -> Subject:
    """A measurement of records, one more or less."""
    return dpaudit.integrations.from_tumult(measurement, records=records, max_records=6)


def of_far_records() -> Subject:
    """A median of whole numbers that floats cannot tell apart."""
    far = 2.0**62
    median = quantile(0.5, whole_numbers, upper=far)
    return between(
        dpaudit.integrations.from_tumult(median),
        ([LARGEST], []),
        ([LARGEST, LARGEST - 1], [LARGEST]),
        ([2**53, 2**53 + 1], [2**53]),
        ([-LARGEST - 1, 1], [-LARGEST - 1]),
    )


def two_columns() -> Subject:
    """A median and a maximum, each of a column of its own."""
    frame = core("PandasDataFrameDomain", {"age": numbers(), "height": numbers()})
    columns = {"age": quantile(0.5), "height": quantile(1.0)}
    records = dpaudit.tables(age=dpaudit.floats(0, 1), height=dpaudit.floats(0, 1), form="pandas")
    return of_records(core("AggregateByColumn", frame, columns), records)


NEAR_AND_FAR = (
    ([-0.0], [1.0]),
    ([5e-324], [1.0]),
    ([2.0**53], [2.0**53 - 1.0]),
    ([-1e15], [-1e15 + 1.0]),
)
ENDS = (([LARGEST], [LARGEST - 1]), ([-LARGEST - 1], [-LARGEST]), ([-1], [0]))

ENTRIES: tuple[Entry, ...] = (
    Entry("AddLaplaceNoise", lambda: dpaudit.integrations.from_tumult(laplace()), tight=1.0),
    Entry(
        "AddLaplaceNoise, far floats",
        lambda: between(dpaudit.integrations.from_tumult(laplace()), *NEAR_AND_FAR),
        samples=SLOW,
        watched="-0.0, denormals, 2^53",
    ),
    Entry(
        "AddGeometricNoise",
        lambda: dpaudit.integrations.from_tumult(core("AddGeometricNoise", 1)),
        samples=100_000,
    ),
    Entry(
        "AddGeometricNoise, largest ints",
        lambda: between(dpaudit.integrations.from_tumult(core("AddGeometricNoise", 1)), *ENDS),
        samples=SLOW,
        watched="the ends of 64 bits",
    ),
    Entry(
        "AddGeometricNoise, alpha=20",
        lambda: dpaudit.integrations.from_tumult(core("AddGeometricNoise", 20), d_in=20),
        samples=SLOW,
    ),
    Entry(
        "AddDiscreteGaussianNoise",
        lambda: dpaudit.integrations.from_tumult(core("AddDiscreteGaussianNoise", 1)),
        samples=SLOW,
    ),
    Entry(
        "AddDiscreteGaussianNoise, largest ints",
        lambda: between(
            dpaudit.integrations.from_tumult(core("AddDiscreteGaussianNoise", 1)), *ENDS
        ),
        samples=SLOWER,
        watched="the ends of 64 bits",
    ),
    Entry(
        "AddGaussianNoise",
        lambda: dpaudit.integrations.from_tumult(
            core("AddGaussianNoise", core("NumpyFloatDomain"), 1)
        ),
        samples=SLOW,
    ),
    Entry(
        "AddNoiseToSeries, Laplace",
        lambda: dpaudit.integrations.from_tumult(core("AddNoiseToSeries", laplace())),
        samples=SLOWER,
    ),
    Entry(
        "AddNoiseToSeries, geometric",
        lambda: dpaudit.integrations.from_tumult(
            core("AddNoiseToSeries", core("AddGeometricNoise", 1))
        ),
        samples=SLOWER,
    ),
    Entry(
        "AddNoiseToSeries, discrete Gaussian",
        lambda: dpaudit.integrations.from_tumult(
            core("AddNoiseToSeries", core("AddDiscreteGaussianNoise", 1))
        ),
        samples=SLOWER,
    ),
    Entry(
        "NoisyQuantile, a median",
        lambda: of_records(quantile(0.5)),
        samples=SLOW,
        watched="values out of the bounds, an empty series",
    ),
    Entry(
        "NoisyQuantile, any float",
        lambda: of_records(quantile(0.5, lambda: numbers(infinite=True)), INFINITE),
        samples=SLOW,
        watched="infinities, the largest floats, an empty series",
    ),
    Entry(
        "NoisyQuantile, a minimum",
        lambda: of_records(quantile(0.0)),
        samples=SLOWER,
        watched="values out of the bounds, an empty series",
    ),
    Entry(
        "NoisyQuantile, zCDP",
        lambda: of_records(quantile(0.9, measure="RhoZCDP")),
        samples=SLOWER,
        watched="values out of the bounds, an empty series",
    ),
    Entry(
        "NoisyQuantile, largest ints",
        of_far_records,
        samples=SLOWER,
        watched="the ends of 64 bits, an empty series",
    ),
    Entry(
        "Composition, two quantiles",
        lambda: of_records(core("Composition", [quantile(0.1), quantile(0.9)])),
        samples=SLOWER,
        watched="values out of the bounds, an empty series",
    ),
    Entry(
        "AggregateByColumn, two quantiles", two_columns, samples=SLOWER, watched="an empty frame"
    ),
    Entry(
        "PureDPToRhoZCDP",
        lambda: dpaudit.integrations.from_tumult(core("PureDPToRhoZCDP", laplace())),
        samples=SLOW,
    ),
)
