"""Report noisy max: which of the answers is the largest, two ways that are right and two that leak.

Data are the answers of queries, each of which moves by at most 1 between neighbours. Every answer
gets its own noise of scale `2/epsilon`; the place of the largest may be told, its value may not.
Dwork and Roth (2014), "The algorithmic foundations of differential privacy", section 3.3; the four
variants are algorithms 5 to 8 of Ding, Wang, Wang, Zhang and Kifer (2018), "Detecting violations of
differential privacy". DP-Auditorium calls it NoisyMax.

The place `i` comes with probability `E[prod_j F(Z + gap_j)]`, where `gap_j` is how far answer `i`
lies above answer `j`, `Z` is the noise and `F` its distribution function. Between neighbours each
gap moves by at most 2. The density of the noise is log-concave, so what this gains falls as any gap
grows: the worst pair has one answer as far below all others as the range allows.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats
from dpaudit.claims import PureDP
from dpaudit.neighbours import query_answers
from dpaudit.zoo.checks import require_positive
from dpaudit.zoo.entry import ZooEntry, pair_of


@dataclass(frozen=True, slots=True)
class NoisyMaxLaplace:
    """The place of the largest answer after Laplace noise, correct (algorithm 5).

    Of five answers, one that lies `g` scales of the noise below four equal ones comes out with
    probability `(49 e^-g - e^-4g) / 240`. From `g + epsilon` to `g` it gains
    `epsilon + log((49 - e^-3g) / (49 - e^-3(g + epsilon)))`: always less than `epsilon`, which is
    the supremum over answers of any size. With answers in [-1, 2] the largest `g` is `epsilon / 2`.

    >>> NoisyMaxLaplace(1.0)([0.0, 99.0, 0.0], 4, np.random.default_rng(0)).tolist()
    [1, 1, 1, 1]
    """

    epsilon: float = 1.0
    name: ClassVar[str] = "NoisyMaxLaplace"

    def __post_init__(self) -> None:
        require_positive(self.name, epsilon=self.epsilon)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        noisy = with_laplace(data, self.epsilon, size, rng)
        return np.asarray(np.argmax(noisy, axis=1), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class NoisyMaxExponential:
    """The place of the largest answer after exponential noise, correct (algorithm 6).

    Of `n` answers, one that lies `g >= 0` scales of the noise below the others, all equal, comes
    out with probability `e^-g / n`. Two answers' moves are `epsilon` scales: exactly `epsilon`-DP.
    It is permute-and-flip: Ding, Kifer, Steinke, Wang, Xiao and Zhang (2021), "The
    permute-and-flip mechanism is identical to report-noisy-max with exponential noise".

    >>> NoisyMaxExponential(1.0)([0.0, 99.0, 0.0], 4, np.random.default_rng(0)).tolist()
    [1, 1, 1, 1]
    """

    epsilon: float = 1.0
    name: ClassVar[str] = "NoisyMaxExponential"

    def __post_init__(self) -> None:
        require_positive(self.name, epsilon=self.epsilon)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        noisy = with_exponential(data, self.epsilon, size, rng)
        return np.asarray(np.argmax(noisy, axis=1), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class NoisyMaxValueLaplace:
    """The largest of the answers with Laplace noise, its value and not its place (algorithm 7).

    A low value says that all `n` noises were low. Each answer's move costs `epsilon / 2`, and they
    add up to `n * epsilon / 2`: reached wherever the value is below all answers of both sides.

    >>> NoisyMaxValueLaplace(1.0)([0.0, 900.0, 0.0], 2, np.random.default_rng(0)).round(-2).tolist()
    [900.0, 900.0]
    """

    epsilon: float = 1.0
    name: ClassVar[str] = "NoisyMaxValueLaplace"

    def __post_init__(self) -> None:
        require_positive(self.name, epsilon=self.epsilon)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        noisy = with_laplace(data, self.epsilon, size, rng)
        return np.asarray(np.max(noisy, axis=1))


@dataclass(frozen=True, slots=True)
class NoisyMaxValueExponential:
    """The largest of the answers with exponential noise, its value and not its place (algorithm 8).

    The noise is never negative, so no value lies below the largest answer: where that moves, some
    values can come from one side only, and no epsilon holds.

    >>> outputs = NoisyMaxValueExponential(1.0)([0.0, 9.0, 0.0], 50, np.random.default_rng(0))
    >>> bool(outputs.min() >= 9.0)
    True
    """

    epsilon: float = 1.0
    name: ClassVar[str] = "NoisyMaxValueExponential"

    def __post_init__(self) -> None:
        require_positive(self.name, epsilon=self.epsilon)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        noisy = with_exponential(data, self.epsilon, size, rng)
        return np.asarray(np.max(noisy, axis=1))


def with_laplace(data: Any, epsilon: float, size: int, rng: np.random.Generator) -> Floats:
    """Give every answer its own Laplace noise of scale `2/epsilon`, in every draw."""
    answers = np.asarray(data, dtype=np.float64)
    return answers + rng.laplace(scale=2 / epsilon, size=(size, len(answers)))


def with_exponential(data: Any, epsilon: float, size: int, rng: np.random.Generator) -> Floats:
    """Give every answer its own exponential noise of mean `2/epsilon`, in every draw."""
    answers = np.asarray(data, dtype=np.float64)
    return answers + rng.exponential(scale=2 / epsilon, size=(size, len(answers)))


_DING = "Ding, Wang, Wang, Zhang and Kifer 2018, Detecting violations, algorithm"
_FIVE_ANSWERS = partial(query_answers, 5)
_VALUE_PAIR = pair_of([1] * 5, [2] * 5)

ENTRIES = (
    ZooEntry(
        name="NoisyMaxLaplace",
        factory=NoisyMaxLaplace,
        claim=PureDP(1.0),
        keeps_claim=True,
        # Reached on the pair; answers in a wider range come nearer to 1, and never there.
        true_epsilon=1 + math.log((49 - math.exp(-1.5)) / (49 - math.exp(-4.5))),
        bug="",
        source=f"{_DING} 5 (Dwork and Roth 2014, section 3.3)",
        pair=pair_of([-1, 2, 2, 2, 2], [0, 1, 1, 1, 1]),
        neighbours=_FIVE_ANSWERS,
    ),
    ZooEntry(
        name="NoisyMaxExponential",
        factory=NoisyMaxExponential,
        claim=PureDP(1.0),
        keeps_claim=True,
        true_epsilon=1.0,
        bug="",
        source=f"{_DING} 6 (Dwork and Roth 2014, section 3.3)",
        pair=pair_of([1, 1, 1, 1, 1], [0, 2, 2, 2, 2]),
        neighbours=_FIVE_ANSWERS,
    ),
    ZooEntry(
        name="NoisyMaxValueLaplace",
        factory=NoisyMaxValueLaplace,
        claim=PureDP(1.0),
        keeps_claim=False,
        true_epsilon=2.5,
        bug="It releases the largest noisy answer itself: a low one tells of all five answers.",
        source=f"{_DING} 7",
        pair=_VALUE_PAIR,
        neighbours=_FIVE_ANSWERS,
    ),
    ZooEntry(
        name="NoisyMaxValueExponential",
        factory=NoisyMaxValueExponential,
        claim=PureDP(1.0),
        keeps_claim=False,
        true_epsilon=math.inf,
        bug="It releases the largest noisy answer itself, which never lies below the true one.",
        source=f"{_DING} 8",
        pair=_VALUE_PAIR,
        neighbours=_FIVE_ANSWERS,
    ),
)
