"""Code that is audited cannot end the audit, and Ctrl-C still can."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dpaudit
from dpaudit.errors import UnexpectedExit
from dpaudit.mechanism import as_mechanism, exits_as_errors, one_at_a_time, watched_ctrl_c

PAIR = [([0.0], [1.0])]


class Leaves(SystemExit):
    """An exit of somebody's own."""


EXITS: list[BaseException] = [
    SystemExit(0),
    SystemExit(1),
    SystemExit("nothing wrong here"),
    Leaves(3),
    KeyboardInterrupt(),
    GeneratorExit(),
]


def leaving_with(error: BaseException, after: int = 0) -> Callable[[Any, int, Any], Any]:
    """A mechanism that raises an error at a call."""
    calls = []

    def leaving(data: Any, size: int, rng: np.random.Generator) -> Any:
        calls.append(size)
        if len(calls) > after:
            raise error
        return rng.laplace(size=size)

    return leaving


@pytest.mark.parametrize("after", [0, 5])
@pytest.mark.parametrize("on_error", ["output", "raise"])
@pytest.mark.parametrize("error", EXITS, ids=repr)
def test_no_exit_of_a_mechanism_ends_an_audit(error: Any, on_error: Any, after: int) -> None:
    with pytest.raises(UnexpectedExit, match=r"leaving raised .*which ends a process") as caught:
        dpaudit.audit(
            leaving_with(error, after),
            dpaudit.PureDP(1.0),
            PAIR,
            rng=1,
            on_error=on_error,
            samples=500,
        )
    assert caught.value.__cause__ is error
    assert any("while drawing" in note for note in caught.value.__notes__)


def test_one_output_a_call_is_no_way_out() -> None:
    mechanism = as_mechanism(one_at_a_time(lambda data: sys.exit(0)))
    with pytest.raises(UnexpectedExit, match=r"raised SystemExit\(0\)"):
        mechanism.draw([1.0], 3, np.random.default_rng(1))


@pytest.mark.parametrize("tester", [None, dpaudit.testers.HistogramTester()])
def test_ctrl_c_ends_an_audit_with_what_it_has(tester: Any) -> None:
    def slow(data: Any, size: int, rng: np.random.Generator) -> Any:
        signal.raise_signal(signal.SIGINT)
        return rng.laplace(size=size)

    before = signal.getsignal(signal.SIGINT)
    found = dpaudit.audit(
        slow, dpaudit.PureDP(1.0), PAIR, rng=1, tester=tester, alpha=0.05, samples=5_000
    )
    assert found.interrupted
    assert signal.getsignal(signal.SIGINT) is before


def test_whoever_handles_ctrl_c_still_does() -> None:
    calls: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: calls.append(number))
    try:
        with watched_ctrl_c() as ctrl_c:
            signal.raise_signal(signal.SIGINT)
        assert ctrl_c.pressed
        assert calls == [signal.SIGINT]
        with watched_ctrl_c():
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the code that runs: it stays
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        with pytest.raises(UnexpectedExit), exits_as_errors("it"):
            raise KeyboardInterrupt
    finally:
        signal.signal(signal.SIGINT, before)


def test_in_another_thread_every_interrupt_is_an_exit() -> None:
    found: list[BaseException] = []

    def work() -> None:
        try:
            with exits_as_errors("it"):
                raise KeyboardInterrupt
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert isinstance(found[0], UnexpectedExit)


def test_other_errors_fly_as_they_are() -> None:
    class Outcome(BaseException):
        """As test runners have them: a skipped test is no error of the mechanism."""

    with pytest.raises(Outcome):
        dpaudit.audit(leaving_with(Outcome()), dpaudit.PureDP(1.0), PAIR, rng=1, samples=100)
