"""A slow mechanism is warned of early and once, and only where nobody has set a limit."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import numpy as np
import pytest

import dpaudit
from dpaudit.architecture import DefaultSamples
from dpaudit.auditing import Budget
from dpaudit.auditing.pace import Pace
from dpaudit.errors import HealthWarning
from dpaudit.testing import PROFILES


def after(batches: list[tuple[int, float]], *, singly: bool = False) -> float:
    pace = Pace(name="fit", singly=singly)
    for draws, seconds in batches:
        pace.note(draws, seconds)
    return pace.least(300_000)


@pytest.mark.parametrize(
    ("batches", "singly", "seconds"),
    [
        ([], True, 0.0),
        ([(8, 1.6)] * 2, True, 0.0),  # too few to tell
        ([(8, 1e-4)] * 20, True, 0.0),
        ([(8, 1.6)] * 3, True, 60_000.0),
        ([(8, 1.6)] * 10, False, 96.0),  # sixty more such calls, whatever they draw
        ([(8, 1.6)] * 10 + [(16, 1.6)], False, 96.0),  # the time is that of the call
        ([(8, 1.6)] * 10 + [(16, 3.2)], False, 60_000.0),  # the time is that of the draws
        ([(8, 1.6)] * 10 + [(16, 9.9), (16, 1.7)], False, 3_750.0),  # one was slow by chance
        ([(8, 9.0)] + [(8, 0.01)] * 10 + [(16, 0.02)], False, 375.0),  # it was loading something
        ([(8, 80.0)] * 3, False, 4_800.0),
    ],
)
def test_the_least_time_of_all_draws(
    batches: list[tuple[int, float]], singly: bool, seconds: float
) -> None:
    assert after(batches, singly=singly) == pytest.approx(seconds)


class Slow:
    """Takes long for a draw, on a clock of its own; ends the search after 200 draws."""

    def __init__(self, seconds: float) -> None:
        self.now, self.seconds, self.draws = 0.0, seconds, 0

    def __call__(self, data: Any, rng: np.random.Generator) -> float:
        self.now += self.seconds
        self.draws += 1
        if self.draws == 200:
            raise MemoryError  # which is no output
        return float(data[0] + rng.laplace())


def warned(monkeypatch: pytest.MonkeyPatch, each: float, **options: Any) -> list[str]:
    slow, ended = Slow(each), contextlib.suppress(MemoryError)
    monkeypatch.setattr(Budget.__init__, "__kwdefaults__", {"clock": lambda: slow.now})
    with warnings.catch_warnings(record=True, action="always") as caught, ended:
        dpaudit.audit(
            dpaudit.one_at_a_time(slow),
            dpaudit.PureDP(1.0),
            [([1.0], [0.0])],
            rng=1,
            progress=False,
            **options,
        )
    assert {one.filename for one in caught} <= {__file__}  # the line that asked
    assert all(issubclass(one.category, HealthWarning) for one in caught)
    return [str(one.message) for one in caught]


def test_a_slow_mechanism_is_warned_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    (words,) = warned(monkeypatch, 0.2)
    assert words.startswith(
        "Slow(seconds=0.2) is slow: its first 24 draws took 4.8 s. The 300,000 draws of this"
    )
    assert "at least 16 h 39 min" in words or "at least 16 h 40 min" in words
    assert "seconds=600" in words


@pytest.mark.parametrize("tester", [dpaudit.testers.HistogramTester()])
def test_trials_are_warned_of_too(monkeypatch: pytest.MonkeyPatch, tester: Any) -> None:
    assert len(warned(monkeypatch, 0.2, tester=tester)) == 1


def test_whoever_sets_a_limit_or_is_quick_is_not_warned(monkeypatch: pytest.MonkeyPatch) -> None:
    assert warned(monkeypatch, 0.001) == []
    assert warned(monkeypatch, 0.2, samples=300_000) == []
    assert warned(monkeypatch, 0.2, seconds=30.0) == []
    profile = PROFILES["ci"].samples  # of a test run: no user asked for it
    assert isinstance(profile, DefaultSamples)
    assert len(warned(monkeypatch, 0.2, samples=profile)) == 1
