"""The sparse vector technique, three times right and with four published mistakes.

Data are the answers of queries, each of which moves by at most `sensitivity` between neighbours.
Every answer is compared with a threshold, both with noise; only "above" should cost privacy. The
numbers are those of Lyu, Su and Li (2017), "Understanding the sparse vector technique for
differential privacy": algorithms 1 to 6, and `NumericalSVT` is algorithm 7. One row per draw, one
column per query: 1 above, 0 below, -1 not answered any more.
"""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpaudit.claims import PureDP
from dpaudit.errors import InvalidMechanism
from dpaudit.zoo.checks import require_positive
from dpaudit.zoo.entry import TEN_ANSWERS, ZooEntry, pair_of

Codes = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class SVT1:
    """Algorithm 1, correct: noise on the threshold and on every query; stops after `cutoff` aboves.

    >>> SVT1(1.0)([-99.0, 99.0, -99.0], 1, np.random.default_rng(0)).tolist()
    [[0, 1, -1]]
    """

    epsilon: float = 1.0
    threshold: float = 0.5
    cutoff: int = 1
    _: KW_ONLY
    sensitivity: float = 1.0
    name: ClassVar[str] = "SVT1"

    def __post_init__(self) -> None:
        check(self.name, self.epsilon, self.sensitivity, self.cutoff)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Codes:
        threshold_epsilon = self.epsilon / 2
        query_epsilon = self.epsilon - threshold_epsilon
        bar = noisy_bar(self.threshold, self.sensitivity / threshold_epsilon, size, rng)
        scale = 2 * self.cutoff * self.sensitivity / query_epsilon
        return stopped(noisy_answers(data, scale, size, rng) >= bar, self.cutoff)


@dataclass(frozen=True, slots=True)
class SVT2:
    """Algorithm 2 (Dwork and Roth 2014), correct: the threshold gets new noise after every above.

    New noise is paid for, so the noise on the threshold grows with the cutoff. The losses of the
    `cutoff` stretches add up to `epsilon`, and no less. With a cutoff of 1 it is `SVT1`.

    >>> SVT2(1.0)([-99.0, 99.0, 99.0, -99.0], 1, np.random.default_rng(0)).tolist()
    [[0, 1, 1, -1]]
    """

    epsilon: float = 1.0
    threshold: float = 0.5
    cutoff: int = 2
    _: KW_ONLY
    sensitivity: float = 1.0
    name: ClassVar[str] = "SVT2"

    def __post_init__(self) -> None:
        check(self.name, self.epsilon, self.sensitivity, self.cutoff)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Codes:
        bar_scale = self.cutoff * self.sensitivity / (self.epsilon / 2)
        answers = noisy_answers(data, 2 * bar_scale, size, rng)
        bar = noisy_bar(self.threshold, bar_scale, size, rng)
        above = np.empty(answers.shape, dtype=np.bool_)
        for query in range(answers.shape[1]):
            above[:, [query]] = passed = answers[:, [query]] >= bar
            bar = np.where(passed, noisy_bar(self.threshold, bar_scale, size, rng), bar)
        return stopped(above, self.cutoff)


@dataclass(frozen=True, slots=True)
class SVT3:
    """Algorithm 3 (Roth's 2011 lecture notes): releases the noisy answer that passed the test.

    That answer is at least the noisy threshold, so it bounds what should stay hidden. No epsilon
    holds for all lengths. Columns: the noisy answer above, -inf below, NaN not answered any more.

    >>> SVT3(1.0)([-99.0, 99.0, -99.0], 1, np.random.default_rng(0)).round(-2).tolist()
    [[-inf, 100.0, nan]]
    """

    epsilon: float = 1.0
    threshold: float = 0.5
    cutoff: int = 1
    _: KW_ONLY
    sensitivity: float = 1.0
    name: ClassVar[str] = "SVT3"

    def __post_init__(self) -> None:
        check(self.name, self.epsilon, self.sensitivity, self.cutoff)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        threshold_epsilon = self.epsilon / 2
        query_epsilon = self.epsilon - threshold_epsilon
        bar = noisy_bar(self.threshold, self.sensitivity / threshold_epsilon, size, rng)
        scale = self.cutoff * self.sensitivity / query_epsilon
        answers = noisy_answers(data, scale, size, rng)
        return answers_above(answers, stopped(answers >= bar, self.cutoff))


