"""Claims of dp-accounting: the curve of the truth is not refuted, a lower curve is.

The null of every audit is that the subject keeps its claim; an audit refutes it with probability at
most alpha = 1e-6. The alternative is noise of mu = 1 against the curve of mu = 0.25: guesses are
right with probability 0.691, where the claim allows 0.550. A refutation takes about 17 nats, that
is 1,273 right guesses of only 2,000: the power is above 0.9999 (a binomial tail).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import dpaudit
from dpaudit.errors import InvalidClaim

dp_accounting = pytest.importorskip("dp_accounting", reason="dp-accounting is not installed")
pld = import_module("dp_accounting.pld.privacy_loss_distribution")

ANSWER = dpaudit.query_answers(1)


def gaussian(data: Any, size: int, rng: np.random.Generator) -> Any:
    return data[0] + rng.normal(scale=1.0, size=size)


def claims(noise: float) -> list[dpaudit.Profile]:
    event = dp_accounting.GaussianDpEvent(noise)
    accountant = dp_accounting.rdp.RdpAccountant()
    accountant.compose(event)
    made = event, accountant, pld.from_gaussian_mechanism(noise)
    return [dpaudit.integrations.from_dp_accounting(each) for each in made]


def test_three_ways_to_the_same_curve() -> None:
    event, renyi, distribution = claims(1.0)
    exact = dpaudit.GaussianDP(1.0)
    for level in (0.0, 0.5, 1.0, 2.0):
        assert event.delta(level) == pytest.approx(exact.delta(level), rel=1e-3)
        assert distribution.delta(level) == pytest.approx(exact.delta(level), rel=1e-3)
        assert renyi.delta(level) >= exact.delta(level)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_the_truth_is_not_refuted_and_less_is(which: int) -> None:
    honest = dpaudit.audit(gaussian, claims(1.0)[which], ANSWER, samples=10_000, rng=1)
    assert not honest.refuted
    assert dpaudit.audit(gaussian, claims(4.0)[which], ANSWER, samples=50_000, rng=1).refuted


def test_a_sampled_event_and_what_is_none() -> None:
    step = dp_accounting.PoissonSampledDpEvent(0.1, dp_accounting.GaussianDpEvent(1.0))
    claim = dpaudit.integrations.from_dp_accounting(
        dp_accounting.SelfComposedDpEvent(step, 10), name="10 steps"
    )
    assert str(claim) == "privacy profile '10 steps'"
    assert 0.0 < claim.delta(1.0) < dpaudit.GaussianDP(1.0).delta(1.0)
    with pytest.raises(InvalidClaim, match=r"a DpEvent, got 1\.0"):
        dpaudit.integrations.from_dp_accounting(1.0)


def test_the_optimistic_profile_lies_below_and_near_the_accountants() -> None:
    """Its privacy losses are discretized upwards, our masses downwards: both enclose the truth."""
    from scipy.stats import norm

    edges = np.linspace(-9.0, 10.0, 4_000)
    curve = dpaudit.testers.optimistic_profile(lambda x: norm.cdf(x - 1.0), norm.cdf, edges)
    levels = [0.0, 0.5, 1.0, 2.0]
    dots = dpaudit.testers.connect_the_dots(dpaudit.GaussianDP(1.0).delta, levels)
    above = pld.from_gaussian_mechanism(1.0)
    for level in levels:
        delta = above.get_delta_for_epsilon(level)
        assert delta - 1e-4 < curve.delta_lower(level) <= delta
        assert dots.delta(level) <= delta
