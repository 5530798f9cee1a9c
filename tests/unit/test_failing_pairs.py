"""A search survives pairs on which both sides only raise; what they leave unsearched is said."""

from __future__ import annotations

import math
import signal
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpaudit
from dpaudit import Pair, PureDP
from dpaudit.neighbours import FixedPairs

CLAIM = PureDP(1.0)
TESTERS = [None, dpaudit.testers.HistogramTester(), dpaudit.testers.HockeyStickTester()]
TOLD = pytest.mark.filterwarnings("ignore::dpaudit.HealthWarning")
ASIDE = "raised the same error at each draw on both sides"


def needs(records: int, *, scale: float = 1.0) -> Any:
    """A noisy sum that cannot take fewer records: an edge pair of one record raises throughout."""

    def noisy_sum(data: Any, size: int, rng: np.random.Generator) -> Any:
        if len(data) < records:
            raise ValueError(f"at least {records} records are needed")
        return np.sum(data) + rng.laplace(scale=scale, size=size)

    return noisy_sum


def needs_two_classes(data: Any, size: int, rng: np.random.Generator) -> Any:
    """As a classifier does: data of one class raise, of two classes give the share of one."""
    if len(set(data)) < 2:
        raise ValueError("This solver needs samples of at least 2 classes in the data")
    return np.mean([one == "a" for one in data]) + 0.01 * rng.laplace(size=size)


def always(message: Any) -> Any:
    def broken(data: Any, size: int, rng: np.random.Generator) -> Any:
        raise ZeroDivisionError(message(data))

    return broken


UNIT = dpaudit.replace_one(dpaudit.floats(0, 1), max_records=6)


def audited(mechanism: Any, neighbours: Any = UNIT, **options: Any) -> dpaudit.Audit:
    found: dpaudit.Audit = dpaudit.audit(
        mechanism, CLAIM, neighbours, **{"samples": 20_000, "rng": 7, **options}
    )
    return found


# --- the search goes on ---------------------------------------------------------------------------


@TOLD
@pytest.mark.parametrize("tester", TESTERS)
@pytest.mark.parametrize("records", [2, 3])
def test_a_leak_behind_pairs_that_raise_is_found(tester: Any, records: int) -> None:
    """Null: noise of scale 1, accused with probability at most 1e-6.

    Alternative: noise of scale 0.2, five times too little; found for 29 of 29 other seeds.
    """
    found = audited(needs(records, scale=0.2), tester=tester, samples=60_000)
    assert found.refuted
    assert found.counterexample is not None
    assert len(found.counterexample.pair.data) >= records
    assert any(ASIDE in warning for warning in found.warnings)


@TOLD
@pytest.mark.parametrize("tester", TESTERS)
def test_a_leak_where_most_data_raise_is_found(tester: Any) -> None:
    """Of all that may be a neighbour here, only data of two classes give anything.

    Null: accused with probability at most 1e-6. Alternative: noise of scale 0.01 on a share; found
    for 29 of 29 other seeds.
    """
    people = dpaudit.replace_one(dpaudit.categories("a", "b"), max_records=4)
    found = audited(needs_two_classes, people, tester=tester, samples=60_000)
    assert found.refuted


@TOLD
@pytest.mark.parametrize("tester", [None, dpaudit.testers.HistogramTester()])
@pytest.mark.parametrize("relation", [dpaudit.replace_one, dpaudit.add_or_remove_one])
@pytest.mark.parametrize(
    "domain",
    [
        dpaudit.floats(0, 1),
        dpaudit.vectors(3, -1, 1),
        dpaudit.records(a=dpaudit.floats(0, 1), b=dpaudit.categories(0, 1)),
    ],
    ids=str,
)
def test_a_mechanism_that_needs_many_records_is_searched(
    tester: Any, relation: Any, domain: Any
) -> None:
    """All small datasets raise, which come first in every search."""

    def crowd(data: Any, size: int, rng: np.random.Generator) -> Any:
        if len(data) < 20:
            raise ValueError("too few")
        return rng.laplace(size=size)

    found = audited(crowd, relation(domain, max_records=25), tester=tester)
    assert any(ASIDE in warning for warning in found.warnings)


