"""The sparse vector technique, three times right and with four published mistakes.

Data are the answers of queries, each of which moves by at most `sensitivity` between neighbours.
Every answer is compared with a threshold, both with noise; only "above" should cost privacy. The
numbers are those of Lyu, Su and Li (2017), "Understanding the sparse vector technique for
differential privacy": algorithms 1 to 6, and `NumericalSVT` is algorithm 7. One row per draw, one
column per query: 1 above, 0 below, -1 not answered any more.
"""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Counts, Floats, Labels
from dpaudit.zoo.frame import (
    TEN_ANSWERS,
    AtLeastOne,
    EpsilonMechanism,
    Positive,
    ZooMechanism,
    entry,
    pair_of,
    with_laplace,
)

__all__ = ["SVT1", "SVT2", "SVT3", "SVT4", "SVT5", "SVT6", "NumericalSVT"]

Codes = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class AllAnswered(EpsilonMechanism):
    """A threshold for the answers of queries, each of which moves by at most `sensitivity`."""

    threshold: float = 0.5
    _: KW_ONLY
    sensitivity: Positive = 1.0


@dataclass(frozen=True, slots=True)
class StopsAtCutoff(AllAnswered):
    """A threshold, and how many answers may lie above it before the mechanism stops."""

    cutoff: AtLeastOne = 1


