"""Batch testers that answer as they are told, and audits with them."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import dpaudit
from dpaudit import Audit, PureDP
from dpaudit.arrays import Floats
from dpaudit.testers import Finding

Answer = Callable[[int], float]  # from the number of the call (two for each trial) to a bound

MANY = dpaudit.add_or_remove_one(dpaudit.floats(0, 1))  # more pairs than any test asks for
PROFILE = dpaudit.Profile(dpaudit.GaussianDP(1.0).delta, name="gaussian")


def nothing(call: int) -> float:
    return 0.0


def in_call(number: int, bound: float = 1.0) -> Answer:
    """A bound in one call, and nothing in the others."""
    return lambda call: bound if call == number else 0.0


@dataclass
class Scripted:
    """A batch tester with the two methods only. It answers as told and remembers its calls."""

    answer: Answer = nothing
    limit: float = 0.5
    calls: list[dict[str, Any]] = field(default_factory=list)

    def threshold(self, claim: Any) -> float:
        return self.limit

    def lower_bound(
        self, outputs: Any, neighbour_outputs: Any, claim: Any, *, alpha: float, rng: Any
    ) -> float:
        self.calls.append(
            {
                "outputs": outputs,
                "neighbour_outputs": neighbour_outputs,
                "claim": claim,
                "alpha": alpha,
                "luck": rng.random(),
            }
        )
        return self.answer(len(self.calls))


@dataclass
class Examining(Scripted):
    """A tester that also bounds the claim's parameter, ten times the divergence."""

    least: int = 0  # outputs of a side, below which it cannot refute,
    at: float = 0.0  # and the alpha, below which it cannot

    def examine(
        self, outputs: Any, neighbour_outputs: Any, claim: Any, *, alpha: float, rng: Any
    ) -> Finding:
        bound = self.lower_bound(outputs, neighbour_outputs, claim, alpha=alpha, rng=rng)
        scaled = None if claim is PROFILE else 10.0 * bound
        return Finding(lower_bound=bound, strength_lower=scaled)

    def best(self, claim: Any, draws: int, neighbour_draws: int, *, alpha: float) -> Finding:
        able = min(draws, neighbour_draws) >= self.least and alpha >= self.at
        return Finding(lower_bound=1.0 if able else 0.0, strength_lower=7.0)


def side(data: Any, size: int) -> Floats:
    """The outputs tell where they come from: 1 more record, 1 more."""
    return np.full(size, float(len(data)))


def laplace(data: Any, size: int, rng: np.random.Generator) -> Floats:
    return len(data) + rng.laplace(size=size)


def leak(data: Any, size: int, rng: np.random.Generator) -> Floats:
    return 5.0 * len(data) + rng.laplace(size=size)


def listed(count: int) -> list[tuple[Floats, Floats]]:
    return [(np.ones(number + 1), np.ones(number)) for number in range(count)]


def audit(tester: Any, neighbours: Any = MANY, **options: Any) -> Audit:
    options = {"mechanism": side, "claim": PureDP(0.3), "rng": 1, "samples": 2_000, **options}
    return dpaudit.audit(neighbours=neighbours, tester=tester, **options)


def without_seconds(found: Audit) -> str:
    return json.dumps({**found.to_json(), "seconds": 0, "provenance": None}, sort_keys=True)
