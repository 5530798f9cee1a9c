"""What OpenDP's measures, metrics and domains mean, and what is refused, on stand-ins for them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dpaudit
from dpaudit.claims import ZCDP, ApproxDP, PureDP
from dpaudit.domains import categories, floats, integers
from dpaudit.errors import InvalidMechanism
from dpaudit.integrations import answers, brought_by, from_opendp
from dpaudit.integrations.opendp import claim_of, neighbours_of
from dpaudit.mechanism import as_mechanism
from dpaudit.neighbours import add_or_remove_one, group, query_answers, replace_one


def _metric(kind: str) -> Any:
    return SimpleNamespace(type=kind)


def _domain(words: str) -> Any:
    """Such as "f64 0 10 size=4": numbers between 0 and 10, four of them."""
    kind, *rest = words.split()
    bounds = tuple(float(word) if kind[0] == "f" else int(word) for word in rest if word.isdigit())
    sizes = [int(word.removeprefix("size=")) for word in rest if word.startswith("size=")]
    atom = SimpleNamespace(
        carrier_type=kind, type=f"AtomDomain<{kind}>", bounds=bounds or None, nan="nan" in rest
    )
    if kind == "bool" or "atom" in rest:
        return atom
    return SimpleNamespace(
        type=f"VectorDomain<{atom.type}>", element_domain=atom, size=sizes[0] if sizes else None
    )


class _Called(SimpleNamespace):
    def __call__(self, data: Any) -> float:
        assert type(data) is list
        return float(sum(data))


def _measurement() -> Any:
    return _Called(
        input_domain=_domain("f64 0 10"),
        input_metric=_metric("SymmetricDistance"),
        input_distance_type="u32",
        output_measure=SimpleNamespace(type="MaxDivergence"),
        map=lambda distance: 2.0 * distance,
    )


def _made(name: str, **parts: Any) -> Any:
    """A measurement that knows, as those of OpenDP do, by which call it was made."""
    measurement = _measurement()
    measurement.__opendp_dict__ = {"__function__": name, "__kwargs__": parts}
    return measurement


AMPLIFIED = _made("make_population_amplification", measurement=_measurement(), population_size=90)


@pytest.mark.parametrize(
    "measurement",
    [
        AMPLIFIED,
        _made("make_chain_pm", postprocess1=len, measurement0=AMPLIFIED),
        _made("make_composition", measurements=[_measurement(), AMPLIFIED]),
        _made("make_composition", measurements=[_made("make_cast", measurement=AMPLIFIED)]),
    ],
)
def test_a_claim_about_a_population_is_refused(measurement: Any) -> None:
    with pytest.raises(InvalidMechanism, match="about a population of 90, of which the data are"):
        from_opendp(measurement)


@pytest.mark.parametrize(
    "name", ["make_adaptive_composition", "make_sequential_composition", "make_privacy_filter"]
)
def test_what_gives_a_queryable_is_refused(name: str) -> None:
    chained = _made("make_chain_mt", measurement1=_made(name), transformation0=None)
    for measurement in (_made(name), chained):
        with pytest.raises(
            InvalidMechanism, match=f"{name} gives a queryable, which is not an output"
        ):
            from_opendp(measurement)


def test_a_queryable_is_no_output() -> None:
    class Queryable:
        __module__, __qualname__ = "opendp.mod", "Queryable"

    class Releasing(SimpleNamespace):
        def __call__(self, data: Any) -> Any:
            return (1, [Queryable()])

    subject = from_opendp(Releasing(**vars(_measurement())))
    with pytest.raises(dpaudit.errors.InvalidOutput, match="gives a queryable"):
        dpaudit.audit(subject, samples=100, rng=1)


@pytest.mark.parametrize("installed", ["0.9.2", "0.11.1", "0.13.0", "0.13.0-nightly.2025"])
def test_an_old_opendp_is_told_so(monkeypatch: pytest.MonkeyPatch, installed: str) -> None:
    monkeypatch.setattr("dpaudit.integrations.opendp.version", lambda name: installed)
    message = f"needs OpenDP 0.14 or newer, but {installed} is installed. Update it"
    with pytest.raises(InvalidMechanism, match=message):
        from_opendp(_measurement())


@pytest.mark.parametrize("installed", ["0.14.0", "0.16.0", "1.0", "0.15.0a1", "unknown"])
def test_a_newer_opendp_is_not(monkeypatch: pytest.MonkeyPatch, installed: str) -> None:
    monkeypatch.setattr("dpaudit.integrations.opendp.version", lambda name: installed)
    assert from_opendp(_measurement()).claim == PureDP(2.0)


def test_a_library_is_recognised_without_being_imported() -> None:
    class Measurement(SimpleNamespace):
        __module__, __qualname__ = "opendp.mod", "Measurement"

        def __call__(self, data: Any) -> float:
            return float(sum(data))

    class Renamed(Measurement):
        __module__, __qualname__ = "mine", "Renamed"

    for kind in (Measurement, Renamed):
        found = brought_by(kind(**vars(_measurement())))
        assert found is not None
        assert found.claim == PureDP(2.0)


@pytest.mark.parametrize(
    ("measure", "bound", "claim"),
    [
        ("MaxDivergence", 1.5, PureDP(1.5)),
        ("ZeroConcentratedDivergence", 0.5, ZCDP(0.5)),
        ("Approximate<MaxDivergence>", (1.0, 1e-6), ApproxDP(1.0, 1e-6)),
        ("FixedSmoothedMaxDivergence", (1.0, 1e-6), ApproxDP(1.0, 1e-6)),
    ],
)
def test_a_measure_is_a_claim(measure: str, bound: Any, claim: dpaudit.claims.Claim) -> None:
    assert claim_of(measure, bound) == claim


def test_a_curve_is_a_profile() -> None:
    profile = claim_of("SmoothedMaxDivergence", SimpleNamespace(delta=PureDP(1.0).delta))
    assert profile.delta(0.5) == PureDP(1.0).delta(0.5)
    renyi = claim_of("RenyiDivergence", lambda order: 0.1 * order)  # that of 0.1-zCDP
    assert ZCDP(0.1).delta(1.0) <= renyi.delta(1.0) <= 1.1 * ZCDP(0.1).delta(1.0)
    loose = claim_of("Approximate<ZeroConcentratedDivergence>", (0.1, 1e-3))
    assert loose.delta(1.0) == ZCDP(0.1).delta(1.0) + 1e-3
    with pytest.raises(InvalidMechanism, match="no claim for the measure UserDivergence"):
        claim_of("UserDivergence", 1.0)


@pytest.mark.parametrize(
    ("metric", "domain", "distance", "neighbours"),
    [
        ("SymmetricDistance", "f64 0 10", 1, add_or_remove_one(floats(0, 10), max_records=5)),
        (
            "SymmetricDistance",
            "f64 0 10",
            2,
            group(add_or_remove_one(floats(0, 10), max_records=5), 2),
        ),
        (
            "SymmetricDistance",
            "f64 0 10 size=4",
            2,
            replace_one(floats(0, 10), min_records=4, max_records=4),
        ),
        ("ChangeOneDistance", "i32 0 9", 1, replace_one(integers(0, 9), max_records=5)),
        ("HammingDistance", "i32", 1, replace_one(integers(-1000, 1000), max_records=5)),
        ("InsertDeleteDistance", "u8", 1, add_or_remove_one(integers(0, 100), max_records=5)),
        ("DiscreteDistance", "bool", 1, replace_one(categories(False, True), max_records=1)),
        ("AbsoluteDistance<f64>", "f64 atom", 2.0, query_answers(1, 2)),
        ("L1Distance<f64>", "f64", 1.0, query_answers(3, norm=1)),
        ("L2Distance<f64>", "f64 size=5", 1.0, query_answers(5, norm=2)),
        ("opendp::metrics::LInfDistance<f64>", "f64 0 9", 1.0, query_answers(3, low=0, high=9)),
        ("L1Distance<i32>", "i32", 2, answers(3, 2, norm=1, whole=True)),
    ],
)
def test_a_metric_is_a_relation(metric: str, domain: str, distance: float, neighbours: Any) -> None:
    found = neighbours_of(_metric(metric), _domain(domain), distance, records=None, max_records=5)
    assert found == neighbours


def test_scores_that_move_one_way_are_not_moved_apart() -> None:
    class Monotonic:
        type = "LInfDistance<f64>"

        def __repr__(self) -> str:
            return "LInfDistance(monotonic, T=f64)"

    found = neighbours_of(Monotonic(), _domain("f64"), 1.0, records=None, max_records=5)
    assert found == answers(3, 1.0, one_way=True)


def test_numbers_without_bounds_are_odd_too() -> None:
    with_nan = neighbours_of(
        _metric("SymmetricDistance"), _domain("f64 nan"), 1, records=None, max_records=5
    )
    without = neighbours_of(
        _metric("SymmetricDistance"), _domain("f64"), 1, records=None, max_records=5
    )
    assert with_nan.contains(dpaudit.Pair(np.array([np.nan]), np.array([])))
    assert not without.contains(dpaudit.Pair(np.array([np.nan]), np.array([])))
    assert without.contains(dpaudit.Pair(np.array([np.inf]), np.array([])))


@pytest.mark.parametrize(
    ("metric", "domain", "distance", "message"),
    [
        ("SymmetricDistance", "String", 1, "what a record of .* may be is not known. Say so"),
        ("SymmetricDistance", "f64 size=4", 1, "must be at least 2: from_opendp"),
        ("FrameDistance", "f64", 1, "no neighbours for the metric"),
    ],
)
def test_what_is_not_known_is_said(metric: str, domain: str, distance: float, message: str) -> None:
    with pytest.raises(InvalidMechanism, match=message):
        neighbours_of(_metric(metric), _domain(domain), distance, records=None, max_records=5)


def test_a_measurement_gets_lists_and_its_own_type_of_distance() -> None:
    measurement = _measurement()
    subject = from_opendp(measurement, 3)
    assert subject.claim == PureDP(6.0)
    drawn = as_mechanism(subject.mechanism).draw(np.array([1.0, 2.0]), 4, np.random.default_rng(0))
    assert list(drawn) == [3.0] * 4
    with pytest.raises(InvalidMechanism, match=r"d_in must be a whole number for u32, got 1\.5"):
        from_opendp(measurement, 1.5)
    query = SimpleNamespace(resolve=lambda: measurement, _d_in=2)
    assert from_opendp(query).claim == PureDP(4.0)
    with pytest.raises(InvalidMechanism, match="needs a measurement of OpenDP, got"):
        from_opendp(len)
