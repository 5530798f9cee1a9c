"""OpenDP: the claim of a measurement from its privacy map, the neighbours from its metric.

OpenDP draws from the operating system, so an audit's `rng` does not reach it and no two audits of a
measurement are the same.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from dpaudit.claims import ZCDP, ApproxDP, Claim, Profile, PureDP, profiles
from dpaudit.domains import Domain, categories, floats, integers
from dpaudit.errors import InvalidMechanism, InvalidOutput
from dpaudit.integrations import building
from dpaudit.mechanism import Subject
from dpaudit.neighbours import Relation, add_or_remove_one, group, replace_one
from dpaudit.outputs import short

ORDERS = (1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 32.0, 64.0)  # of a Rényi curve
OLDEST = (0, 14)  # the oldest OpenDP whose objects have the attributes read here

# These return something to ask questions of, so one call is not one output.
_INTERACTIVE = (
    "make_adaptive_composition",
    "make_sequential_composition",
    "make_fully_adaptive_composition",
    "make_privacy_filter",
    "make_alp_queryable",
)
_QUERYABLES = ("opendp.mod.Queryable", "opendp.mod.OdometerQueryable")
_NORMS = {"AbsoluteDistance": np.inf, "L1Distance": 1, "L2Distance": 2, "LInfDistance": np.inf}
_ADDING = ("SymmetricDistance", "InsertDeleteDistance")
_REPLACING = ("ChangeOneDistance", "HammingDistance")
_PARTS = ("output_measure", "input_metric", "input_domain", "map")
_AS_A_FUNCTION = "dpaudit.audit(dpaudit.one_at_a_time({}), claim, neighbours)"


def from_opendp(
    measurement: Any,
    d_in: float | None = None,
    *,
    records: Domain | None = None,
    max_records: int = 10,
) -> Subject:
    """Make a subject of an OpenDP measurement, or of a query of its context.

    The claim is what the measurement's privacy map says at the distance `d_in` (1 if not given; a
    query knows its own): pure or approximate DP, zCDP, or the whole curve of a privacy profile or
    of Rényi divergences. The neighbours follow from its input metric and domain. Pass `records`
    where the domain does not say what a record is (strings), or to narrow it.

    >>> import dpaudit
    >>> import opendp.prelude as dp
    >>> dp.enable_features("contrib")
    >>> space = dp.vector_domain(dp.atom_domain(bounds=(0.0, 10.0))), dp.symmetric_distance()
    >>> noisy_sum = space >> dp.t.then_sum() >> dp.m.then_laplace(scale=20.0)
    >>> print(dpaudit.integrations.from_opendp(noisy_sum))
    OpenDP measurement: 0.5...-DP; add or remove one of at most 10 records of floats(0, 10)

    A measurement whose claim is not about the data it is given (`make_population_amplification`)
    is refused, and so is one that returns a queryable.
    """
    _refuse_an_old_opendp()
    if not hasattr(measurement, "output_measure") and callable(getattr(measurement, "resolve", 0)):
        d_in = getattr(measurement, "_d_in", None) if d_in is None else d_in
        measurement = measurement.resolve()
    _refuse_what_is_interactive(measurement)
    hint = " A transformation becomes one with noise: transformation >> dp.m.then_laplace(scale=1)."
    needs = "from_opendp needs a measurement of OpenDP"
    building.check_parts(measurement, *_PARTS, needs=needs, hint=hint)
    _refuse_a_population(measurement)
    distance = _distance(measurement, 1 if d_in is None else d_in)
    metric, domain = measurement.input_metric, measurement.input_domain
    return building.released(
        "OpenDP measurement",
        partial(_release, measurement, _is_vector(domain)),
        claim_of(str(measurement.output_measure.type), measurement.map(distance)),
        neighbours_of(metric, domain, distance, records=records, max_records=max_records),
    )


def _refuse_an_old_opendp() -> None:
    try:
        installed = version("opendp")
    except PackageNotFoundError:
        return
    found = re.match(r"(\d+)\.(\d+)", installed)
    if found is not None and (int(found[1]), int(found[2])) < OLDEST:
        raise InvalidMechanism(
            f"from_opendp needs OpenDP {OLDEST[0]}.{OLDEST[1]} or newer, but {installed} is "
            "installed. Update it: pip install --upgrade opendp. Or audit the measurement as a "
            f"function: {_AS_A_FUNCTION.format('measurement')}."
        )


def _refuse_what_is_interactive(measurement: Any) -> None:
    """Refuse what returns a queryable: its claim covers all answers to all questions together."""
    made = _made_by(measurement)
    name = made.get("__function__")
    if name == "make_chain_mt":  # a transformation in front of a measurement
        _refuse_what_is_interactive(made["__kwargs__"].get("measurement1"))
    elif name in _INTERACTIVE or _full_name(measurement) == "opendp.mod.Odometer":
        raise InvalidMechanism(
            f"{name or 'this odometer'} gives a queryable, which is not an output: its claim is "
            "about all answers to all questions asked of it. Audit each measurement that you ask "
            "for its own claim, or a function that asks the questions and returns all answers: "
            f"{_AS_A_FUNCTION.format('function')}."
        )


def _refuse_a_population(measurement: Any) -> None:
    """Refuse a claim about a population: the two datasets of a pair are not samples of one."""
    for made in _made_of(measurement):
        if made.get("__function__") == "make_population_amplification":
            people = made["__kwargs__"].get("population_size")
            raise InvalidMechanism(
                "make_population_amplification makes no claim about the data that the measurement "
                f"is given, but about a population of {people}, of which the data are a secret "
                "random sample. An audit would compare two samples, and accuse it wrongly. Audit "
                "the measurement inside it, or a function that draws the sample itself: "
                f"{_AS_A_FUNCTION.format('function')}."
            )


def _made_of(part: Any) -> Iterator[dict[str, Any]]:
    """The calls that made a measurement and each of its parts, which OpenDP keeps."""
    if isinstance(part, list | tuple):
        for each in part:
            yield from _made_of(each)
    made = _made_by(part)
    if made:
        yield made
        yield from _made_of(list(made["__kwargs__"].values()))


def _made_by(part: Any) -> dict[str, Any]:
    """The call that made an object of OpenDP; empty where it was not kept."""
    made = getattr(part, "__opendp_dict__", None)
    return made if isinstance(made, dict) and "__kwargs__" in made else {}


def _full_name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def claim_of(measure: str, bound: Any) -> Claim:
    """The claim that a bound of this measure makes.

    >>> print(claim_of("Approximate<MaxDivergence>", (1.0, 1e-6)))
    (1, 1e-06)-DP
    """
    match _bare(measure):
        case "MaxDivergence":
            return PureDP(bound)
        case "ZeroConcentratedDivergence":
            return ZCDP(bound)
        case "Approximate" if "ZeroConcentrated" in measure:
            rho, delta = bound
            loose = ZCDP(rho)
            return Profile(lambda level: delta + loose.delta(level), f"{loose} but for {delta:g}")
        case "Approximate" | "FixedSmoothedMaxDivergence":
            return ApproxDP(*bound)
        case "SmoothedMaxDivergence":
            return Profile(bound.delta, "OpenDP privacy profile")
        case "RenyiDivergence":
            return Profile(_renyi_profile(bound), "OpenDP Rényi curve")
    raise InvalidMechanism(
        f"from_opendp knows no claim for the measure {measure}. Pass one, for the measurement as a "
        f"function: {_AS_A_FUNCTION.format('measurement')}."
    )


def _renyi_profile(curve: Callable[[float], float]) -> Callable[[float], float]:
    """The best conversion over some orders: each alone is implied by the curve."""
    known = [(order, float(curve(order))) for order in ORDERS]
    return lambda level: min(profiles.renyi_delta(*point, level) for point in known)


def neighbours_of(
    metric: Any, domain: Any, distance: float, *, records: Domain | None, max_records: int
) -> Relation:
    """The pairs of datasets that are at most this distance apart."""
    name, words = _bare(str(metric.type)), repr(metric)
    if name in _NORMS:
        return _answers(domain, distance, _NORMS[name], one_way="monotonic" in words)
    kind = _records(domain) if records is None else records
    if kind is None:
        raise InvalidMechanism(
            f"what a record of {domain!r} may be is not known. Say so: "
            "from_opendp(measurement, records=dpaudit.categories('a', 'b'))."
        )
    if name == "DiscreteDistance":
        return replace_one(kind, max_records=1)
    size = getattr(domain, "size", None)
    if name in _ADDING and size is None:
        return building.apart(add_or_remove_one, kind, int(distance), max_records)
    if name in _ADDING or name in _REPLACING:
        changes = int(distance) // 2 if name in _ADDING else int(distance)
        return _replaced(kind, changes, size, max_records)
    raise InvalidMechanism(
        f"from_opendp knows no neighbours for the metric {words}. Pass the pairs, for the "
        "measurement as a function: dpaudit.audit(dpaudit.one_at_a_time(measurement), claim, "
        "[(data, neighbour), ...])."
    )


def _replaced(kind: Domain, changes: int, size: int | None, max_records: int) -> Relation:
    if changes < 1:
        raise InvalidMechanism(
            f"two datasets of {size} records are an even distance apart, so d_in must be at least "
            "2: from_opendp(measurement, d_in=2)."
        )
    if size is None:
        return building.apart(replace_one, kind, changes, max_records)
    return group(replace_one(kind, min_records=size, max_records=size), changes)


def _answers(domain: Any, distance: float, norm: float, *, one_way: bool) -> Relation:
    kind, bounds, atom = _numbers(domain)
    length = 1 if atom is domain else getattr(domain, "size", None)
    low, high = bounds or (0 if kind == "u" else None, None)
    return building.answers(
        length, distance, norm=norm, low=low, high=high, whole=kind in "iu", one_way=one_way
    )


def _records(domain: Any) -> Domain | None:
    """What a record may be; None where the domain does not say."""
    kind, bounds, atom = _numbers(domain)
    if kind == "f":
        return building.any_float(nan=atom.nan) if bounds is None else floats(*bounds)
    if kind in "iu":
        least, narrow = 0 if kind == "u" else None, "8" in str(atom.carrier_type)
        return integers(*bounds) if bounds else building.any_integer(least=least, narrow=narrow)
    return categories(False, True) if kind == "b" else None


def _numbers(domain: Any) -> tuple[str, tuple[Any, Any] | None, Any]:
    """A value's kind (the first letter of f64, i32, u8, bool or String), bounds and domain."""
    atom = domain.element_domain if _is_vector(domain) else domain
    kind = str(atom.carrier_type)[:1]
    return kind, atom.bounds if kind in "fiu" else None, atom


