"""What a test may ask of an audit beyond no refutation, and what it may not ask."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

import dpaudit
from dpaudit import ZCDP, ApproxDP, Inconclusive, PureDP
from dpaudit.errors import UnsupportedClaim
from dpaudit.testers import HistogramTester
from dpaudit.zoo import RandomizedResponse

PAIR = dpaudit.pairs([([1], [0])])
HONEST, LEAKY = RandomizedResponse(1.0), RandomizedResponse(8.0)
ASKED: dict[str, Any] = {"rng": 7, "samples": 500}


def noisy_sum(data: Any, rng: np.random.Generator) -> Any:
    return np.clip(data, -1, 1).sum() + rng.laplace(scale=1.0)


# --- power ----------------------------------------------------------------------------------------


def test_enough_power_is_what_detectable_says() -> None:
    """The limit itself is enough, and the next float below it is not."""
    audit = dpaudit.assert_private(HONEST, PureDP(1.0), PAIR, **ASKED)
    least = audit.detectable
    assert least is not None
    again = dpaudit.assert_private(HONEST, PureDP(1.0), PAIR, detects=least, **ASKED)
    assert again.detectable == least
    below = math.nextafter(least, 0.0)
    with pytest.raises(Inconclusive, match="too weak: RandomizedResponse, claimed") as caught:
        dpaudit.assert_private(HONEST, PureDP(1.0), PAIR, detects=below, **ASKED)
    assert caught.value.audit.detectable == least


@pytest.mark.slow
def test_a_leak_that_is_promised_to_be_found_is_found() -> None:
    """An honest audit says what it detects; a mechanism a tenth beyond that is refuted.

    Null: each of 12 such audits refutes with probability at least 0.9; fewer than 4 do so with
    probability below 1e-6. Alternative: if leaks as large were found with probability 0.01, 4 or
    more would be with a probability below 1e-5.
    """
    honest = dpaudit.audit(HONEST, PureDP(1.0), PAIR, samples=2_000, rng=7).detectable
    assert honest is not None
    found = [
        dpaudit.audit(RandomizedResponse(1.1 * honest), PureDP(1.0), PAIR, samples=2_000, rng=seed)
        for seed in range(12)
    ]
    assert sum(audit.refuted for audit in found) >= 4


def test_an_output_of_which_nothing_is_known_is_too_weak() -> None:
    def constant(data: Any, size: int) -> Any:
        return [0] * size

    unknown = pytest.raises(Inconclusive, match=r"nobody can\s+say")
    with pytest.warns(dpaudit.HealthWarning), unknown:
        dpaudit.assert_private(constant, PureDP(1.0), PAIR, detects=50.0, **ASKED)


@pytest.mark.parametrize(
    ("claim", "more", "error", "words"),
    [
        (ApproxDP(1.0, 1e-5), {"detects": 2.0}, UnsupportedClaim, "no delta, got"),
        (dpaudit.Profile(PureDP(1).delta), {"detects": 2.0}, UnsupportedClaim, "one parameter"),
        (PureDP(1.0), {"detects": 1.0}, ValueError, "above the claim's epsilon of 1, got 1.0"),
        (PureDP(1.0), {"detects": math.nan}, ValueError, "got nan"),
        (ZCDP(0.5), {"detects": 0.1}, ValueError, "above the claim's rho of 0.5, got 0.1"),
        (PureDP(1.0), {"detects": 2.0, "tester": HistogramTester()}, TypeError, "needs bets"),
        (PureDP(1.0), {"detects": 2.0, "inside": True}, TypeError, "does not go with detects"),
        (PureDP(1.0), {"fail_on": "never"}, ValueError, "must be 'refuted' or 'undecided', got"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_a_draw(
    claim: Any, more: dict[str, Any], error: type[Exception], words: str
) -> None:
    def never(data: Any, size: int) -> Any:
        raise AssertionError("it was called")

    with pytest.raises(error, match=words):
        dpaudit.assert_private(never, claim, PAIR, **more)


# --- a refutation that is expected ----------------------------------------------------------------


def test_a_refutation_that_comes_is_given_back_and_one_that_does_not_fails() -> None:
    assert dpaudit.assert_refuted(LEAKY, PureDP(1.0), PAIR, **ASKED).refuted
    with pytest.raises(Inconclusive, match="not refuted: RandomizedResponse") as caught:
        dpaudit.assert_refuted(HONEST, PureDP(1.0), PAIR, **ASKED)
    assert max(map(len, str(caught.value).splitlines())) <= 72
    sent = pickle.loads(pickle.dumps(caught.value))
    assert (type(sent), str(sent)) == (Inconclusive, str(caught.value))


def test_a_pinned_pair_is_tried_first_there_too() -> None:
    @dpaudit.example([1], [0])
    def check() -> Any:
        return dpaudit.assert_refuted(LEAKY, PureDP(1.0), PAIR, **ASKED)

    assert check().alpha == 0.5e-6


def test_releases_inside_may_be_expected_to_break_the_claim() -> None:
    pair = dpaudit.pairs([([1.0], [-1.0])])
    asked: dict[str, Any] = {"inside": True, "transcripts": 4, "rng": 7}
    found = dpaudit.assert_refuted(noisy_sum, PureDP(1.0), pair, **asked)
    assert found.verdict is dpaudit.InsideVerdict.BROKEN_INSIDE
    with pytest.raises(Inconclusive, match=r"noisy_sum, claimed 4-DP, where\s+the"):
        dpaudit.assert_refuted(noisy_sum, PureDP(4.0), pair, **asked)
