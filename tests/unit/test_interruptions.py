"""What happens to an audit when things go wrong: Ctrl-C, errors, a seed that is fixed."""

import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from noisy_counts import ONE_PAIR, laplace

import dpaudit
from dpaudit import PureDP, Verdict

Floats = npt.NDArray[np.float64]
Mechanism = Callable[..., Any]

# --- interruptions and errors


@pytest.mark.parametrize("calls", [0, 1, 4, 16])
def test_an_interrupted_audit_returns_what_it_has(calls: int) -> None:
    sizes: list[int] = []

    def stopped(data: Any, size: int, rng: np.random.Generator) -> Floats:
        if len(sizes) == calls:
            signal.raise_signal(signal.SIGINT)  # as Ctrl-C does
        sizes.append(size)
        return np.asarray(laplace()(data, size, rng))

    audit = dpaudit.audit(stopped, PureDP(1.0), ONE_PAIR, rng=1, samples=4_000)
    assert audit.interrupted
    assert audit.verdict is Verdict.UNDECIDED  # fewer than 88 draws say nothing
    assert sum(sizes[:-1]) <= audit.samples <= sum(sizes)  # half a batch does not count
    assert "Interrupted" in str(audit)


def test_an_interruption_while_certifying_keeps_the_refutation() -> None:
    calls = 0

    def stopped(data: Any, size: int, rng: np.random.Generator) -> Floats:
        nonlocal calls
        calls += size > 300
        if calls > 2:
            signal.raise_signal(signal.SIGINT)  # as Ctrl-C does
        return np.asarray(laplace(0.2)(data, size, rng))

    audit = dpaudit.audit(stopped, PureDP(1.0), ONE_PAIR, rng=1, samples=40_000)
    assert audit.interrupted
    assert audit.verdict is Verdict.REFUTED
    assert audit.counterexample is None
    assert audit.epsilon_lower == 1.0


def test_errors_of_the_mechanism_fly_with_a_note() -> None:
    def broken(data: Any, size: int, rng: np.random.Generator) -> Floats:
        if len(data) == 0:
            raise ZeroDivisionError("no records")
        return rng.normal(size=size)

    with pytest.raises(ZeroDivisionError, match="no records") as caught:
        dpaudit.audit(broken, PureDP(1.0), ONE_PAIR, rng=1, on_error="raise")
    assert any("outputs from broken on data=" in note for note in caught.value.__notes__)


def test_a_frozen_seed_is_reported() -> None:
    def frozen(data: Any, size: int) -> Floats:
        return np.random.default_rng(0).laplace(size=size)

    with pytest.warns(dpaudit.HealthWarning, match="frozen returned the same .* outputs"):
        audit = dpaudit.audit(frozen, PureDP(1.0), ONE_PAIR, rng=1, samples=3_000)
    assert len(audit.warnings) == 1
    assert "is a seed fixed inside it?" in audit.warnings[0]


def test_a_frozen_seed_refutes_nothing() -> None:
    def frozen(data: Any, size: int) -> Floats:
        return len(data) + np.random.default_rng(0).laplace(size=size)

    with (
        pytest.warns(dpaudit.HealthWarning, match="frozen returned the same"),
        pytest.raises(dpaudit.errors.DependentDraws, match="frozen returned the same"),
    ):
        dpaudit.audit(frozen, PureDP(1.0), ONE_PAIR, rng=1, samples=3_000)