def _is_vector(domain: Any) -> bool:
    return _bare(str(domain.type)) == "VectorDomain"


def _bare(name: str) -> str:
    """A type without its path and its arguments.

    >>> _bare("opendp::metrics::LInfDistance<f64>")
    'LInfDistance'
    """
    return name.partition("<")[0].rpartition("::")[2]


def _distance(measurement: Any, d_in: float) -> float:
    """The distance in the type that the map takes."""
    kind = str(measurement.input_distance_type)
    if kind[:1] not in "fiu":
        raise InvalidMechanism(
            f"from_opendp needs one number for the distance of neighbours, but the metric "
            f"{measurement.input_metric!r} takes {kind}."
        )
    if kind[:1] != "f" and d_in != int(d_in):
        raise InvalidMechanism(f"d_in must be a whole number for {kind}, got {d_in!r}.")
    return float(d_in) if kind[:1] == "f" else int(d_in)


def _release(measurement: Any, vector: bool, data: Any) -> Any:
    """One output. A measurement of a single value gets the only record."""
    plain = data.tolist() if isinstance(data, np.ndarray) else list(data)
    output = measurement(plain if vector else plain[0])
    if _holds_a_queryable(output):
        raise InvalidOutput(
            f"the measurement gives a queryable ({short(output)}), which is not an output: its "
            "claim is about all answers to all questions. Ask the questions behind it: "
            "measurement >> (lambda queryable: queryable(question))."
        )
    return output


def _holds_a_queryable(output: Any) -> bool:
    if isinstance(output, list | tuple):
        return any(_holds_a_queryable(entry) for entry in output)
    return _full_name(output) in _QUERYABLES