@dataclass(frozen=True, slots=True)
class SVT4:
    """Algorithm 4 (Lee and Clifton 2014): the noise on the queries forgets the cutoff.

    It is `(1 + 6 cutoff) / 4 * epsilon`-DP, and no better: 1.75 epsilon for a cutoff of 1.

    >>> SVT4(1.0)([-99.0, 99.0, -99.0], 1, np.random.default_rng(0)).tolist()
    [[0, 1, -1]]
    """

    epsilon: float = 1.0
    threshold: float = 0.5
    cutoff: int = 1
    _: KW_ONLY
    sensitivity: float = 1.0
    name: ClassVar[str] = "SVT4"

    def __post_init__(self) -> None:
        check(self.name, self.epsilon, self.sensitivity, self.cutoff)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Codes:
        threshold_epsilon = self.epsilon / 4
        query_epsilon = self.epsilon - threshold_epsilon
        bar = noisy_bar(self.threshold, self.sensitivity / threshold_epsilon, size, rng)
        scale = self.sensitivity / query_epsilon
        return stopped(noisy_answers(data, scale, size, rng) >= bar, self.cutoff)


@dataclass(frozen=True, slots=True)
class SVT5:
    """Algorithm 5 (Stoddard, Chen and Machanavajjhala 2014): no noise on the queries, no cutoff.

    All answers meet one noisy threshold, so an output keeps their order: some outputs can come
    from one side only, and no epsilon holds.

    >>> SVT5(1.0)([-99.0, 99.0, -99.0], 1, np.random.default_rng(0)).tolist()
    [[0, 1, 0]]
    """

    epsilon: float = 1.0
    threshold: float = 0.5
    _: KW_ONLY
    sensitivity: float = 1.0
    name: ClassVar[str] = "SVT5"

    def __post_init__(self) -> None:
        check(self.name, self.epsilon, self.sensitivity)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Codes:
        bar = noisy_bar(self.threshold, self.sensitivity / (self.epsilon / 2), size, rng)
        return (np.asarray(data, dtype=np.float64) >= bar).astype(np.int8)


@dataclass(frozen=True, slots=True)
class SVT6:
    """Algorithm 6 (Chen, Xiao, Zhang and Xu 2015): noise on the queries, but no cutoff.

    Every query costs privacy, so the loss grows with their number: no epsilon holds for all
    lengths.

    >>> SVT6(1.0)([-99.0, 99.0, -99.0], 1, np.random.default_rng(0)).tolist()
    [[0, 1, 0]]
    """

    epsilon: float = 1.0
    threshold: float = 0.5
    _: KW_ONLY
    sensitivity: float = 1.0
    name: ClassVar[str] = "SVT6"

    def __post_init__(self) -> None:
        check(self.name, self.epsilon, self.sensitivity)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Codes:
        threshold_epsilon = self.epsilon / 2
        query_epsilon = self.epsilon - threshold_epsilon
        bar = noisy_bar(self.threshold, self.sensitivity / threshold_epsilon, size, rng)
        answers = noisy_answers(data, self.sensitivity / query_epsilon, size, rng)
        return (answers >= bar).astype(np.int8)


@dataclass(frozen=True, slots=True)
class NumericalSVT:
    """Algorithm 7, correct: an answer above is released, with noise of its own.

    The noise that passed the test is not released (`SVT3` does that). It is `epsilon`-DP, and no
    better: `epsilon = threshold_epsilon + query_epsilon + answer_epsilon`. Columns as of `SVT3`:
    the released answer above, -inf below, NaN not answered any more.

    >>> NumericalSVT()([-99.0, 99.0, -99.0], 1, np.random.default_rng(0)).round(-2).tolist()
    [[-inf, 100.0, nan]]
    """

    _: KW_ONLY
    threshold: float = 0.5
    cutoff: int = 1
    threshold_epsilon: float = 0.25
    query_epsilon: float = 0.25
    answer_epsilon: float = 0.5
    sensitivity: float = 1.0
    name: ClassVar[str] = "NumericalSVT"

    def __post_init__(self) -> None:
        require_positive(
            self.name,
            threshold_epsilon=self.threshold_epsilon,
            query_epsilon=self.query_epsilon,
            answer_epsilon=self.answer_epsilon,
        )
        check(self.name, self.epsilon, self.sensitivity, self.cutoff)

    @property
    def epsilon(self) -> float:
        """What it costs in all."""
        return self.threshold_epsilon + self.query_epsilon + self.answer_epsilon

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        moved = self.cutoff * self.sensitivity
        bar = noisy_bar(self.threshold, self.sensitivity / self.threshold_epsilon, size, rng)
        above = noisy_answers(data, 2 * moved / self.query_epsilon, size, rng) >= bar
        released = noisy_answers(data, moved / self.answer_epsilon, size, rng)
        return answers_above(released, stopped(above, self.cutoff))


def check(name: str, epsilon: float, sensitivity: float, cutoff: int = 1) -> None:
    """Refuse parameters with which no query could be answered."""
    require_positive(name, epsilon=epsilon, sensitivity=sensitivity)
    if cutoff < 1:
        raise InvalidMechanism(f"{name} needs a cutoff of at least 1, got {cutoff!r}.")


