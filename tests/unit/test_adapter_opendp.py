"""Measurements of OpenDP that no audit can judge are refused, on stand-ins for its objects."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import dpaudit
from dpaudit.claims import PureDP
from dpaudit.errors import InvalidMechanism
from dpaudit.integrations import from_opendp


class _Measurement(SimpleNamespace):
    def __call__(self, data: Any) -> object:
        return float(sum(data))


def _measurement() -> Any:
    atom = SimpleNamespace(
        type="AtomDomain<f64>", carrier_type="f64", bounds=(0.0, 10.0), nan=False
    )
    return _Measurement(
        input_domain=SimpleNamespace(type="VectorDomain", element_domain=atom, size=None),
        input_metric=SimpleNamespace(type="SymmetricDistance"),
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
        with pytest.raises(InvalidMechanism, match=f"{name} gives a queryable, which is no output"):
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
