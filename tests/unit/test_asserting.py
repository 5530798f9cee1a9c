"""Audits as assertions: what fails, what does not, what the message says, and pinned pairs."""

import pickle
from typing import Any

import numpy as np
import pytest
from counts import most_accusations, power

import dpaudit
from dpaudit import PrivacyViolation, PureDP
from dpaudit.testing import pinned_pairs
from dpaudit.zoo import RandomizedResponse

REPLACED = dpaudit.replace_one(dpaudit.floats(-1, 1), max_records=5)


def clipped_sum(data: Any, size: int, rng: np.random.Generator) -> Any:
    return np.clip(data, -1, 1).sum() + rng.laplace(scale=1.0, size=size)


def test_a_broken_mechanism_fails_with_the_verdict_first() -> None:
    with pytest.raises(PrivacyViolation) as caught:
        dpaudit.assert_private(clipped_sum, PureDP(1.0), REPLACED, rng=11)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("clipped_sum is not 1-DP: epsilon >= 1.")
    assert "  A = [1.0]" in lines
    assert "@dpaudit.example([1.0], [-1.0])" in str(caught.value)
    assert max(map(len, lines)) <= 72
    assert caught.value.audit.refuted


def test_it_is_an_assertion_error_that_can_be_sent_between_processes() -> None:
    with pytest.raises(AssertionError) as caught:
        dpaudit.assert_private(clipped_sum, PureDP(1.0), REPLACED, rng=11)
    sent = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(sent, PrivacyViolation)
    assert str(sent) == str(caught.value)
    assert (
        f"{PrivacyViolation.__module__}.{PrivacyViolation.__name__}" == "dpaudit.PrivacyViolation"
    )


def test_what_is_not_refuted_comes_back_as_an_audit() -> None:
    audit = dpaudit.assert_private(clipped_sum, PureDP(2.0), REPLACED, samples=20_000, rng=11)
    assert audit.verdict is not dpaudit.Verdict.REFUTED


def leaks_at(record: float) -> Any:
    """A mechanism that forgets its noise where the first record is a certain one."""

    def release(data: Any, size: int, rng: np.random.Generator) -> Any:
        noise = rng.laplace(scale=4.0, size=size)
        return np.zeros(size) if data[0] == record else sum(data) + noise

    return release


def test_a_pinned_pair_is_tried_before_any_search() -> None:
    needle = 0.123456789
    hidden = leaks_at(needle)

    def check() -> None:
        dpaudit.assert_private(hidden, PureDP(1.0), REPLACED, samples=3_000, rng=3)

    check()  # a search does not find it
    pinned = dpaudit.example([needle], [0.5])(check)
    with pytest.raises(PrivacyViolation) as caught:
        pinned()
    assert caught.value.audit.pairs_tried == 1
    assert caught.value.audit.alpha == 0.5e-6
    check()  # and it is pinned to that test alone


def test_pairs_can_be_pinned_to_a_mechanism_and_several_to_a_test() -> None:
    mechanism = dpaudit.example([0.25], [0.5])(leaks_at(0.25))
    with pytest.raises(PrivacyViolation):
        dpaudit.assert_private(mechanism, PureDP(1.0), REPLACED, samples=3_000, rng=3)
    seen: list[Any] = []

    @dpaudit.example([1.0], [2.0])
    @dpaudit.example([3.0], [4.0])
    @dpaudit.example([1.0], [2.0])
    def check(value: int) -> int:
        seen.extend(pair.data for pair in pinned_pairs(clipped_sum))
        return value

    assert check(7) == 7
    assert seen == [[1.0], [3.0]]
    assert pinned_pairs(clipped_sum) == ()


def test_a_pin_is_forgotten_when_the_test_fails() -> None:
    @dpaudit.example([1.0], [2.0])
    def check() -> None:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError):
        check()
    assert pinned_pairs(clipped_sum) == ()


@pytest.mark.slow
def test_what_is_exactly_on_its_claim_fails_at_most_in_a_share_alpha() -> None:
    """Pinned pairs and search together: each has half of alpha, on the same seeds.

    Null: a run fails with probability at most alpha = 0.2. Of 60 more than 28 fail with probability
    below 1e-6. Alternative: an assertion that fails with probability 0.63 is caught with 0.99.
    """
    alpha, runs, failed = 0.2, 60, 0
    pair = dpaudit.pairs([([1], [0])])

    @dpaudit.example([1], [0])
    def check(seed: int) -> None:
        mechanism = RandomizedResponse(1.0)
        dpaudit.assert_private(mechanism, PureDP(1.0), pair, alpha=alpha, samples=150, rng=seed)

    for seed in range(runs):
        try:
            check(seed)
        except PrivacyViolation:
            failed += 1
    assert failed <= most_accusations(runs, alpha, false_alarm=1e-6)
    assert power(runs, alpha, 0.63, false_alarm=1e-6) >= 0.99
