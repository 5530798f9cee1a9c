"""What a mechanism warns of is shown once with a count; filters hold, and nothing is swallowed."""

from __future__ import annotations

import re
import threading
import warnings
from typing import Any

import numpy as np
import pytest

import dpaudit
from dpaudit.errors import HealthWarning
from dpaudit.mechanism import Call, CallsHere, as_mechanism, caller_for

PAIR = [([1.0], [0.0])]


def noisy(data: Any, size: int, rng: np.random.Generator) -> Any:
    for attempt in range(3):
        warnings.warn(f"attempt {attempt} of {size}", RuntimeWarning, stacklevel=1)
    if size > 20:
        warnings.warn("large", UserWarning, stacklevel=1)
    return data[0] + rng.laplace(size=size)


def shown_by(call: Any) -> list[tuple[type[Warning], str]]:
    with warnings.catch_warnings(record=True, action="always") as caught:
        call()
    return [(one.category, str(one.message)) for one in caught]


@pytest.mark.parametrize("more", [{}, {"workers": 2}])
def test_each_place_warns_once_with_the_calls(more: dict[str, Any]) -> None:
    def audit() -> None:
        dpaudit.audit(noisy, dpaudit.PureDP(1.0), PAIR, samples=300, rng=1, **more)

    shown = shown_by(audit)
    assert [kind for kind, _ in shown] == [RuntimeWarning, UserWarning]
    assert re.fullmatch(r"attempt 0 of \d+ \(so in \d\d calls of noisy\)", shown[0][1])
    assert shown[1][1].startswith("large")


def test_the_count_is_that_of_the_calls() -> None:
    mechanism = as_mechanism(noisy)

    def calls() -> None:
        with caller_for(mechanism) as caller:
            for size in (1, 2, 30):
                call = Call(data=[1.0], size=size, seed=np.random.SeedSequence(1))
                caller.ask(call).outputs()

    assert shown_by(calls) == [
        (RuntimeWarning, "attempt 0 of 1 (so in 3 calls of noisy)"),
        (UserWarning, "large"),
    ]


def test_an_error_of_the_mechanism_does_not_hide_its_warnings() -> None:
    def broken(data: Any, size: int, rng: np.random.Generator) -> Any:
        warnings.warn("soon", UserWarning, stacklevel=1)
        raise ValueError("now")

    def audit() -> None:
        with pytest.raises(ValueError, match="now"):
            dpaudit.audit(broken, dpaudit.PureDP(1.0), PAIR, on_error="raise")

    assert shown_by(audit) == [(UserWarning, "soon")]


def test_filters_hold() -> None:
    error = pytest.raises(RuntimeWarning, match="attempt 0")
    with warnings.catch_warnings(action="error"), error:
        dpaudit.audit(noisy, dpaudit.PureDP(1.0), PAIR, samples=300, on_error="raise")
    with warnings.catch_warnings(record=True, action="ignore") as caught:
        dpaudit.audit(noisy, dpaudit.PureDP(1.0), PAIR, samples=300, rng=1)
    assert caught == []


def test_health_warnings_are_not_held_back() -> None:
    def odd(data: Any, size: int) -> list[int]:
        warnings.warn("ours", HealthWarning, stacklevel=1)
        return [0] * size

    mechanism = as_mechanism(odd)
    with caller_for(mechanism) as caller, pytest.warns(HealthWarning, match="ours"):
        caller.ask(Call(data=[], size=1, seed=np.random.SeedSequence(1))).outputs()


def test_without_a_collector_and_in_threads_warnings_go_their_own_way() -> None:
    call = Call(data=[1.0], size=1, seed=np.random.SeedSequence(1))
    mechanism = as_mechanism(noisy)
    assert len(shown_by(lambda: CallsHere(mechanism).ask(call).outputs())) == 3
    with caller_for(mechanism) as caller:

        def in_a_thread() -> None:
            thread = threading.Thread(target=caller.ask(call).outputs)
            thread.start()
            thread.join()

        assert len(shown_by(in_a_thread)) == 3
