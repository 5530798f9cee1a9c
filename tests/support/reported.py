"""Audits to be shown: one of each verdict, made once a run or written down with plain numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

import dpaudit
from dpaudit.claims import PureDP
from dpaudit.inside import InsideAudit, Laplace, release
from dpaudit.neighbours import Pair
from dpaudit.results import (
    REPLAY,
    Audit,
    Counterexample,
    Evidence,
    Null,
    PairRecord,
    Tally,
    Verdict,
    forecast_of,
)

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


def noisy_model(data: Any, rng: np.random.Generator) -> Any:
    """2-DP for records in [-1, 1], one of them replaced; a long list goes into one release."""
    counts = np.zeros(2_000)
    counts[1_000] = np.sum(data)
    noisy = release(counts, Laplace(2.0), rng)
    return noisy[:3], np.sum(data) + rng.laplace(scale=2.0), release(len(data), Laplace(9.0), rng)


def noisy_beta(data: Any, rng: np.random.Generator) -> Any:
    return np.sum(data) + rng.beta(1.0, 2.0)


@cache
def broken_inside() -> InsideAudit:
    relation = dpaudit.replace_one(dpaudit.floats(-1, 1), max_records=5)
    return dpaudit.audit_inside(noisy_model, dpaudit.PureDP(0.5), relation, rng=7)


@cache
def cannot_follow() -> InsideAudit:
    relation = dpaudit.replace_one(dpaudit.floats(-1, 1), max_records=5)
    return dpaudit.audit_inside(noisy_beta, dpaudit.PureDP(0.5), relation, rng=7)


@cache
def of_words() -> Audit:
    """Outputs that try to be markup; a mechanism with such a name, records too."""

    def mechanism(data: Any, size: int, rng: np.random.Generator) -> list[Any]:
        chances = (0.8, 0.2) if len(data) else (0.2, 0.8)
        return list(rng.choice([NASTY, "no"], size=size, p=chances))

    mechanism.__name__ = NASTY
    pairs: list[Any] = [([NASTY], [])]
    return dpaudit.audit(mechanism, dpaudit.PureDP(0.5), pairs, rng=7, samples=20_000)


@cache
def not_refuted_in_batches() -> Audit:
    """Not refuted by a tester that does not bet."""
    near = dpaudit.pairs([([1.0], [0.5]), ([1.0], [0.9]), ([0.5], [-1.0])])
    tester = dpaudit.testers.HistogramTester()
    return dpaudit.audit(noisy_sum, dpaudit.PureDP(2.0), near, tester=tester, rng=7, samples=20_000)


@cache
def refuted_in_batches() -> Audit:
    near = dpaudit.pairs([([1.0], [-1.0])])
    tester = dpaudit.testers.HistogramTester()
    return dpaudit.audit(noisy_sum, dpaudit.PureDP(0.5), near, tester=tester, rng=7, samples=20_000)


@cache
def suspected() -> Audit:
    """Accused by a tester whose guarantee is asymptotic."""
    near = dpaudit.pairs([([1.0], [-1.0])])
    tester = dpaudit.testers.APT()
    return dpaudit.audit(noisy_sum, dpaudit.PureDP(0.5), near, tester=tester, rng=7, samples=4_000)


@cache
def trained() -> Audit:
    """A training whose canaries show: scores in and out lie four deviations apart."""
    plan = dpaudit.training.canaries(120, rng=11)
    scores = np.random.default_rng(1).normal(size=120) + 4.0 * plan.bits
    return dpaudit.training.one_run(scores, plan, dpaudit.GaussianDP(1.0), name="train", rng=7)


def trained_independently() -> Audit:
    """The same, decided by the test that takes canaries to be independent."""
    found = trained()
    assert found.training is not None
    first, second, *others = found.training.findings
    training = replace(found.training, findings=(second, first, *others))
    assert training.null is Null.INDEPENDENT_CANARIES
    return replace(found, training=training)


@cache
def of_samples() -> Audit:
    noise = np.random.default_rng(0).laplace(size=(2, 4000))
    return dpaudit.compare_samples(noise[0] + 3.0, noise[1], dpaudit.PureDP(1.0), rng=7)


def replayed() -> Audit:
    """A known counterexample, counted again, as a test run does."""
    return replace(refuted(), tester=REPLAY, history=(), simplest=None, pairs_tried=1)


# --- written down ---------------------------------------------------------------------------------

PAIR = Pair(np.array([1.0]), np.array([-1.0]))
REFUTED = Audit(
    mechanism="clipped_sum",
    claim=PureDP(1.0),
    verdict=Verdict.REFUTED,
    lower_bound=1.80999,
    counterexample=Counterexample(
        pair=PAIR,
        event="output > 0.773",
        likelier="data",
        data=Tally(hits=4012, draws=10000, lower=0.37774, upper=0.4251),
        neighbour=Tally(hits=641, draws=10000, lower=0.0533, upper=0.07401),
        delta=0.0,
        epsilon_lower=math.log(0.37774 / 0.07401),
        alpha=1e-6,
        seed=(7, 0, 3),
    ),
    evidence=Evidence(trace=((24000, 14.2),), log_wealth=14.2, peak=14.2),
    samples=44000,
    seconds=1.234,
    alpha=1e-6,
    rng_seed=7,
    pairs_tried=1,
    neighbours="replace one of at most 5 records of floats(-1, 1)",
    strongest=PairRecord(pair=PAIR, samples=24000, log_wealth=14.2, growth=6e-4),
    detectable=None,
    forecast=None,
    history=(),
    warnings=(),
    interrupted=False,
    version="0.1.0",
)
NOT_REFUTED = replace(
    REFUTED,
    mechanism="laplace_count",
    verdict=Verdict.NOT_REFUTED,
    lower_bound=0.96,
    counterexample=None,
    evidence=Evidence(trace=((300000, -0.4),), log_wealth=-0.4, peak=1.1),
    samples=300000,
    seconds=83.0,
    pairs_tried=24,
    neighbours="add or remove one of at most 6 records of floats(0, 1)",
    strongest=PairRecord(
        pair=Pair(np.array([1.0]), np.array([])), samples=9000, log_wealth=0.2, growth=1e-5
    ),
    detectable=1.0931,
)
UNDECIDED = replace(
    NOT_REFUTED,
    verdict=Verdict.UNDECIDED,
    lower_bound=0.97,
    evidence=Evidence(trace=((300000, 8.6),), log_wealth=8.6, peak=8.7),
    detectable=None,
    forecast=41000,
)
AUDITS = (REFUTED, NOT_REFUTED, UNDECIDED)


def with_event(audit: Audit, **changes: Any) -> Audit:
    assert audit.counterexample is not None
    return replace(audit, counterexample=replace(audit.counterexample, **changes))
