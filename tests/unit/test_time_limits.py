"""A limit of seconds holds for the whole audit, whatever the speed of the mechanism."""

from __future__ import annotations

import importlib
import signal
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import dpaudit
from dpaudit import Audit, PureDP, Verdict
from dpaudit.auditing import Budget
from dpaudit.events import EventSearch
from dpaudit.guessing import Ensemble, LabelledRows
from dpaudit.outputs import Table
from dpaudit.results import Progress
from dpaudit.testers import Trials

Floats = npt.NDArray[np.float64]
Cost = Callable[[Any, int], float]  # of so many draws on some data, in seconds

NEIGHBOURS = dpaudit.replace_one(dpaudit.floats(0, 1), max_records=3)
MEAN, LEAK = 0.0, 100.0  # what a record of 1 adds to the output, beside noise of scale 1


class Clock:
    """A clock that only moves when told to: thinking takes no time."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Slow:
    """Laplace noise beside a leak, at a cost; each call is noted with the seconds it took."""

    def __init__(self, cost: Cost, *, leak: float, wait: Callable[[float], None]) -> None:
        self.calls: list[tuple[int, float]] = []
        self._cost = cost
        self._leak = leak
        self._wait = wait

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        seconds = self._cost(data, size)
        self.calls.append((size, seconds))
        self._wait(seconds)
        return self._leak * float(np.sum(data)) + rng.laplace(size=size)


def at(speed: float) -> Cost:
    return lambda data, size: size / speed


def by_the_data(data: Any, size: int) -> float:
    """A hundred times slower where the records sum to more than a half."""
    return size * (0.2 if np.sum(data) > 0.5 else 0.002)


class Tiring:
    """Every draw takes a little longer than the one before it."""

    def __init__(self) -> None:
        self._made = 0

    def __call__(self, data: Any, size: int) -> float:
        self._made += size
        return size * 0.01 * 1.01**self._made


def with_a_start(data: Any, size: int) -> float:
    """Each call begins with a second of its own, however many draws it makes."""
    return 1.0 + 1e-5 * size


def slow_when_large(data: Any, size: int) -> float:
    """A fit that is over at once on one record, and takes 3.5 seconds on more."""
    return size * (1e-4 if len(data) <= 1 else 3.5)


class SlowFirst:
    """The first call takes six seconds more."""

    def __init__(self) -> None:
        self._begun = False

    def __call__(self, data: Any, size: int) -> float:
        start = 0.0 if self._begun else 6.0
        self._begun = True
        return start + 0.05 * size


COSTS: dict[str, Callable[[], Cost]] = {
    **{f"{speed:g} draws a second": partial(at, speed) for speed in (0.5, 3, 10, 200, 1e4, 1e6)},
    "by the data": lambda: by_the_data,
    "tiring": Tiring,
    "with a start": lambda: with_a_start,
    "slow when large": lambda: slow_when_large,
    "slow first": SlowFirst,
}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    fake = Clock()
    module = importlib.import_module("dpaudit.auditing.audit")  # the package has its function
    monkeypatch.setattr(module, "Budget", partial(Budget, clock=fake))
    return fake


def audited(
    clock: Clock, cost: str, *, leak: float, seconds: float, **options: Any
) -> tuple[Audit, Slow]:
    def wait(duration: float) -> None:
        clock.now += duration

    mechanism = Slow(COSTS[cost](), leak=leak, wait=wait)
    found = dpaudit.audit(
        mechanism, PureDP(1.0), NEIGHBOURS, seconds=seconds, samples=6_000, rng=7, **options
    )
    assert found.samples == sum(size for size, _ in mechanism.calls)
    assert found.seconds == clock.now - 1_000.0
    return found, mechanism


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("leak", [MEAN, LEAK])
def test_an_audit_ends_within_a_tenth_of_its_time(clock: Clock, cost: str, leak: float) -> None:
    found, mechanism = audited(clock, cost, leak=leak, seconds=60.0)
    assert found.seconds <= 66.0
    assert found.samples > 0
    slowest = max(seconds for _, seconds in mechanism.calls)
    assert slowest <= 60.0 / 7
    if found.verdict is not Verdict.REFUTED and found.samples < 5_700:
        assert found.seconds >= 54.0 - slowest  # what it was given is used


@pytest.mark.parametrize(
    "cost", ["10 draws a second", "200 draws a second", "by the data", "with a start"]
)
def test_few_draws_refute_what_is_blatant(clock: Clock, cost: str) -> None:
    found, _ = audited(clock, cost, leak=LEAK, seconds=60.0)
    assert found.verdict is Verdict.REFUTED
    assert found.counterexample is not None
    assert found.counterexample.breaks(found.claim)


class TiringAfter:
    """Every draw takes longer than the one before it: twice as long after so many."""

    def __init__(self, draws: float) -> None:
        self._made, self._draws = 0, draws

    def __call__(self, data: Any, size: int) -> float:
        self._made += size
        return size * 1e-3 * (1.0 + self._made / self._draws)


def on_a_side(total: float, seconds: float) -> Cost:
    return lambda data, size: size * (seconds if np.sum(data) == total else 1e-5)


UNEVEN: dict[str, Callable[[], Cost]] = {
    **{f"tiring after {draws}": partial(TiringAfter, draws) for draws in (10, 100, 1_000)},
    **{
        f"{seconds} s a draw on {side}": partial(on_a_side, total, seconds)
        for side, total in (("data", 1.0), ("its neighbour", 0.0))
        for seconds in (1e-3, 0.01, 0.1)
    },
}


@pytest.mark.parametrize("cost", UNEVEN)
def test_what_was_drawn_in_time_is_what_is_counted(clock: Clock, cost: str) -> None:
    def wait(duration: float) -> None:
        clock.now += duration

    mechanism = Slow(UNEVEN[cost](), leak=LEAK, wait=wait)
    pair = dpaudit.pairs([([1.0], [0.0])])
    found = dpaudit.audit(mechanism, PureDP(1.0), pair, seconds=60.0, rng=7)
    assert found.seconds <= 66.0
    shown = found.counterexample
    assert shown is not None
    assert shown.breaks(found.claim)
    sides = shown.data.draws, shown.neighbour.draws
    assert abs(sides[0] - sides[1]) <= 750  # one round of 24 000 draws in 32
    assert shown.data.anytime
    assert shown.neighbour.anytime


@pytest.mark.parametrize("leak", [MEAN, LEAK])
def test_no_call_is_planned_longer_than_a_tenth_of_what_is_left(clock: Clock, leak: float) -> None:
    left = 60.0
    for size, seconds in audited(clock, "200 draws a second", leak=leak, seconds=60.0)[1].calls:
        assert size == 1 or seconds <= left / 10 + 1e-9
        left -= seconds


class Thinking:
    """Lets the clock move with the cells of the tables that are learned from or looked at."""

    def __init__(self, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
        self._clock = clock
        self._fit, self._best = Ensemble.fit, EventSearch.best
        thinking = self

        def fit(ensemble: Ensemble, sample: LabelledRows, *shown: Table) -> Any:
            thinking.about(sample.table, 2e-6)
            return thinking._fit(ensemble, sample, *shown)

        def best(search: EventSearch) -> Any:
            thinking.about(search._rows, 2e-7)
            return thinking._best(search)

        monkeypatch.setattr(Ensemble, "fit", fit)
        monkeypatch.setattr(EventSearch, "best", best)

    def about(self, rows: Table, seconds: float) -> None:
        self._clock.now += seconds * len(rows) * rows.columns


@pytest.mark.parametrize("leak", [0.0, 1.5, 100.0])
@pytest.mark.parametrize("claim", [PureDP(1.0), dpaudit.GaussianDP(1.0)], ids=str)
def test_work_on_wide_outputs_ends_within_the_time(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, claim: Any, leak: float
) -> None:
    Thinking(clock, monkeypatch)

    def wide(data: Any, size: int, rng: np.random.Generator) -> Floats:
        clock.now += 1e-6 * size
        outputs = rng.laplace(size=(size, 60))
        outputs[:, 0] += leak * float(np.sum(data))
        return outputs

    found = dpaudit.audit(wide, claim, NEIGHBOURS, seconds=3.0, rng=7)
    assert found.seconds <= 3.3
    assert (found.verdict is Verdict.REFUTED) == (leak == 100.0) or leak == 1.5


def test_a_draw_that_takes_longer_than_the_limit_is_the_only_one(clock: Clock) -> None:
    found, mechanism = audited(clock, "0.5 draws a second", leak=LEAK, seconds=1.0)
    assert mechanism.calls == [(1, 2.0)]
    assert (found.verdict, found.samples) == (Verdict.UNDECIDED, 1)


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("leak", [MEAN, LEAK])
def test_trials_end_within_a_tenth_of_their_time(clock: Clock, cost: str, leak: float) -> None:
    tester = Trials(dpaudit.testers.HistogramTester(), count=3)
    found, _ = audited(clock, cost, leak=leak, seconds=60.0, tester=tester, alpha=0.05)
    assert found.seconds <= 66.0
    if cost in ("200 draws a second", "10000 draws a second"):
        assert found.verdict is (Verdict.REFUTED if leak else Verdict.NOT_REFUTED)
        assert found.pairs_tried > 0


def test_an_honest_audit_of_a_slow_mechanism_looks_at_several_pairs(clock: Clock) -> None:
    found, _ = audited(clock, "10 draws a second", leak=MEAN, seconds=60.0)
    assert found.pairs_tried >= 3


def test_progress_comes_before_the_first_bets_and_until_the_end(clock: Clock) -> None:
    told: list[Progress] = []
    found, mechanism = audited(
        clock, "3 draws a second", leak=LEAK, seconds=60.0, progress=told.append
    )
    assert told[0].samples == 1
    assert {progress.limit for progress in told} == {60.0}
    gaps = np.diff([0.0, *(progress.seconds for progress in told)])
    assert max(gaps) <= 2 * max(seconds for _, seconds in mechanism.calls) + 0.1
    assert told[-1].samples == found.samples


@pytest.mark.parametrize("calls", [1, 3, 20, 60])
def test_an_interrupted_slow_audit_returns_what_it_has(clock: Clock, calls: int) -> None:
    made = 0

    def stopped(data: Any, size: int, rng: np.random.Generator) -> Floats:
        nonlocal made
        if made == calls:
            signal.raise_signal(signal.SIGINT)  # as Ctrl-C does
        made += 1
        clock.now += size / 3
        return LEAK * float(np.sum(data)) + rng.laplace(size=size)

    found = dpaudit.audit(stopped, PureDP(1.0), NEIGHBOURS, seconds=60.0, rng=7)
    assert found.interrupted
    assert found.samples > 0
    assert (found.verdict is Verdict.REFUTED) == (found.evidence.p_value <= found.alpha)


@pytest.mark.parametrize("tester", [None, Trials(dpaudit.testers.HistogramTester(), count=3)])
@pytest.mark.parametrize("leak", [MEAN, LEAK])
def test_without_a_limit_the_clock_has_no_say(clock: Clock, leak: float, tester: Any) -> None:
    """However wildly it jumps: not in the search, not in the certificate, not in shrinking."""

    def jump(seconds: float) -> None:
        clock.now = -3.0 * clock.now + seconds

    mechanisms = [
        Slow(cost, leak=leak, wait=wait)
        for cost, wait in ((at(1e6), lambda seconds: None), (at(3.0), jump))
    ]
    first, second = (
        dpaudit.audit(mechanism, PureDP(1.0), NEIGHBOURS, samples=30_000, rng=7, tester=tester)
        for mechanism in mechanisms
    )
    assert [size for size, _ in mechanisms[0].calls] == [size for size, _ in mechanisms[1].calls]
    apart = {"seconds": 0, "provenance": None}
    assert {**first.to_json(), **apart} == {**second.to_json(), **apart}
    if leak:
        assert first.counterexample is not None
        assert not first.counterexample.data.anytime


@pytest.mark.parametrize(("speed", "leak"), [(4.0, MEAN), (100.0, LEAK), (1e5, MEAN)])
def test_the_time_holds_on_a_real_clock(speed: float, leak: float) -> None:
    at_once = Slow(at(1e9), leak=LEAK, wait=time.sleep)
    dpaudit.audit(at_once, PureDP(1.0), NEIGHBOURS, samples=1_000, rng=7)  # loads libraries
    mechanism = Slow(at(speed), leak=leak, wait=time.sleep)
    start = time.perf_counter()
    found = dpaudit.audit(mechanism, PureDP(1.0), NEIGHBOURS, seconds=2.0, rng=7)
    assert time.perf_counter() - start <= 2.2
    assert found.samples > 0
