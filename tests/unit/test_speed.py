"""The speed: how many draws fit, learned from how long earlier ones took."""

from __future__ import annotations

import math

import pytest

from dpaudit.auditing import ROUND_SHARE, Speed

PAIR, OTHER = "pair", "other"


def after(*calls: tuple[str, int, float], thought: float = 0.0) -> Speed:
    """The speed after calls: of what, how many draws, and for how many seconds."""
    speed, now = Speed(), 0.0
    for of, draws, seconds in calls:
        speed.note(of, draws, began=now, ended=now + seconds)
        now += seconds + thought
        speed.settle(now)
    return speed


def test_the_first_call_is_one_draw_to_learn_the_speed() -> None:
    assert Speed().fitting(10_000, 3600.0, key=PAIR) == 1
    assert math.isinf(Speed().affordable(1.0))


@pytest.mark.parametrize("seconds", [1e-6, 1e-3, 1.0, 40.0])
def test_a_call_takes_a_small_share_of_what_is_left(seconds: float) -> None:
    speed = after((PAIR, 1_000, 1_000 * seconds))
    for left in (1e-3, 1.0, 60.0, 3600.0):
        size = speed.fitting(10**9, left, key=PAIR)
        assert size * seconds <= left / 10 or size == 1
        assert size >= 1 or seconds > left


def test_a_draw_that_would_not_fit_is_not_begun() -> None:
    speed = after((PAIR, 1, 2.0))
    assert speed.fitting(1, 2.5, key=PAIR) == 1
    assert speed.fitting(1, 1.5, key=PAIR) == 0
    assert speed.fitting(1, 1.5, key=OTHER) == 0
    assert speed.fitting(0, 100.0, key=PAIR) == 0
    assert speed.fitting(5, -1.0, key=PAIR) == 0


def test_what_is_little_known_begins_with_few_draws_and_doubles() -> None:
    known = after((PAIR, 100, 10.0))
    assert known.fitting(100, 100.0, key=PAIR) == 100
    now = 10.0
    for few in (1, 1, 2, 4, 8):
        assert known.fitting(100, 80.0, key=OTHER) == few
        known.note(OTHER, few, began=now, ended=now + 0.5 * few)
        now += 0.5 * few


@pytest.mark.parametrize("seconds", [1e-6, 1e-3, 1.0])
def test_a_dataset_begins_with_one_draw_however_fast_another_was(seconds: float) -> None:
    speed = after((PAIR, 10_000, 10_000 * seconds))
    assert speed.fitting(1_000, 100.0, key=OTHER) == 1


def test_nothing_is_feared_of_a_fast_mechanism() -> None:
    assert after((PAIR, 1, 1e-6)).fitting(1_000, 10.0, key=PAIR) == 1_000


def test_a_mechanism_that_slows_down_gets_smaller_calls_at_once() -> None:
    speed = after((PAIR, 1_000, 1.0), (PAIR, 10, 10.0))
    assert speed.fitting(1_000, 100.0, key=PAIR) == 10


def test_calls_do_not_shrink_where_the_call_itself_takes_the_time() -> None:
    started = after((PAIR, 1, 1.0), (PAIR, 20, 1.01))
    assert started.fitting(1_000, 3.0, key=PAIR) == 20
    by_the_draw = after((PAIR, 1, 1.0), (PAIR, 20, 20.0))
    assert by_the_draw.fitting(1_000, 3.0, key=PAIR) == 1


def test_both_calls_of_a_round_are_within_a_tenth() -> None:
    speed = after((PAIR, 1_000, 1.0))
    size = speed.fitting(10**9, 60.0, key=PAIR, share=ROUND_SHARE)
    assert size * 1e-3 <= (60.0 - size * 1e-3) / 10


def test_a_slow_start_is_forgotten() -> None:
    speed = after((PAIR, 1, 5.0), *[(PAIR, 10, 0.01)] * 30)
    assert speed.fitting(10**6, 8.0, key=PAIR) > 100


def test_time_is_kept_for_the_thought_after_a_call() -> None:
    speed = after((PAIR, 1, 0.1), thought=2.0)
    assert speed.fitting(1, 2.2, key=PAIR) == 1
    assert speed.fitting(1, 2.0, key=PAIR) == 0
    assert (speed.drawing, speed.pausing) == pytest.approx((0.1, 2.0))