@TOLD
@pytest.mark.parametrize("tester", TESTERS)
def test_an_honest_mechanism_that_needs_some_records_is_not_accused(tester: Any) -> None:
    """Null: the claim holds; an audit is wrong with probability at most alpha, 1e-6 each.

    Alternative: a noise of a fifth of the scale. The test of a leak behind pairs gives the power.
    """
    found = audited(needs(3), tester=tester)
    assert not found.refuted
    (warning,) = [warning for warning in found.warnings if ASIDE in warning]
    count, of, tried, *_ = warning.split()
    assert of == "of"
    assert 0 < int(count) < int(tried)
    assert "The first: ValueError on data=" in warning
    assert "'at least 3 records are needed'" in warning
    assert found.samples <= 20_000


def test_how_many_were_not_searched_is_warned_of() -> None:
    with pytest.warns(dpaudit.HealthWarning) as caught:
        audited(needs(3))
    assert [ASIDE in str(warning.message) for warning in caught] == [False, True]


@TOLD
def test_a_pair_that_raises_throughout_costs_few_draws() -> None:
    found = audited(needs(3))
    raised = [record for record in found.history if len(record.pair.data) < 3]
    assert len(raised) > 5
    assert max(record.samples for record in raised) <= 200
    spent = sum(record.samples for record in raised)
    assert spent < found.samples / 4


@TOLD
def test_a_pair_that_raises_now_and_then_is_searched() -> None:
    """The errors come with the same probability on both sides: nothing is set aside for them.

    Null: the claim holds; false alarms at most alpha, 1e-6. Alternative: pairs set aside for some
    errors; 30 % of the draws raise, so a pair of 20 draws has one with probability 0.999.
    """

    @dpaudit.one_at_a_time
    def shaky(data: Any, rng: np.random.Generator) -> float:
        if rng.random() < 0.3:
            raise RuntimeError("try again")
        return float(np.sum(data) + rng.laplace())

    found = audited(shaky, samples=4_000)
    assert not found.refuted
    assert not any(ASIDE in warning for warning in found.warnings)


def test_with_raise_nothing_changes() -> None:
    with pytest.raises(ValueError, match="at least 2 records are needed") as caught:
        audited(needs(2), on_error="raise")
    assert caught.value.__notes__[-1].startswith("while drawing")


# --- the search ends ------------------------------------------------------------------------------


@pytest.mark.parametrize("tester", TESTERS)
@pytest.mark.parametrize("message", [lambda data: "on any data", lambda data: f"on {data}"])
def test_where_all_pairs_raise_the_first_error_flies_soon(tester: Any, message: Any) -> None:
    calls: list[int] = []

    def broken(data: Any, size: int, rng: np.random.Generator) -> Any:
        calls.append(size)
        raise ZeroDivisionError(message(data))

    with pytest.raises(ZeroDivisionError, match=r"on (any data|\[[01]\.\])") as caught:
        audited(broken, tester=tester, samples=300_000)
    assert "raised at each draw on both sides of 64 of 64 pairs" in caught.value.__notes__[0]
    assert caught.value.__notes__[1].startswith("while drawing outputs from broken on data=")
    assert len(calls) < 64 * 70


@pytest.mark.parametrize("tester", TESTERS)
@pytest.mark.parametrize("count", [1, 2, 5])
def test_where_all_given_pairs_raise_the_error_flies(tester: Any, count: int) -> None:
    listed = dpaudit.pairs([([float(n)], [n + 0.5]) for n in range(count)])
    with pytest.raises(ZeroDivisionError, match="always") as caught:
        audited(always(lambda data: "always"), listed, tester=tester)
    assert "raised at each" in caught.value.__notes__[0]


@TOLD
def test_where_nearly_all_pairs_raise_the_error_flies() -> None:
    """One pair of eighty gives outputs: too little to say anything of the others."""
    listed = dpaudit.pairs([([float(n)], [n + 0.5]) for n in range(80)])

    def once(data: Any, size: int, rng: np.random.Generator) -> Any:
        if data[0] >= 1.0:
            raise ValueError("too large")
        return rng.laplace(size=size)

    with pytest.raises(ValueError, match="too large") as caught:
        audited(once, listed, samples=50_000)
    assert "79 of 80 pairs" in caught.value.__notes__[0]


def test_one_given_pair_raises_as_ever_in_whatever_way_it_is_looked_at() -> None:
    broken = always(lambda data: f"no {len(data)}")
    pair: tuple[list[float], list[float]] = ([0.5], [])
    with pytest.raises(ZeroDivisionError):
        audited(broken, [pair])
    with pytest.raises(ZeroDivisionError):
        dpaudit.measure_epsilon(broken, *pair, samples=1000, rng=7)


