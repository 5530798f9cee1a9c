"""A tester of DP-Auditorium keeps its verdicts when it is wrapped."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpaudit.claims import ZCDP, ApproxDP, Claim, GaussianDP, Profile, PureDP, RenyiDP
from dpaudit.errors import Underpowered, UnsupportedClaim
from dpaudit.testers import BatchTester, Method, from_dp_auditorium, method_of


@dataclass
class Theirs:
    """The two methods of a DP-Auditorium tester, and what it was asked."""

    rejects: Callable[[float], object] = lambda bound: bound > 0.01
    bound: object = 0.5
    asked: list[tuple[Any, Any, float]] = field(default_factory=list)

    def estimate_lower_bound(
        self, samples_1: Any, samples_2: Any, failure_probability: float
    ) -> Any:
        self.asked.append((samples_1, samples_2, failure_probability))
        return self.bound

    def reject_property(self, lower_bound: float) -> bool:
        return self.rejects(lower_bound)  # type: ignore[return-value]


class Stating(Theirs):
    """One that says what it tests, as `PrivacyProperty` does: one part set, the others None."""

    def __init__(self, **parts: object) -> None:
        super().__init__()
        unset = {"pure_dp": None, "renyi_dp": None, "approximate_dp": None}
        self.privacy_property = SimpleNamespace(**{**unset, **parts})


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_it_is_a_batch_tester() -> None:
    assert isinstance(from_dp_auditorium(Theirs()), BatchTester)


def test_the_bound_is_what_the_tester_estimates() -> None:
    theirs = Theirs(bound=np.float32(0.25))
    wrapped = from_dp_auditorium(theirs)
    bound = wrapped.lower_bound([1, 2, 3], np.zeros((2, 1)), PureDP(1.0), alpha=0.07, rng=rng())
    assert type(bound) is float
    assert bound == 0.25
    ((samples1, samples2, failure_probability),) = theirs.asked
    assert isinstance(samples1, np.ndarray)
    assert samples1.tolist() == [1, 2, 3]
    assert samples2.shape == (2, 1)
    assert failure_probability == 0.07


def test_a_tester_that_writes_into_its_samples_changes_nothing() -> None:
    class Writing(Theirs):
        def estimate_lower_bound(self, samples1: Any, samples2: Any, beta: float) -> float:
            samples1[:] = 9.0
            return 0.0

    outputs = np.zeros(3)
    from_dp_auditorium(Writing()).lower_bound(outputs, outputs, PureDP(1.0), alpha=0.05, rng=rng())
    assert outputs.tolist() == [0.0, 0.0, 0.0]


def test_nan_says_nothing() -> None:
    wrapped = from_dp_auditorium(Theirs(bound=math.nan))
    bound = wrapped.lower_bound(np.zeros(3), np.ones(3), PureDP(1.0), alpha=0.05, rng=rng())
    assert bound == -math.inf
    assert not bound > wrapped.threshold(PureDP(1.0))


def test_an_error_says_what_was_running() -> None:
    class Failing(Theirs):
        def estimate_lower_bound(self, samples1: Any, samples2: Any, beta: float) -> float:
            raise RuntimeError("no model")

    with pytest.raises(RuntimeError, match="no model") as caught:
        from_dp_auditorium(Failing()).lower_bound(
            np.zeros(3), np.ones(3), PureDP(1.0), alpha=0.05, rng=rng()
        )
    (note,) = caught.value.__notes__
    assert note.startswith("while estimating a lower bound with ")
    assert "Failing(" in note


LIMITS = [0.0, 5e-324, 1e-300, 0.01, 1 / 3, 1.0, 7.5, 1e300, -5e-324, -0.25, -1e300]


@pytest.mark.parametrize("limit", LIMITS)
def test_the_threshold_is_exactly_where_rejecting_starts(limit: float) -> None:
    above = from_dp_auditorium(Theirs(rejects=lambda bound: bound > limit))
    assert above.threshold(PureDP(1.0)) == limit
    at = from_dp_auditorium(Theirs(rejects=lambda bound: np.bool_(bound >= limit)))
    assert at.threshold(PureDP(1.0)) == math.nextafter(limit, -math.inf)


def test_a_property_that_is_never_rejected_is_underpowered() -> None:
    with pytest.raises(Underpowered, match=r"False even for a bound of 1.8e\+308: it can never"):
        from_dp_auditorium(Theirs(rejects=lambda bound: False)).threshold(PureDP(1.0))
    with pytest.raises(Underpowered, match="can never refute 1-DP"):
        from_dp_auditorium(Theirs(rejects=lambda bound: bound > math.nan)).threshold(PureDP(1.0))


def test_a_property_that_is_always_rejected_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"True even for a bound of -1.8e\+308"):
        from_dp_auditorium(Theirs(rejects=lambda bound: True)).threshold(PureDP(1.0))


@pytest.mark.parametrize("name", ["estimate_lower_bound", "reject_property"])
def test_both_methods_are_needed(name: str) -> None:
    other = {"estimate_lower_bound", "reject_property"} - {name}
    with pytest.raises(TypeError, match=f"has no {name}"):
        from_dp_auditorium(SimpleNamespace(**dict.fromkeys(other, print)))


def label(part: Any) -> str:
    return next(iter(part), "nothing stated") if isinstance(part, dict) else str(part)


APPROXIMATE = {"approximate_dp": SimpleNamespace(epsilon=1.0, delta=1e-6)}
PURE = {"pure_dp": SimpleNamespace(epsilon=1.0)}
RENYI = {"renyi_dp": SimpleNamespace(alpha=2.0, epsilon=0.5)}


@pytest.mark.parametrize(
    ("stated", "claim"),
    [
        (APPROXIMATE, ApproxDP(1.0, 1e-6)),
        (APPROXIMATE, ApproxDP(0.5, 1e-7)),
        (APPROXIMATE, PureDP(1.0)),
        (APPROXIMATE, GaussianDP(0.1)),
        (PURE, PureDP(1.0)),
        (PURE, PureDP(0.9)),
        (PURE, Profile(PureDP(1.0).delta)),
        ({"approximate_dp": SimpleNamespace(epsilon=1.0, delta=0.0)}, PureDP(1.0)),
        (RENYI, RenyiDP(2.0, 0.5)),
        (RENYI, RenyiDP(3.0, 0.4)),
        (RENYI, PureDP(0.5)),
        (RENYI, ZCDP(0.25)),
        (RENYI, GaussianDP(0.5)),
    ],
    ids=label,
)
def test_a_claim_that_implies_the_property_is_tested(stated: dict[str, Any], claim: Claim) -> None:
    assert from_dp_auditorium(Stating(**stated)).threshold(claim) == 0.01


@pytest.mark.parametrize(
    ("stated", "claim"),
    [
        (APPROXIMATE, ApproxDP(1.0, 1e-5)),
        (APPROXIMATE, PureDP(1.1)),
        (PURE, PureDP(1.1)),
        (PURE, ApproxDP(1.0, 1e-9)),
        (RENYI, RenyiDP(2.0, 0.6)),
        (RENYI, RenyiDP(1.5, 0.5)),
        (RENYI, PureDP(0.6)),
        (RENYI, ZCDP(0.26)),
        (RENYI, GaussianDP(0.8)),
        (RENYI, ApproxDP(0.1, 1e-6)),
        ({}, PureDP(1.0)),
    ],
    ids=label,
)
def test_a_claim_that_does_not_is_refused(stated: dict[str, Any], claim: Claim) -> None:
    """Else a tester made for epsilon 0.1 would accuse a mechanism that keeps its epsilon of 1."""
    wrapped = from_dp_auditorium(Stating(**stated))
    with pytest.raises(UnsupportedClaim, match="does not imply"):
        wrapped.threshold(claim)
    with pytest.raises(UnsupportedClaim, match="does not imply"):
        wrapped.lower_bound(np.zeros(3), np.ones(3), claim, alpha=0.05, rng=rng())


def test_wrapping_guarantees_what_the_tester_does() -> None:
    class Heuristic(Theirs):
        method = Method(source="", guarantee="none")

    promised = method_of(from_dp_auditorium(Theirs()))
    assert promised.refutes
    assert "as its author promises" in promised.assumptions[0]
    assert method_of(from_dp_auditorium(Heuristic())) is Heuristic.method
