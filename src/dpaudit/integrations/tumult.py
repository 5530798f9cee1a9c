"""Tumult Core: the claim of a measurement from its privacy function, neighbours from its metric.

Tumult Core draws from the processor or the operating system; an audit's `rng` does not reach it.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dpaudit.claims import ZCDP, ApproxDP, Claim, PureDP
from dpaudit.domains import Domain, tables
from dpaudit.errors import InvalidMechanism
from dpaudit.integrations import building
from dpaudit.mechanism import Subject
from dpaudit.neighbours import Relation, add_or_remove_one, replace_one

_CLAIMS: dict[str, Callable[..., Claim]] = {"PureDP": PureDP, "RhoZCDP": ZCDP, "ApproxDP": ApproxDP}
_RELATIONS = {"SymmetricDifference": add_or_remove_one, "HammingDistance": replace_one}
_NORMS = {"AbsoluteDifference": np.inf, "SumOf": 1, "RootSumOfSquared": 2}
_NUMBERS = ("NumpyFloatDomain", "NumpyIntegerDomain")
_DOMAINS = (*_NUMBERS, "ListDomain", "PandasSeriesDomain", "PandasDataFrameDomain")
_PARTS = ("input_domain", "input_metric", "output_measure", "privacy_function")


def from_tumult(
    measurement: Any, d_in: Any = 1, *, records: Domain | None = None, max_records: int = 10
) -> Subject:
    """Make a subject of a measurement of Tumult Core, on numbers, lists or pandas.

    The claim is what its privacy function says at the distance `d_in`, an exact number such as 1 or
    "1/2": pure or approximate DP, or zCDP. The neighbours follow from its input metric and domain.
    Pass `records` where the domain does not say what a record is (strings), or to narrow it; for a
    frame, `dpaudit.tables(..., form="pandas")`.

    >>> import dpaudit
    >>> from tmlt.core.domains.numpy_domains import NumpyFloatDomain
    >>> from tmlt.core.measurements.noise_mechanisms import AddLaplaceNoise
    >>> print(dpaudit.integrations.from_tumult(AddLaplaceNoise(NumpyFloatDomain(), 2)))
    AddLaplaceNoise: 0.5-DP; 1 query answer in [-1, 2], each moving by at most 1
    """
    needs = "from_tumult needs a measurement of Tumult Core"
    building.check_parts(measurement, *_PARTS, needs=needs)
    name, domain, metric = _kind(measurement), measurement.input_domain, measurement.input_metric
    if _kind(domain) not in _DOMAINS:
        raise InvalidMechanism(
            f"from_tumult has numbers, lists and pandas to give, but {name} takes {_kind(domain)}. "
            "Write it as a function of rows: dpaudit.one_at_a_time(lambda rows: "
            "measurement(spark.createDataFrame(rows, schema)))."
        )
    if measurement.is_interactive:
        raise InvalidMechanism(
            f"{name} is interactive: it answers with an object to ask. Audit the measurements that "
            "are asked of it."
        )
    return building.released(
        name,
        partial(_release, measurement),
        claim_of(_kind(measurement.output_measure), measurement.privacy_function(d_in)),
        neighbours_of(metric, domain, d_in, records=records, max_records=max_records),
    )


def claim_of(measure: str, bound: Any) -> Claim:
    """The claim that a bound of this measure makes; exact numbers are rounded up."""
    if measure not in _CLAIMS:
        raise InvalidMechanism(f"from_tumult knows no claim for the measure {measure}.")
    parts = bound if isinstance(bound, tuple) else (bound,)
    return _CLAIMS[measure](*(_number(part, round_up=True) for part in parts))


def neighbours_of(
    metric: Any, domain: Any, d_in: Any, *, records: Domain | None, max_records: int
) -> Relation:
    """The pairs of inputs that are at most this distance apart."""
    name, each = _kind(metric), _kind(getattr(metric, "inner_metric", metric))
    if name in _NORMS and each == "AbsoluteDifference":
        element = getattr(domain, "element_domain", domain)
        length = 1 if element is domain else getattr(domain, "length", None)
        whole, distance = _kind(element) == "NumpyIntegerDomain", _number(d_in, round_up=False)
        return building.answers(length, distance, norm=_NORMS[name], whole=whole)
    kind = _records(domain) if records is None else records
    if kind is None:
        raise InvalidMechanism(
            f"what a record of {domain!r} may be is not known. Say so: from_tumult(measurement, "
            "records=dpaudit.tables(city=dpaudit.categories('a', 'b'), form='pandas'))."
        )
    if name in _RELATIONS:
        steps = int(_number(d_in, round_up=False))
        return building.apart(_RELATIONS[name], kind, steps, max_records)
    raise InvalidMechanism(
        f"from_tumult knows no neighbours for the metric {metric!r}. Write the measurement as a "
        "function, and say which data are neighbours: dpaudit.audit(dpaudit.one_at_a_time("
        "lambda data: measurement(data)), claim, neighbours)."
    )


def _records(domain: Any) -> Domain | None:
    """What a record may be; None where the domain does not say."""
    match _kind(domain):
        case "PandasSeriesDomain":
            return _records(domain.element_domain)
        case "PandasDataFrameDomain":
            columns = {name: _records(column) for name, column in domain.schema.items()}
            known = {name: column for name, column in columns.items() if column is not None}
            return tables(known, form="pandas") if len(known) == len(columns) else None
        case "NumpyFloatDomain":
            return building.any_float(nan=domain.allow_nan, infinite=domain.allow_inf)
        case "NumpyIntegerDomain":
            return building.any_integer()
    return None


def _release(measurement: Any, data: Any) -> Any:
    return measurement(_packed(measurement.input_domain, data))


def _packed(domain: Any, data: Any) -> Any:
    """Data in the form that a domain asks for."""
    match _kind(domain):
        case "PandasSeriesDomain":
            kind = domain.element_domain.carrier_type
            return building.needed("pandas", "tumult").Series(data, dtype=kind)
        case "ListDomain":
            return [_packed(domain.element_domain, [value]) for value in data]
        case "PandasDataFrameDomain":
            return data
    return domain.carrier_type(data[0])


def _kind(part: Any) -> str:
    return type(part).__name__


def _number(exact: Any, *, round_up: bool) -> float:
    """An exact number of Tumult Core, or what makes one, as a float."""
    if hasattr(exact, "to_float"):
        return float(exact.to_float(round_up=round_up))
    return float(Fraction(exact))
