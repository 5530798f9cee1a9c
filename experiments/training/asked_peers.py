"""Whom `training_peers.py` asks for a bound: each peer in its own words, and what it assumes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from dpaudit.architecture import Claim
from dpaudit.arrays import Floats, Labels
from dpaudit.claims import GaussianDP
from dpaudit.training.any_mechanism import TESTS
from dpaudit.training.independent import independent
from dpaudit.training.levels import point_claim

ALPHA, DELTA = 0.05, 1e-5
GRID = 1_000  # points of Opake's integrals: the fewest that it allows
WHATEVER, CURVE, SAID = "nothing", "a Gaussian curve", "nothing, it says"
COINS, BOTH = "independent canaries", "independent canaries, a Gaussian curve"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """The scores of one run; `mu` is the Gaussian curve of the claim, `epsilon` what it implies."""

    scores: Floats
    bits: Labels
    mu: float
    epsilon: float
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """Whose bound it is, in its own words; what it assumes; which package it needs.

    One that is `slow` is asked in the first runs of a source only.
    """

    name: str
    said: str
    assumes: str
    package: str
    bound: Callable[[Scores], float]
    slow: bool = False

    @property
    def installed(self) -> bool:
        """Whether it can be asked here."""
        return self.package == "dpaudit" or find_spec(_MODULES[self.package]) is not None


def of_jax_privacy(method: str) -> Callable[[Scores], float]:
    """A method of `jax_privacy.auditing.CanaryScoreAuditor`."""

    def bound(given: Scores) -> float:
        auditor = import_module("jax_privacy.auditing").CanaryScoreAuditor(
            given.scores[given.bits], given.scores[~given.bits]
        )
        return float(getattr(auditor, method)(significance=ALPHA, delta=DELTA))

    return bound


def of_opake(method: str, **settings: Any) -> Callable[[Scores], float]:
    """A method of `opake.auditing.one_run`, whose partition is made from our coins."""

    def bound(given: Scores) -> float:
        auditing, types = import_module("opake.auditing"), import_module("opake.auditing.types")
        ids = np.arange(len(given.bits))
        partition = types.CoinFlip(
            num_canaries=len(ids),
            canary_indices=ids,
            _in_mask=given.bits,
            in_indices=ids[given.bits],
            out_indices=ids[~given.bits],
        )
        named = auditing.canary_scores(given.scores, canary_indices=ids)
        estimate = getattr(auditing.one_run(named, coin_flip=partition), method)(**settings)
        return float(estimate.epsilon_at(delta=DELTA, significance=ALPHA))

    return bound


def of_ours(test: str) -> Callable[[Scores], float]:
    """A test of this library for any mechanism, or for a Gaussian curve."""

    def bound(given: Scores) -> float:
        claim: Claim | None = GaussianDP(given.mu)
        if test != "error recursion":
            claim = point_claim(GaussianDP(given.mu), DELTA)
        assert claim is not None  # Gaussian claims imply one
        found = TESTS[test](given.scores, given.bits, claim, ALPHA).lower_bound
        assert found is not None  # both kinds of claims have a strength
        return epsilon_of(found) if test == "error recursion" else found

    return bound


def one_wealth(given: Scores) -> float:
    """The bets of this library on independent canaries."""
    found, _ = independent(given.scores, given.bits, GaussianDP(given.mu), ALPHA, rng=given.seed)
    assert found.lower_bound is not None  # Gaussian claims have a strength
    return epsilon_of(found.lower_bound)


def epsilon_of(mu: float) -> float:
    """The epsilon of a Gaussian curve at delta 1e-5; 0 for a mu of 0."""
    point = point_claim(GaussianDP(mu), DELTA) if mu > 0 else None
    return 0.0 if point is None else point.strength


_MODULES = {"jax-privacy": "jax_privacy", "opake-auditing": "opake"}
_JAX = [
    ("epsilon_clopper_pearson", "epsilon lower bound", COINS),
    ("epsilon_from_gdp", "an estimate for epsilon with GDP", BOTH),
    ("epsilon_one_run", "lower bound on epsilon", WHATEVER),
    ("epsilon_one_run_fdp", "lower bound on epsilon", CURVE),
]
_OPAKE: list[tuple[str, str, dict[str, Any]]] = [
    ("gdp", "μ-GDP order-statistics audit", {"grid_size": GRID}),
    ("eps_delta", "mechanism-agnostic order-statistics audit", {}),
]
PEERS = [
    *(
        Peer(
            name=f"jax_privacy, {method}",
            said=said,
            assumes=assumes,
            package="jax-privacy",
            bound=of_jax_privacy(method),
        )
        for method, said, assumes in _JAX
    ),
    *(
        Peer(
            name=f"Opake, {method}",
            said=said,
            assumes=BOTH if method == "gdp" else SAID,
            package="opake-auditing",
            bound=of_opake(method, **settings),
            slow=method == "gdp",
        )
        for method, said, settings in _OPAKE
    ),
    Peer(
        name="right guesses",
        said="Steinke, Nasr and Jagielski 2023, ours",
        assumes=WHATEVER,
        package="dpaudit",
        bound=of_ours("right guesses"),
    ),
    Peer(
        name="error recursion",
        said="Mahloujifar, Melis and Chaudhuri 2024, ours",
        assumes=CURVE,
        package="dpaudit",
        bound=of_ours("error recursion"),
    ),
    Peer(
        name="stopped wealth",
        said="certified epsilon",
        assumes=WHATEVER,
        package="dpaudit",
        bound=of_ours("stopped wealth"),
    ),
    Peer(
        name="one wealth over canaries",
        said="certified mu",
        assumes=BOTH,
        package="dpaudit",
        bound=one_wealth,
        slow=True,
    ),
]
