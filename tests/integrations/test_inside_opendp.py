"""OpenDP inside: measurements taken apart; their laws against the library's own draws (at 1e-6)."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpaudit
from dpaudit import InsideVerdict, PureDP
from dpaudit.inside import transcript_of
from dpaudit.integrations import from_opendp
from dpaudit.mechanism import as_mechanism
from dpaudit.neighbours import Pair

pytest.importorskip("opendp", reason="opendp is not installed")
dp = import_module("opendp.prelude")
dp.enable_features("contrib", "honest-but-curious")

DRAWS = 4_000
RECORDS = dp.vector_domain(dp.atom_domain(bounds=(0.0, 10.0))), dp.symmetric_distance()
NUMBER = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
WHOLE = dp.atom_domain(T=int), dp.absolute_distance(T=int)


def release_of(measurement: Any, value: Any) -> Any:
    found = transcript_of(
        as_mechanism(dpaudit.one_at_a_time(lambda data, rng: measurement(data))),
        Pair(value, value),
        np.random.default_rng(0),
    )
    (release,) = found.releases
    return release


@pytest.mark.parametrize(
    ("made", "law"),
    [
        (dp.m.then_laplace(scale=2.0), stats.laplace(1.5, 2.0)),
        (dp.m.then_gaussian(scale=2.0), stats.norm(1.5, 2.0)),
    ],
    ids=["laplace", "gaussian"],
)
def test_noise_on_floats_is_that_of_the_library(made: Any, law: Any) -> None:
    measurement = NUMBER >> made
    assert stats.kstest([measurement(1.5) for _ in range(DRAWS)], law.cdf).pvalue > 1e-6
    release = release_of(measurement, 1.5)
    for place in (-1.0, 1.5, 4.0):
        assert release.kernel.log_density([place], release.input) == pytest.approx(
            law.logpdf(place)
        )


@pytest.mark.parametrize(
    "made",
    [
        dp.m.then_laplace(scale=2.0),
        dp.m.then_geometric(scale=2.0),
        dp.m.then_gaussian(scale=2.0),
    ],
    ids=["laplace", "geometric", "gaussian"],
)
def test_noise_on_whole_numbers_is_that_of_the_library(made: Any) -> None:
    measurement = WHOLE >> made
    release = release_of(measurement, 3)
    places = range(-3, 10)
    drawn = np.array([measurement(3) for _ in range(DRAWS)])
    chances = [math.exp(release.kernel.log_density([place], release.input)) for place in places]
    counts = [int(np.sum(drawn == place)) for place in places]
    expected = DRAWS * np.array([*chances, 1.0 - sum(chances)])
    assert stats.chisquare([*counts, DRAWS - sum(counts)], expected).pvalue > 1e-6


def test_an_answer_is_that_of_the_library() -> None:
    measurement = dp.m.make_randomized_response(["a", "b", "c"], 0.6)
    release = release_of(measurement, "b")
    chances = [math.exp(release.kernel.log_density(place, release.input)) for place in range(3)]
    assert chances == pytest.approx([0.2, 0.6, 0.2])
    drawn = [measurement("b") for _ in range(DRAWS)]
    counts = [drawn.count(label) for label in "abc"]
    assert stats.chisquare(counts, DRAWS * np.array(chances)).pvalue > 1e-6


def chains() -> dict[str, Any]:
    noisy_sum = RECORDS >> dp.t.then_sum() >> dp.m.then_laplace(scale=10.0)
    counted = RECORDS >> dp.t.then_count() >> dp.m.then_geometric(scale=1.0)
    vector = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    return {
        "sum": noisy_sum,
        "count": counted,
        "both": dp.c.make_composition([noisy_sum, noisy_sum]),
        "after": noisy_sum >> (lambda total: round(total, 1)),
        "vector": vector >> dp.m.then_laplace(scale=1.0),
        "answer": dp.m.make_randomized_response_bool(0.75),
    }


@pytest.mark.parametrize("name", chains())
def test_a_measurement_keeps_the_claim_of_its_map(name: str) -> None:
    subject = from_opendp(chains()[name])
    for claim, verdict in ((subject.claim, "not refuted"), (PureDP(0.3), "broken inside")):
        found = dpaudit.audit_inside(
            subject.mechanism, claim, subject.neighbours, rng=1, transcripts=100
        )
        assert found.verdict.value == verdict


def test_code_around_a_measurement_is_followed() -> None:
    """The user's own preparation moves the sum by 20 where the noise is made for 10."""

    def twice(data: Any, rng: np.random.Generator) -> float:
        measurement = RECORDS >> dp.t.then_sum() >> dp.m.then_laplace(scale=10.0)
        return float(measurement(2 * list(data)))

    found = dpaudit.audit_inside(twice, PureDP(1.0), [([10.0], [])], rng=1)
    assert found.verdict is InsideVerdict.BROKEN_INSIDE
    assert found.worst is not None
    release = found.worst.release
    assert sorted([release.input, release.neighbour_input]) == [[0.0], [20.0]]


def test_measurements_without_a_law_are_refused_by_name() -> None:
    scores = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)
    noisy_max = scores >> dp.m.then_noisy_max(dp.max_divergence(), scale=1.0)
    bounded = dp.m.make_geometric(*WHOLE, scale=1.0, bounds=(0, 10))
    laplace = NUMBER >> dp.m.then_laplace(scale=1.0)
    far = WHOLE >> dp.m.then_laplace(scale=1.0)
    for said, code in {
        "make_noisy_max": lambda data, rng: noisy_max(data),
        "granularity or bounds": lambda data, rng: bounded(int(data[0])),
        "function of a measurement": lambda data, rng: laplace.function(data[0]),
        "near the end": lambda data, rng: far(2**31 - 3),
    }.items():
        found = dpaudit.audit_inside(code, PureDP(1.0), [([1.0], [0.0])], rng=1)
        assert found.verdict is InsideVerdict.CANNOT_FOLLOW
        assert said in found.reason


def test_hooks_are_undone() -> None:
    core = import_module("opendp.core")
    before = core.measurement_invoke, core.measurement_function
    measurement = NUMBER >> dp.m.then_laplace(scale=1.0)
    code = dpaudit.one_at_a_time(lambda data, rng: measurement(data[0]))
    dpaudit.audit_inside(code, PureDP(1.0), [([1.0], [0.0])], rng=1, transcripts=2)
    assert (core.measurement_invoke, core.measurement_function) == before
