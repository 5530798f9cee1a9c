"""The trainings and synthesizers of `experiments/inside`: their bugs are found, the right pass."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

from dpaudit import ApproxDP, InsideVerdict, PureDP, audit_inside

sys.path.append(str(Path(__file__).parents[2] / "experiments" / "inside"))
sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

import synthesizers
import trainings

PAIRS = trainings.neighbours(trainings.table(120))


def accounted(delta: float) -> ApproxDP:
    """Rényi accounting: Mironov et al. (2019); Canonne et al. (2020), proposition 12."""
    found = []
    for order in range(2, 64):
        k = np.arange(order + 1)
        chosen = gammaln(order + 1) - gammaln(k + 1) - gammaln(order - k + 1)
        logs = chosen + k * math.log(trainings.RATE) + (order - k) * math.log1p(-trainings.RATE)
        moment = float(logsumexp(logs + k * (k - 1) / (2 * trainings.SIGMA**2)))
        renyi = trainings.STEPS * moment / (order - 1)
        tail = (math.log(delta) + math.log(order)) / (order - 1)
        found.append(renyi + math.log1p(-1.0 / order) - tail)
    return ApproxDP(min(found), delta)


@pytest.mark.parametrize("bug", ["batch clipped", "not clipped", "noise over batch"])
def test_bugs_of_trainings_are_found_in_a_few_transcripts(bug: str) -> None:
    code = trainings.Training(bug=bug, size=120)
    found = audit_inside(code, accounted(1e-5), PAIRS, rng=1, transcripts=10)
    assert found.verdict is InsideVerdict.BROKEN_INSIDE


def test_the_right_training_is_not_accused() -> None:
    """Null: it keeps the claim, at alpha 0.05 in each of eight audits. False alarms: 0.0004."""
    accused = 0
    for seed in range(8):
        code = trainings.Training(size=120)
        found = audit_inside(code, accounted(0.05), PAIRS, rng=seed, alpha=0.05, transcripts=20)
        accused += found.verdict is InsideVerdict.BROKEN_INSIDE
    assert accused <= 3


@pytest.mark.parametrize("bug", ["microbatches clipped", "noise squared", "private number"])
def test_finer_bugs_break_the_whole_curve(bug: str) -> None:
    pytest.importorskip("dp_accounting", reason="dp-accounting is not installed")
    pairs = trainings.neighbours(trainings.table())
    found = audit_inside(trainings.Training(bug=bug), trainings.claim_of(), pairs, rng=1)
    assert found.verdict is InsideVerdict.BROKEN_INSIDE


@pytest.mark.parametrize("name", synthesizers.MECHANISMS)
def test_synthesizers(name: str) -> None:
    claim, pairs = PureDP(synthesizers.EPSILON), synthesizers.pairs_of()
    right, broken = (
        audit_inside(synthesizers.MECHANISMS[name](kind), claim, pairs, rng=1, transcripts=40)
        for kind in (True, False)
    )
    assert right.verdict is InsideVerdict.NOT_REFUTED
    assert broken.verdict is InsideVerdict.BROKEN_INSIDE
    assert broken.transcripts <= 5
