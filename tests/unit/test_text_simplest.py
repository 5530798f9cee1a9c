"""How the simplest counterexample and the tester are worded."""

import dataclasses
import math

import numpy as np
import pytest

from dpaudit.claims import ApproxDP, PureDP
from dpaudit.neighbours import Pair
from dpaudit.report import page_of, render
from dpaudit.results import Audit, Counterexample, Evidence, Tally, Verdict


def counterexample(pair: Pair, event: str, *, delta: float = 0.0) -> Counterexample:
    data = Tally(hits=4012, draws=12000, lower=0.37774, upper=0.4251)
    neighbour = Tally(hits=641, draws=12000, lower=0.0533, upper=0.07401)
    return Counterexample(
        pair=pair,
        event=event,
        likelier="data",
        data=data,
        neighbour=neighbour,
        delta=delta,
        epsilon_lower=math.log((0.37774 - delta) / 0.07401),
        alpha=1e-6,
        seed=(7, 7),
    )


UGLY = Pair(np.array([0.3, 0.93]), np.array([0.3, -0.88]))
PLAIN = Pair(np.array([1.0]), np.array([-1.0]))
AUDIT = Audit(
    mechanism="clipped_sum",
    claim=PureDP(1.0),
    verdict=Verdict.REFUTED,
    lower_bound=1.62,
    counterexample=counterexample(UGLY, "output > 0.91 and output < 7"),
    simplest=counterexample(PLAIN, "output > 0"),
    evidence=Evidence(trace=((24000, 14.2),), log_wealth=14.2, peak=14.2),
    samples=44000,
    seconds=1.234,
    alpha=1e-6,
    rng_seed=7,
    pairs_tried=1,
    neighbours="",
    strongest=None,
    detectable=None,
    forecast=None,
    history=(),
    warnings=(),
    interrupted=False,
    version="0.1.0",
)


def test_the_simplest_pair_stands_below_the_strongest() -> None:
    text = render(AUDIT)
    assert (
        """\
  The simplest pair that still breaks the claim:
  data        [1.0]
  neighbour   [-1.0]
  event       output > 0 (likelier on data)
  shows       epsilon >= 1.63, on 12,000 fresh draws of either side
"""
        in text
    )
    assert text.index("0.93") < text.index("The simplest pair")


def test_delta_is_named_where_there_is_one() -> None:
    audit = dataclasses.replace(
        AUDIT, claim=ApproxDP(1.0, 1e-5), simplest=counterexample(PLAIN, "output > 0", delta=1e-5)
    )
    assert "epsilon >= 1.62 at delta = 1e-05, on 12,000 fresh draws" in render(audit)


def test_without_a_simpler_pair_nothing_is_said() -> None:
    assert "simplest" not in render(dataclasses.replace(AUDIT, simplest=None))


@pytest.mark.parametrize(
    ("tester", "named"), [("BettingTester", False), ("MMDTester", True), ("not recorded", True)]
)
def test_the_tester_is_named_unless_it_is_the_usual_one(tester: str, named: bool) -> None:
    line = f"  tester      {tester}\n"
    assert (line in render(dataclasses.replace(AUDIT, tester=tester))) == named


def test_both_events_say_how_surely_they_hold_alone_and_together() -> None:
    said = (
        "The bounds of either event hold alone with probability at least 1 - 1e-06, those of both "
        "together with at least 1 - 2e-06."
    )
    assert said in " ".join(render(AUDIT).split())
    assert said in [
        sentence.replace("\xa0", " ")
        for found in page_of(AUDIT).found
        for sentence in found.sentences
    ]
    assert "those of both" not in render(dataclasses.replace(AUDIT, simplest=None))
