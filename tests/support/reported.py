"""Audits to be shown: one of each verdict, made once a run."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

import dpaudit
from dpaudit.results import Audit, Evidence, Verdict, forecast_of

NASTY = "<script>alert(1)</script>\"'&$x^$<b>"


def noisy_sum(data: Any, size: int, rng: np.random.Generator) -> Any:
    """2-DP for records in [-1, 1], one of them replaced."""
    return np.sum(data) + rng.laplace(size=size)


@cache
def refuted() -> Audit:
    relation = dpaudit.replace_one(dpaudit.floats(-1, 1), max_records=5)
    return dpaudit.audit(noisy_sum, dpaudit.PureDP(1.0), relation, rng=7, samples=40_000)


@cache
def not_refuted() -> Audit:
    relation = dpaudit.replace_one(dpaudit.floats(-1, 1), max_records=5)
    return dpaudit.audit(noisy_sum, dpaudit.PureDP(2.0), relation, rng=7, samples=20_000)


@cache
def undecided() -> Audit:
    """As it would be with more luck: what is shown depends on the values alone."""
    found = not_refuted()
    evidence = Evidence(
        trace=(*found.evidence.trace, (19_500, 6.0)), log_wealth=6.0, peak=found.evidence.peak + 6.0
    )
    assert found.strongest is not None
    earned = replace(found.strongest, samples=10_000, log_wealth=6.513, growth=6.513e-4)
    leaning = replace(found, verdict=Verdict.UNDECIDED, evidence=evidence, strongest=earned)
    return replace(leaning, forecast=forecast_of(leaning))


def verdicts() -> dict[str, Audit]:
    return {"refuted": refuted(), "not-refuted": not_refuted(), "undecided": undecided()}


@cache
def of_words() -> Audit:
    """Outputs that try to be markup; a mechanism with such a name, records too."""

    def mechanism(data: Any, size: int, rng: np.random.Generator) -> list[Any]:
        chances = (0.8, 0.2) if len(data) else (0.2, 0.8)
        return list(rng.choice([NASTY, "no"], size=size, p=chances))

    mechanism.__name__ = NASTY
    pairs: list[Any] = [([NASTY], [])]
    return dpaudit.audit(mechanism, dpaudit.PureDP(0.5), pairs, rng=7, samples=20_000)
