"""What is recorded of a golden audit, and on which software."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dpaudit

RECORDS = Path(__file__).parents[1] / "golden" / "audits.json"
PACKAGES = ("numpy", "scipy", "scikit-learn")


def software() -> dict[str, str]:
    """What the last digits may depend on."""
    found = {package: version(package) for package in PACKAGES}
    return {**found, "machine": platform.machine(), "system": platform.system()}


def _counterexample(found: Any) -> dict[str, Any] | None:
    if found is None:
        return None
    sides = {
        side: [tally.hits, tally.draws, tally.lower, tally.upper]
        for side, tally in (("data", found.data), ("neighbour", found.neighbour))
    }
    return {
        "pair": str(found.pair),
        "event": found.event,
        "likelier": found.likelier,
        "delta": found.delta,
        "epsilon_lower": found.epsilon_lower,
        "seed": list(found.seed),
        "bars": [[list(outline.data), list(outline.neighbour)] for outline in found.outputs],
        **sides,
    }


def _measured(found: Any) -> dict[str, Any]:
    return {
        "epsilon_lower": found.epsilon_lower,
        "rule": found.rule,
        "right": found.right,
        "guesses": found.guesses,
        "draws": found.samples,
    }


def _audit(found: Any) -> dict[str, Any]:
    strongest = found.strongest
    return {
        "verdict": found.verdict.value,
        "draws": found.samples,
        "pairs": found.pairs_tried,
        "lower_bound": found.lower_bound,
        "log_wealth": found.evidence.log_wealth,
        "peak": found.evidence.peak,
        "trace": [list(point) for point in found.evidence.trace[-5:]],
        "strongest": strongest and [str(strongest.pair), strongest.samples, strongest.log_wealth],
        "detectable": found.detectable,
        "forecast": found.forecast,
        "warnings": len(found.warnings),
        "counterexample": _counterexample(found.counterexample),
        "simplest": _counterexample(found.simplest),
    }


def recorded(found: Any) -> dict[str, Any]:
    """What is kept of a result, as JSON values."""
    if isinstance(found, dpaudit.Audit):
        kept = _audit(found)
    elif isinstance(found, dpaudit.EpsilonBound):
        kept = _measured(found)
    else:
        kept = {"counterexample": _counterexample(found)}
    return dict(json.loads(json.dumps(kept, default=float)))
