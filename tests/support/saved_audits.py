"""Audits made by hand, whose every field is set: one refuted, one undecided."""

import dataclasses
import math

import numpy as np

from dpaudit.bounds import epsilon_from_event
from dpaudit.claims import PureDP
from dpaudit.events import Above, Rule
from dpaudit.neighbours import Pair
from dpaudit.results import (
    Audit,
    Counterexample,
    Evidence,
    OutputHistogram,
    PairRecord,
    Tally,
    Verdict,
)

PAIR = Pair(np.array([1.0, np.nan]), np.zeros((0, 2), dtype=np.float32))
RECORD = PairRecord(pair=PAIR, samples=2000, log_wealth=3.25, growth=0.001625)
DATA, NEIGHBOUR = (Tally.of(hits, 1000, alpha=1e-6) for hits in (400, 60))
COUNTEREXAMPLE = Counterexample(
    pair=PAIR,
    event="output > 0.773",
    likelier="data",
    data=DATA,
    neighbour=NEIGHBOUR,
    delta=0.0,
    epsilon_lower=epsilon_from_event(DATA.lower, NEIGHBOUR.upper, 0.0),
    alpha=1e-6,
    seed=(7, 0, 3),
    rule=Rule(event=Above(0, 0.773), places=("output",), words=()),
)
HISTOGRAM = OutputHistogram(
    place="output",
    edges=(-math.inf, 0.0, 0.773, math.inf),
    values=("NaN",),
    data=(100, 490, 400, 10),
    neighbour=(500, 430, 60, 10),  # 1000 draws of either side
    data_hits=(0, 0, 400, 0),
    neighbour_hits=(0, 0, 60, 0),
)
REFUTED = Audit(
    mechanism="clipped_sum",
    claim=PureDP(1.0),
    verdict=Verdict.REFUTED,
    lower_bound=1.1875,
    counterexample=COUNTEREXAMPLE,
    simplest=dataclasses.replace(
        COUNTEREXAMPLE,
        event="output > 1",
        rule=Rule(event=Above(0, 1.0), places=("output",), words=()),
        seed=(7, 7),
    ),
    tester="HockeyStickTester",
    evidence=Evidence(trace=((1000, 3.5), (2000, 14.25)), log_wealth=14.25, peak=14.3),
    samples=4000,
    seconds=0.125,
    alpha=1e-6,
    rng_seed=7,
    pairs_tried=1,
    neighbours="replace one of at most 5 records of floats(-1, 1)",
    strongest=RECORD,
    detectable=None,
    forecast=None,
    history=(RECORD,),
    warnings=("the mechanism returned the same 10 outputs at two calls",),
    interrupted=False,
    version="0.1.0",
    target="released.sums:clipped_sum",
    software=(("python", "3.12.1"), ("numpy", "2.1.0")),
)
UNDECIDED = dataclasses.replace(
    REFUTED,
    verdict=Verdict.UNDECIDED,
    lower_bound=0.0,
    counterexample=None,
    simplest=None,
    evidence=Evidence(trace=(), log_wealth=-math.inf, peak=0.0),
    rng_seed=(2**127 + 1, 3),
    strongest=None,
    detectable=1.25,
    forecast=88,
    history=(),
    warnings=(),
    interrupted=True,
    target=None,
    software=(),
)
