"""The four holes of the nearest tool, each with code that it would let pass: none passes here.

dp-recorder (Proceedings on Privacy Enhancing Technologies 2026) compares what goes into each
primitive on both datasets with a declared sensitivity (docs/inside.md). Each hole has a twin
without the slip, which is not accused.
"""

import math
from typing import Any

import numpy as np
import pytest

import dpaudit
from dpaudit import ApproxDP, InsideAudit, InsideVerdict, PureDP
from dpaudit.inside import ExponentialMechanism, Gaussian, Laplace, Vector, release

Rng = np.random.Generator
NOT_REFUTED, BROKEN = InsideVerdict.NOT_REFUTED, InsideVerdict.BROKEN_INSIDE
LENGTH = 2_000


def inside(code: Any, pair: tuple[Any, Any], claim: Any = None) -> InsideAudit:
    claim = PureDP(1.0) if claim is None else claim
    return dpaudit.audit_inside(code, claim, [pair], rng=7, transcripts=60)


# --- 1. of several parameters, only the first is compared -----------------------------------------


def test_hole_1_a_parameter_behind_the_first_depends_on_the_data() -> None:
    """The input and the first keyword, epsilon, are equal; the sensitivity is that of the data."""

    def winner(data: Any, rng: Rng, *, local: bool) -> object:
        sensitivity = max(np.abs(data)) if local else 1.0
        scores = np.array([1.0, 0.0]) if local else np.array([np.sum(data), 0.0])
        noise = ExponentialMechanism(epsilon=1.0, sensitivity=float(sensitivity))
        return release(scores, noise, rng)

    pair = (np.array([1.0]), np.array([0.05]))
    found = inside(lambda data, rng: winner(data, rng, local=True), pair, PureDP(0.2))
    assert found.verdict is BROKEN
    assert found.worst is not None
    one = found.worst.release
    assert one.kernel.epsilon == one.neighbour_kernel.epsilon
    assert {one.kernel.sensitivity, one.neighbour_kernel.sensitivity} == {1.0, 0.05}
    assert "sensitivity=0.05" in str(found)
    right = inside(lambda data, rng: winner(data, rng, local=False), pair, PureDP(0.5))
    assert right.verdict is NOT_REFUTED


def test_hole_1_also_where_the_generator_is_followed() -> None:
    def noisy(data: Any, rng: Rng, *, local: bool) -> object:
        return rng.laplace(loc=1.0, scale=float(max(data)) if local else 1.0)

    pair = (np.array([1.0]), np.array([0.1]))
    found = inside(lambda data, rng: noisy(data, rng, local=True), pair)
    assert found.verdict is BROKEN
    summed = inside(lambda data, rng: noisy(data, rng, local=False) + np.sum(data), pair)
    assert summed.verdict is NOT_REFUTED


# --- 2. a distance that is not a number is not above the sensitivity ------------------------------


@pytest.mark.parametrize("claim", [PureDP(1.0), ApproxDP(1.0, 1e-5)], ids=str)
@pytest.mark.parametrize("explicit", [True, False], ids=["release", "generator"])
def test_hole_2_a_distance_that_is_nan(explicit: bool, claim: Any) -> None:
    """The mean of no record is NaN: no comparison with a sensitivity is true of it."""

    def mean(data: Any, rng: Rng) -> object:
        total = float(np.sum(data) / np.float64(len(data))) if len(data) else math.nan
        return release(total, Laplace(1.0), rng) if explicit else total + rng.laplace(scale=1.0)

    found = inside(mean, ([1.0], []), claim)
    assert found.verdict is BROKEN
    assert found.worst is not None
    assert found.worst.loss == math.inf
    assert math.isnan(found.worst.release.input) or math.isnan(found.worst.release.neighbour_input)
    assert "infinite" in str(found)
    assert inside(mean, ([1.0], [0.5]), claim).verdict is NOT_REFUTED


# --- 3. the neighbour makes fewer calls, and those that were made agree ---------------------------


def each_record(data: Any, rng: Rng) -> object:
    return [release(0.0, Laplace(1.0), rng) for _ in data]