# --- errors that differ ---------------------------------------------------------------------------


def speaks(data: Any, size: int, rng: np.random.Generator) -> Any:
    """Raises where there are fewer than three records, and says how many there are."""
    if len(data) < 3:
        raise ValueError(f"n_samples={len(data)} should be >= 3")
    return rng.laplace(size=size)


@TOLD
@pytest.mark.parametrize("tester", TESTERS)
def test_errors_that_differ_are_evidence_once_the_mechanism_has_worked_somewhere(
    tester: Any,
) -> None:
    """Whichever pair comes first."""
    leak: tuple[list[float], list[float]] = ([1.0], [])
    works = ([1.0] * 4, [1.0] * 3)
    for order in ([leak, works], [works, leak]):
        found = audited(speaks, dpaudit.pairs(order), tester=tester)
        assert found.refuted
        assert found.counterexample is not None
        assert found.counterexample.pair == Pair(*leak)
        assert found.counterexample.event.startswith("error message = ")


@TOLD
@pytest.mark.parametrize("alpha", [1e-6, 0.3])
def test_errors_that_differ_accuse_nobody_who_never_worked(alpha: float) -> None:
    """A mechanism that is called in a wrong way says so, and shows its data in doing it."""
    with pytest.raises(ZeroDivisionError):
        audited(always(lambda data: f"what is {data}?"), alpha=alpha)


@TOLD
def test_errors_of_the_same_words_are_no_evidence() -> None:
    found = audited(needs(3), dpaudit.pairs([([1.0], []), ([1.0] * 4, [1.0] * 3)]))
    assert not found.refuted
    assert "1 of 2 pairs raised the same error" in found.warnings[-1]


# --- interrupted ----------------------------------------------------------------------------------


@TOLD
@pytest.mark.parametrize("tester", [None, dpaudit.testers.HistogramTester()])
def test_an_interrupted_search_says_what_it_left_out(tester: Any) -> None:
    worked: list[int] = []

    def impatient(data: Any, size: int, rng: np.random.Generator) -> Any:
        if len(data) < 2:
            raise ValueError("too few")
        worked.append(size)
        if len(worked) > 100:
            signal.raise_signal(signal.SIGINT)  # as Ctrl-C does
        return rng.laplace(size=size)

    found = audited(impatient, tester=tester)
    assert found.interrupted
    assert any(ASIDE in warning for warning in found.warnings)


# --- validity -------------------------------------------------------------------------------------


class Coin:
    """Gives an output with one probability on some datasets, and with that over e on others."""

    def __init__(self, chance: float) -> None:
        self.chances = {0.0: 1.0 - chance, 1.0: 1.0 - chance / math.e}

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Any:
        raises = rng.random(size) < self.chances[float(data[0]) % 2]
        if raises.any():
            raise RuntimeError("the coin said so")
        return rng.integers(2, size=size)


def many_pairs() -> FixedPairs:
    return dpaudit.pairs([([2.0 * n], [2.0 * n + 1.0]) for n in range(40)])


@TOLD
@pytest.mark.slow
@pytest.mark.parametrize("tester", [None, dpaudit.testers.HistogramTester()])
@pytest.mark.parametrize("chance", [pytest.param(0.1, marks=pytest.mark.nightly), 0.5])
def test_setting_pairs_aside_accuses_no_more_often(tester: Any, chance: float) -> None:
    """Errors exactly as likely as 1-DP allows, some so likely that pairs are set aside by chance.

    Null: at most a share alpha of the runs accuse; the binomial tail of what did is below 1e-6
    with probability below 1e-6. Alternative: 65 % of the runs accuse, and 29 of 60 are enough to
    fail; power 0.997.
    """
    alpha, runs, refuted, aside = 0.2, 60, 0, 0
    samples = 1_500 if tester is None else 3_000  # with fewer, no trial could refute
    for seed in range(runs):
        found = audited(
            Coin(chance), many_pairs(), tester=tester, alpha=alpha, samples=samples, rng=seed
        )
        refuted += found.refuted
        aside += any(ASIDE in warning for warning in found.warnings)
    assert aside > 0 or chance > 0.1
    assert stats.binomtest(refuted, runs, alpha, alternative="greater").pvalue > 1e-6
