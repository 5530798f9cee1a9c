"""A counterexample again: refuted with a few draws, valid, and silent on code that was mended."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpaudit
from dpaudit import Counterexample, Pair, PureDP
from dpaudit.auditing import needed
from dpaudit.domains import Unsaved
from dpaudit.errors import CannotReplay
from dpaudit.events import Above, Rule
from dpaudit.results import Tally

ON_CLAIM = PureDP(1.0)


def noisy(scale: float) -> Any:
    def mechanism(data: Any, size: int, rng: np.random.Generator) -> Any:
        return sum(data) + rng.laplace(scale=scale, size=size)

    return mechanism


def above_one(*, hits: int = 20_000, neighbour_hits: int = 2_700) -> Counterexample:
    """`output > 1` on data 1 and neighbour -1, seen so often of 40 000 draws."""
    data, neighbour = (Tally.of(count, 40_000, alpha=1e-6) for count in (hits, neighbour_hits))
    return Counterexample(
        pair=Pair([1.0], [-1.0]),
        event="output > 1",
        likelier="data",
        data=data,
        neighbour=neighbour,
        delta=0.0,
        epsilon_lower=float(np.log(data.lower / neighbour.upper)),
        alpha=1e-6,
        seed=(7, 1),
        rule=Rule(event=Above(0, 1.0), places=("output",), words=()),
    )


def test_broken_code_is_refuted_again_with_a_few_draws() -> None:
    """Null: a replay refutes with 0.995 or more (600 of 600 other seeds); below 95 with 2e-5.

    Alternative: half of the draws, which refuted in 84 of 100 seeds, caught with power 0.999.
    """
    broken = sum(
        dpaudit.replay(above_one(), noisy(1.0), ON_CLAIM, rng=seed).breaks(ON_CLAIM)
        for seed in range(100)
    )
    assert broken >= 95
    assert dpaudit.replay(above_one(), noisy(1.0), ON_CLAIM, rng=1).data.draws < 2_000


def test_code_exactly_on_its_claim_is_refuted_at_most_in_a_share_alpha() -> None:
    """Null: with twice the noise `output > 1` is exactly e times as likely: accused with <= 0.2.

    121 of 400 or more is a 8e-7 event; other seeds gave 5 of 400.
    Alternative: a true rate of 0.36, caught with power 0.99.
    """
    alpha, runs = 0.2, 400
    found = above_one()
    broken = sum(
        dpaudit.replay(found, noisy(2.0), ON_CLAIM, alpha=alpha, rng=seed).breaks(ON_CLAIM)
        for seed in range(runs)
    )
    assert stats.binomtest(broken, runs, alpha, alternative="greater").pvalue > 1e-6


def test_the_bounds_are_of_the_fresh_draws_alone() -> None:
    found = above_one()
    again = dpaudit.replay(found, noisy(1.0), ON_CLAIM, alpha=1e-4, rng=3)
    for tally in (again.data, again.neighbour):
        assert tally == Tally.of(tally.hits, tally.draws, alpha=1e-4)
    assert again.epsilon_lower == pytest.approx(
        np.log(again.data.lower / again.neighbour.upper), rel=1e-12
    )
    assert (again.alpha, again.seed) == (1e-4, (3, 8))
    assert (again.pair, again.event, again.rule) == (found.pair, found.event, found.rule)


def test_the_same_seed_gives_the_same_replay() -> None:
    first, second, other = (
        dpaudit.replay(above_one(), noisy(1.0), ON_CLAIM, rng=seed) for seed in (3, 3, 4)
    )
    assert first == second
    assert (first.data, first.neighbour) != (other.data, other.neighbour)


def test_the_seed_of_the_audit_gives_fresh_draws() -> None:
    audit = dpaudit.audit(noisy(1.0), ON_CLAIM, [([1.0], [-1.0])], samples=20_000, rng=7)
    found = audit.counterexample
    assert found is not None
    again = dpaudit.replay(found, noisy(1.0), PureDP(3.0), rng=7)  # out of reach: as many draws
    assert again.data.draws == found.data.draws
    assert (again.data.hits, again.neighbour.hits) != (found.data.hits, found.neighbour.hits)


def test_what_is_likelier_on_the_neighbour_stays_so() -> None:
    found = dataclasses.replace(
        above_one(hits=2_700, neighbour_hits=20_000),
        likelier="neighbour",
        pair=Pair([-1.0], [1.0]),
    )
    again = dpaudit.replay(found, noisy(1.0), ON_CLAIM, rng=3)
    assert again.breaks(ON_CLAIM)
    assert again.neighbour.rate > again.data.rate


def test_draws_grow_as_the_leak_gets_smaller_and_end_where_it_was_found() -> None:
    strong, weak = above_one(), above_one(neighbour_hits=6_500)
    assert needed(strong, ON_CLAIM, 1e-6) < needed(weak, ON_CLAIM, 1e-6) <= 40_000
    assert needed(above_one(neighbour_hits=19_000), ON_CLAIM, 1e-6) == 40_000
    limited = dpaudit.replay(weak, noisy(1.0), ON_CLAIM, samples=500, rng=3)
    assert limited.data.draws == limited.neighbour.draws == 250


def test_a_saved_counterexample_is_replayed(tmp_path: Any) -> None:
    def release(data: Any, size: int, rng: np.random.Generator) -> list[Any]:
        """Says "empty" of an empty dataset, and two numbers otherwise."""
        return ["empty" if not data else [1.0, float(rng.normal())] for _ in range(size)]

    audit = dpaudit.audit(release, ON_CLAIM, [([], [1.0])], rng=3)
    audit.save(tmp_path / "audit.json")
    found = dpaudit.load(tmp_path / "audit.json").counterexample
    assert found is not None
    again = dpaudit.replay(found, release, ON_CLAIM, rng=4)
    assert again.breaks(ON_CLAIM)
    assert again.likely.rate == 1.0
    assert again.unlikely.rate == 0.0


def test_a_counterexample_without_a_rule_says_what_to_do() -> None:
    old = dataclasses.replace(above_one(), rule=None)
    with pytest.raises(ValueError, match=r"Audit its pair again: dpaudit\.audit"):
        dpaudit.replay(old, noisy(1.0), ON_CLAIM)


def test_another_delta_is_judged_at_that_delta() -> None:
    """Seen with 0.5 and 0.07: more than e times as often, but within (1, 0.4)-DP."""
    wide = dpaudit.ApproxDP(1.0, 0.4)
    again = dpaudit.replay(above_one(), noisy(1.0), wide, rng=3)
    assert not above_one().breaks(wide)
    assert not again.breaks(wide)
    assert again.delta == 0.4
    assert dpaudit.replay(above_one(), noisy(1.0), dpaudit.ApproxDP(1.0, 0.1), rng=3).breaks(
        dpaudit.ApproxDP(1.0, 0.1)
    )


def test_datasets_that_came_back_as_text_cannot_be_replayed() -> None:
    lost = dataclasses.replace(above_one(), pair=Pair([1.0, {"a": Unsaved("<Odd>")}], [1.0]))
    with pytest.raises(CannotReplay, match=r"only their text is left: .*<Odd>"):
        dpaudit.replay(lost, noisy(1.0), ON_CLAIM)


def test_datasets_that_cannot_be_saved_can_be_replayed_while_they_are_there() -> None:
    class Odd(list[float]):
        """A kind of dataset that JSON does not know."""

    live = dataclasses.replace(above_one(), pair=Pair(Odd([1.0]), Odd([-1.0])))
    assert dpaudit.replay(live, noisy(1.0), ON_CLAIM, rng=3).breaks(ON_CLAIM)
