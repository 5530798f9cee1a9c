"""The plainest event that would still certify clearly more than the claim."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dpaudit.events import (
    Above,
    Below,
    IsWord,
    comparisons,
    plainest_event,
    rounded,
    strongest_event,
)
from dpaudit.outputs import MISSING, Encoder, Raised

Counts = npt.NDArray[np.int64]
TERMS: dict[str, Any] = {"epsilon": 0.5, "delta": 0.0, "draws": 10_000, "alpha": 1e-3}


def two_columns(seed: int) -> tuple[npt.NDArray[np.float64], Counts, Counts]:
    """Outputs of which both columns tell a little, and both together more."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, size=4_000)
    outputs = rng.normal(size=(4_000, 2)) + 1.1 * labels[:, None]
    return outputs, labels, 1 - labels


def test_a_short_event_is_taken_where_it_is_enough() -> None:
    outputs, ones, zeros = two_columns(1)
    table = Encoder().encode(outputs)
    strongest, _ = strongest_event(table, ones, zeros, **TERMS)
    plain, from_data = plainest_event(table, ones, zeros, **TERMS)
    assert comparisons(strongest) > comparisons(plain) == 1
    assert (ones[plain.holds(table)].mean() > 0.5) == from_data


def test_the_plainest_event_still_tells_clearly_more_than_the_claim() -> None:
    outputs, ones, zeros = two_columns(2)
    table = Encoder().encode(outputs)
    plain, from_data = plainest_event(table, ones, zeros, **TERMS)
    holds = plain.holds(table)
    rates = ones[holds].sum() / ones.sum(), zeros[holds].sum() / zeros.sum()
    likely, other = rates if from_data else rates[::-1]
    assert likely > np.exp(0.9) * other


def test_without_an_event_that_is_enough_it_is_the_strongest() -> None:
    rng = np.random.default_rng(3)
    outputs, ones = rng.normal(size=500), rng.integers(0, 2, size=500)
    table = Encoder().encode(outputs)
    assert plainest_event(table, ones, 1 - ones, **TERMS) == strongest_event(
        table, ones, 1 - ones, **TERMS
    )


def test_a_threshold_is_rounded_as_far_as_is_enough() -> None:
    outputs = np.linspace(-3.0, 3.0, 601)
    ones = np.round(1_000 / (1 + np.exp(-(outputs - 0.37) * 1.5))).astype(np.int64)
    table = Encoder().encode(outputs)
    plain, _ = plainest_event(table, ones, 1_000 - ones, **TERMS)
    exact, _ = strongest_event(table, ones, 1_000 - ones, **TERMS)
    assert isinstance(plain, Below)
    assert isinstance(exact, Below)
    assert plain.threshold.is_integer()
    assert not exact.threshold.is_integer()


def test_of_two_roundings_that_are_as_good_zero_is_taken() -> None:
    assert rounded(Above(0, -0.055), lambda event: 1.0) == Above(0, 0.0)


def test_what_is_not_empty_is_said_to_be_so() -> None:
    encoder = Encoder()
    table = encoder.encode([{}, {"a": 3}, {"a": 4}])
    event = IsWord(encoder.names.index("output"), MISSING)
    assert event.words(encoder) == "output is not {}"
    assert event.holds(table).tolist() == [False, True, True]
    errors = Encoder()
    errors.encode([Raised.of(ValueError("no")), [1.0, 2.0]])
    assert IsWord(errors.names.index("output"), MISSING).words(errors) == "does not raise"
    mixed = Encoder()
    mixed.encode([{}, 2.0, {"a": 3}])
    event = IsWord(mixed.names.index("output"), MISSING)
    assert event.words(mixed) == "output is not a single value"