@dataclass(frozen=True, slots=True)
class SVT1(StopsAtCutoff):
    """Algorithm 1, correct: noise on the threshold and on every query; stops after `cutoff` aboves.

    >>> SVT1(1.0)([-99.0, 99.0, -99.0], 1, np.random.default_rng(0)).tolist()
    [[0, 1, -1]]
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Codes:
        half = self.epsilon / 2
        bar = noisy_bar(self.threshold, self.sensitivity / half, size, rng)
        scale = 2 * self.cutoff * self.sensitivity / half
        return stopped(with_laplace(data, scale, size, rng) >= bar, self.cutoff)


@dataclass(frozen=True, slots=True)
class SVT2(StopsAtCutoff):
    """Algorithm 2 (Dwork and Roth 2014), correct: the threshold gets new noise after every above.

    New noise is paid for, so the noise on the threshold grows with the cutoff. The losses of the
    `cutoff` stretches add up to `epsilon`, and no less. With a cutoff of 1 it is `SVT1`.

    >>> SVT2(1.0)([-99.0, 99.0, 99.0, -99.0], 1, np.random.default_rng(0)).tolist()
    [[0, 1, 1, -1]]
    """

    cutoff: AtLeastOne = 2

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Codes:
        bar_scale = self.cutoff * self.sensitivity / (self.epsilon / 2)
        answers = with_laplace(data, 2 * bar_scale, size, rng)
        bar = noisy_bar(self.threshold, bar_scale, size, rng)
        above = np.empty(answers.shape, dtype=np.bool_)
        for query in range(answers.shape[1]):
            above[:, [query]] = passed = answers[:, [query]] >= bar
            bar = np.where(passed, noisy_bar(self.threshold, bar_scale, size, rng), bar)
        return stopped(above, self.cutoff)


@dataclass(frozen=True, slots=True)
class SVT3(StopsAtCutoff):
    """Algorithm 3 (Roth's 2011 lecture notes): releases the noisy answer that passed the test.

    That answer is at least the noisy threshold, so it bounds what should stay hidden. No epsilon
    holds for all lengths. Columns: the noisy answer above, -inf below, NaN not answered any more.

    >>> SVT3(1.0)([-99.0, 99.0, -99.0], 1, np.random.default_rng(0)).round(-2).tolist()
    [[-inf, 100.0, nan]]
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        half = self.epsilon / 2
        bar = noisy_bar(self.threshold, self.sensitivity / half, size, rng)
        answers = with_laplace(data, self.cutoff * self.sensitivity / half, size, rng)
        return answers_above(answers, stopped(answers >= bar, self.cutoff))


@dataclass(frozen=True, slots=True)
class SVT4(StopsAtCutoff):
    """Algorithm 4 (Lee and Clifton 2014): the noise on the queries forgets the cutoff.

    It is `(1 + 6 cutoff) / 4 * epsilon`-DP, and no better: 1.75 epsilon for a cutoff of 1.

    >>> SVT4(1.0)([-99.0, 99.0, -99.0], 1, np.random.default_rng(0)).tolist()
    [[0, 1, -1]]
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Codes:
        quarter = self.epsilon / 4
        bar = noisy_bar(self.threshold, self.sensitivity / quarter, size, rng)
        answers = with_laplace(data, self.sensitivity / (self.epsilon - quarter), size, rng)
        return stopped(answers >= bar, self.cutoff)


@dataclass(frozen=True, slots=True)
class SVT5(AllAnswered):
    """Algorithm 5 (Stoddard, Chen and Machanavajjhala 2014): no noise on the queries, no cutoff.

    All answers meet one noisy threshold, so an output keeps their order: some outputs can come
    from one side only, and no epsilon holds.

    >>> SVT5(1.0)([-99.0, 99.0, -99.0], 1, np.random.default_rng(0)).tolist()
    [[0, 1, 0]]
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Codes:
        bar = noisy_bar(self.threshold, self.sensitivity / (self.epsilon / 2), size, rng)
        return (np.asarray(data, dtype=np.float64) >= bar).astype(np.int8)


@dataclass(frozen=True, slots=True)
class SVT6(AllAnswered):
    """Algorithm 6 (Chen, Xiao, Zhang and Xu 2015): noise on the queries, but no cutoff.

    Every query costs privacy, so the loss grows with their number: no epsilon holds for all
    lengths.

    >>> SVT6(1.0)([-99.0, 99.0, -99.0], 1, np.random.default_rng(0)).tolist()
    [[0, 1, 0]]
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Codes:
        scale = self.sensitivity / (self.epsilon / 2)
        bar = noisy_bar(self.threshold, scale, size, rng)
        return (with_laplace(data, scale, size, rng) >= bar).astype(np.int8)


@dataclass(frozen=True, slots=True)
class NumericalSVT(ZooMechanism):
    """Algorithm 7, correct: an answer above is released, with noise of its own.

    The noise that passed the test is not released (`SVT3` does that). It is `epsilon`-DP, and no
    better: `epsilon = threshold_epsilon + query_epsilon + answer_epsilon`. Columns as of `SVT3`:
    the released answer above, -inf below, NaN not answered any more.

    >>> NumericalSVT()([-99.0, 99.0, -99.0], 1, np.random.default_rng(0)).round(-2).tolist()
    [[-inf, 100.0, nan]]
    """

    _: KW_ONLY
    threshold: float = 0.5
    cutoff: AtLeastOne = 1
    threshold_epsilon: Positive = 0.25
    query_epsilon: Positive = 0.25
    answer_epsilon: Positive = 0.5
    sensitivity: Positive = 1.0

    @property
    def epsilon(self) -> float:
        """What it costs in all."""
        return self.threshold_epsilon + self.query_epsilon + self.answer_epsilon

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        moved = self.cutoff * self.sensitivity
        bar = noisy_bar(self.threshold, self.sensitivity / self.threshold_epsilon, size, rng)
        above = with_laplace(data, 2 * moved / self.query_epsilon, size, rng) >= bar
        released = with_laplace(data, moved / self.answer_epsilon, size, rng)
        return answers_above(released, stopped(above, self.cutoff))


def noisy_bar(threshold: float, scale: float, size: int, rng: np.random.Generator) -> Floats:
    """Give one noisy threshold per draw, as a column."""
    return threshold + rng.laplace(scale=scale, size=(size, 1))


def stopped(above: Labels, cutoff: int) -> Codes:
    """Code the answers of every draw up to the cutoff-th above; -1 after it.

    >>> stopped(np.array([[False, True, False, True, True]]), 2).tolist()
    [[0, 1, 0, 1, -1]]
    """
    before: Counts = np.cumsum(above, axis=1) - above
    return np.where(before >= cutoff, -1, above).astype(np.int8)


def answers_above(answers: Floats, codes: Codes) -> Floats:
    """Give the answers that are above, -inf for those below and NaN for those not given.

    >>> answers_above(np.array([[2.0, 3.0, 4.0]]), np.array([[0, 1, -1]], np.int8)).tolist()
    [[-inf, 3.0, nan]]
    """
    return np.where(codes == 1, answers, np.where(codes == 0, -math.inf, math.nan))


_ANSWERS = pair_of([1] * 5 + [0] * 5, [0] * 5 + [1] * 5), TEN_ANSWERS
_STRETCHES = pair_of([1, 1, 1, 1, 0] * 2, [0, 0, 0, 0, 1] * 2), TEN_ANSWERS  # one for each above
_SVT = "Lyu, Su and Li 2017, Understanding the sparse vector technique, algorithm"

ENTRIES = (
    entry(SVT1, _ANSWERS, source=f"{_SVT} 1"),
    entry(SVT2, _STRETCHES, source=f"{_SVT} 2 (Dwork and Roth 2014)"),
    entry(
        SVT3,
        _ANSWERS,
        true_epsilon=math.inf,
        bug="It releases the very noisy answer that passed the test, "
        "which bounds the noisy threshold.",
        source=f"{_SVT} 3 (Roth 2011, lecture notes)",
    ),
    entry(
        SVT4,
        _ANSWERS,
        true_epsilon=1.75,
        bug="The noise on the queries leaves out the factor 2 and the cutoff.",
        source=f"{_SVT} 4 (Lee and Clifton 2014)",
    ),
    entry(
        SVT5,
        _ANSWERS,
        true_epsilon=math.inf,
        bug="Queries get no noise and all are answered: the order of the answers shows.",
        source=f"{_SVT} 5 (Stoddard, Chen and Machanavajjhala 2014)",
    ),
    entry(
        SVT6,
        _ANSWERS,
        true_epsilon=math.inf,
        bug="There is no cutoff: every answered query costs privacy.",
        source=f"{_SVT} 6 (Chen, Xiao, Zhang and Xu 2015)",
    ),
    entry(NumericalSVT, _ANSWERS, source=f"{_SVT} 7"),
)
