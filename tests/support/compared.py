"""Testers and samples for comparisons of outputs in hand."""

import json
from typing import Any

import numpy as np
import numpy.typing as npt

import dpaudit
from dpaudit import Audit

Floats = npt.NDArray[np.float64]

BETS: list[Any] = [None, dpaudit.BettingTester()]
QUICK: list[Any] = [None, dpaudit.testers.HistogramTester()]  # one tester of either way
BATCH: list[Any] = [
    dpaudit.testers.HistogramTester(),
    dpaudit.testers.HockeyStickTester(classifier="linear"),
    dpaudit.testers.RenyiTester(),
    dpaudit.testers.MMDTester(),
]


def name_of(tester: Any) -> str:
    return "default" if tester is None else type(tester).__name__


def laplace(size: int, *, shift: float = 0.0, scale: float = 1.0, seed: int = 0) -> Floats:
    return shift + np.random.default_rng(seed).laplace(scale=scale, size=size)


def without_seconds(found: Audit) -> str:
    return json.dumps({**found.to_json(), "seconds": 0, "provenance": None}, sort_keys=True)