def noisy_bar(
    threshold: float, scale: float, size: int, rng: np.random.Generator
) -> npt.NDArray[np.float64]:
    """Give one noisy threshold per draw, as a column."""
    return threshold + rng.laplace(scale=scale, size=(size, 1))


def noisy_answers(
    data: Any, scale: float, size: int, rng: np.random.Generator
) -> npt.NDArray[np.float64]:
    """Give every answer its own noise, in every draw."""
    answers = np.asarray(data, dtype=np.float64)
    return answers + rng.laplace(scale=scale, size=(size, len(answers)))


def stopped(above: npt.NDArray[np.bool_], cutoff: int) -> Codes:
    """Code the answers of every draw up to the cutoff-th above; -1 after it.

    >>> stopped(np.array([[False, True, False, True, True]]), 2).tolist()
    [[0, 1, 0, 1, -1]]
    """
    before: npt.NDArray[np.int64] = np.cumsum(above, axis=1) - above
    return np.where(before >= cutoff, -1, above).astype(np.int8)


def answers_above(answers: npt.NDArray[np.float64], codes: Codes) -> npt.NDArray[np.float64]:
    """Give the answers that are above, -inf for those below and NaN for those not given.

    >>> answers_above(np.array([[2.0, 3.0, 4.0]]), np.array([[0, 1, -1]], np.int8)).tolist()
    [[-inf, 3.0, nan]]
    """
    return np.where(codes == 1, answers, np.where(codes == 0, -math.inf, math.nan))


_SVT = "Lyu, Su and Li 2017, Understanding the sparse vector technique, algorithm"
_ANSWERS_PAIR = pair_of([1] * 5 + [0] * 5, [0] * 5 + [1] * 5)

ENTRIES = (
    ZooEntry(
        name="SVT1",
        factory=SVT1,
        claim=PureDP(1.0),
        keeps_claim=True,
        true_epsilon=1.0,
        bug="",
        source=f"{_SVT} 1",
        pair=_ANSWERS_PAIR,
        neighbours=TEN_ANSWERS,
    ),
    ZooEntry(
        name="SVT2",
        factory=SVT2,
        claim=PureDP(1.0),
        keeps_claim=True,
        true_epsilon=1.0,
        bug="",
        source=f"{_SVT} 2 (Dwork and Roth 2014)",
        pair=pair_of([1, 1, 1, 1, 0] * 2, [0, 0, 0, 0, 1] * 2),  # one stretch for each above
        neighbours=TEN_ANSWERS,
    ),
    ZooEntry(
        name="SVT3",
        factory=SVT3,
        claim=PureDP(1.0),
        keeps_claim=False,
        true_epsilon=math.inf,
        bug="It releases the very noisy answer that passed the test, "
        "which bounds the noisy threshold.",
        source=f"{_SVT} 3 (Roth 2011, lecture notes)",
        pair=_ANSWERS_PAIR,
        neighbours=TEN_ANSWERS,
    ),
    ZooEntry(
        name="SVT4",
        factory=SVT4,
        claim=PureDP(1.0),
        keeps_claim=False,
        true_epsilon=1.75,
        bug="The noise on the queries leaves out the factor 2 and the cutoff.",
        source=f"{_SVT} 4 (Lee and Clifton 2014)",
        pair=_ANSWERS_PAIR,
        neighbours=TEN_ANSWERS,
    ),
    ZooEntry(
        name="SVT5",
        factory=SVT5,
        claim=PureDP(1.0),
        keeps_claim=False,
        true_epsilon=math.inf,
        bug="Queries get no noise and all are answered: the order of the answers shows.",
        source=f"{_SVT} 5 (Stoddard, Chen and Machanavajjhala 2014)",
        pair=_ANSWERS_PAIR,
        neighbours=TEN_ANSWERS,
    ),
    ZooEntry(
        name="SVT6",
        factory=SVT6,
        claim=PureDP(1.0),
        keeps_claim=False,
        true_epsilon=math.inf,
        bug="There is no cutoff: every answered query costs privacy.",
        source=f"{_SVT} 6 (Chen, Xiao, Zhang and Xu 2015)",
        pair=_ANSWERS_PAIR,
        neighbours=TEN_ANSWERS,
    ),
    ZooEntry(
        name="NumericalSVT",
        factory=NumericalSVT,
        claim=PureDP(1.0),
        keeps_claim=True,
        true_epsilon=1.0,
        bug="",
        source=f"{_SVT} 7",
        pair=_ANSWERS_PAIR,
        neighbours=TEN_ANSWERS,
    ),
)