def count_of_releases_hidden(data: Any, rng: Rng) -> object:
    """The output has the same form on both; only the number of releases tells them apart."""
    return sum(release(0.0, Laplace(1.0), rng) for _ in data)


def stops_early(data: Any, rng: Rng) -> object:
    first = release(0.0, Gaussian(1.0), rng)
    return first if len(data) < 2 else first + release(0.0, Gaussian(1.0), rng)


def each_record_by_the_generator(data: Any, rng: Rng) -> object:
    return [rng.laplace() for _ in data]


@pytest.mark.parametrize(
    "code",
    [each_record, count_of_releases_hidden, stops_early, each_record_by_the_generator],
)
def test_hole_3_fewer_calls_on_the_neighbour(code: Any) -> None:
    """Every call that both make has equal inputs, so a comparison of these finds nothing."""
    for pair in (([1.0, 0.0], [1.0]), ([1.0], [1.0, 0.0])):
        found = inside(code, pair)
        assert found.verdict in (BROKEN, InsideVerdict.UNDECIDED)
        assert found.differs is not None or found.verdict is BROKEN
    assert inside(code, ([1.0, 0.0], [1.0, 1.0])).verdict is not BROKEN


def test_hole_3_the_black_box_decides_what_differs() -> None:
    found = inside(each_record, ([1.0, 0.0], [1.0]))
    assert found.verdict is InsideVerdict.UNDECIDED
    assert found.confirm(samples=5_000).verdict is dpaudit.Verdict.REFUTED


# --- 4. parameters and inputs are compared as text, in which long arrays are cut ------------------


def in_the_middle(value: float) -> Any:
    found = np.zeros(LENGTH)
    found[LENGTH // 2] = value
    return found


def test_the_texts_of_such_arrays_are_equal() -> None:
    assert repr(in_the_middle(0.0)) == repr(in_the_middle(5.0))


@pytest.mark.parametrize("explicit", [True, False], ids=["release", "generator"])
def test_hole_4_inputs_that_differ_in_the_middle(explicit: bool) -> None:
    def vector(data: Any, rng: Rng) -> object:
        numbers = in_the_middle(float(np.sum(data)))
        if explicit:
            return release(numbers, Laplace(1.0), rng)
        return numbers + rng.laplace(scale=1.0, size=LENGTH)

    found = inside(vector, ([5.0], [0.0]))
    assert found.verdict is BROKEN
    right = inside(vector, ([0.5], [0.0]))
    assert right.verdict is NOT_REFUTED


def test_hole_4_parameters_that_differ_in_the_middle() -> None:
    def noisy(data: Any, rng: Rng) -> object:
        scales = 1.0 + in_the_middle(float(np.sum(data)))
        return np.zeros(LENGTH) + rng.laplace(scale=scales)

    def listed(data: Any, rng: Rng) -> object:
        scales = [1.0] * 40
        scales[20] += float(np.sum(data))
        return release([0.0] * 40, Vector(tuple(map(Laplace, scales))), rng)

    for code in (noisy, listed):
        assert inside(code, ([50.0], [0.0])).verdict is BROKEN
        assert inside(code, ([0.0, 0.0], [0.0])).verdict is not BROKEN


def test_hole_4_what_is_shown_says_where_they_differ() -> None:
    """Our own text is cut, too: it must not show two equal lines and leave it there."""

    def vector(data: Any, rng: Rng) -> object:
        return release(in_the_middle(float(np.sum(data))), Laplace(1.0), rng)

    found = inside(vector, ([5.0], [0.0]))
    said = " ".join(str(found).split())
    assert "1 of 2,000 entries differ, first [1000]: " in said

    def listed(data: Any, rng: Rng) -> object:
        scales = [1.0] * 40
        scales[20] += float(np.sum(data))
        return release([0.0] * 40, Vector(tuple(map(Laplace, scales))), rng)

    noise = " ".join(str(inside(listed, ([50.0], [0.0]))).split())
    assert "scale=51.0" in noise
