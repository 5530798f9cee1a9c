"""How the simplest counterexample and the tester are worded."""

from dataclasses import replace

import numpy as np
import pytest
from reported import REFUTED

from dpaudit.claims import ApproxDP
from dpaudit.neighbours import Pair
from dpaudit.report import page_of, render

FOUND = REFUTED.counterexample
assert FOUND is not None
SIMPLEST = replace(FOUND, event="output > 0")
AUDIT = replace(
    REFUTED,
    counterexample=replace(
        FOUND,
        pair=Pair(np.array([0.3, 0.93]), np.array([0.3, -0.88])),
        event="output > 0.91 and output < 7",
    ),
    simplest=SIMPLEST,
)


def test_the_simplest_pair_stands_below_the_strongest() -> None:
    text = render(AUDIT)
    assert (
        """\
  The simplest pair that still breaks the claim:
  A = [1.0]
  B = [-1.0]
  event       output > 0 (likelier on A)
  shows       at least epsilon 1.63 leaks, on 10,000 fresh draws each
"""
        in text
    )
    assert text.index("0.93") < text.index("The simplest pair")


def test_delta_is_named_where_there_is_one() -> None:
    audit = replace(AUDIT, claim=ApproxDP(1.0, 1e-5), simplest=replace(SIMPLEST, delta=1e-5))
    said = "at least epsilon 1.63 leaks at delta = 1e-05, on 10,000 fresh draws"
    assert said in " ".join(render(audit).split())


def test_without_a_simpler_pair_nothing_is_said() -> None:
    assert "simplest" not in render(replace(AUDIT, simplest=None))


@pytest.mark.parametrize(
    ("tester", "named"), [("BettingTester", False), ("MMDTester", True), ("not recorded", True)]
)
def test_the_tester_is_named_unless_it_is_the_usual_one(tester: str, named: bool) -> None:
    line = f"  tester      {tester}\n"
    assert (line in render(replace(AUDIT, tester=tester))) == named


def test_both_events_say_how_surely_they_hold_alone_and_together() -> None:
    said = (
        "The bounds of either event hold alone with probability at least 1 - 1e-06, those of both "
        "together with at least 1 - 2e-06."
    )
    assert said in " ".join(render(AUDIT).split())
    assert said in [
        sentence.replace("\xa0", " ")
        for found in page_of(AUDIT)["found"]
        for sentence in found["sentences"]
    ]
    assert "those of both" not in render(replace(AUDIT, simplest=None))
